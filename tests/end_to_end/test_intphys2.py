"""IntPhys 2 on the sample, through the real command: scores, views, the held-out file, and what reads a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from host_run import HostRun, SampleWorld, own_command, run_host
from intphys2_checkout import TEXTS, write_checkout

from lmms_eval_tasks.construct.annotate.answer_files import plan_digest
from lmms_eval_tasks.construct.annotate.plan import read_plan
from lmms_eval_tasks.utils.scoring.record import Record

pytestmark = pytest.mark.host

TASKS = "intphys2_main,intphys2_debug,intphys2_heldout"
FILE = "submissions/intphys2_heldout.jsonl"


@pytest.fixture(scope="module")
def solved(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("solved")
    return run_host("--model", "sample_solver", "--tasks", TASKS, home=sample_world.home, out=out)


@pytest.fixture(scope="module")
def guessed(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("guessed")
    return run_host("--model", "random_answer", "--tasks", TASKS, home=sample_world.home, out=out)


def metadata(sample_world: SampleWorld, split: str) -> dict[str, dict[str, str]]:
    """Clip to its row; of the held-out clips too, whose truth no command reads."""
    folder = sample_world.folder / "intphys2"
    path = folder / ("heldout_truth.csv" if split == "HeldOut" else f"IntPhys2/{split}/metadata.csv")
    with path.open(newline="", encoding="utf-8") as file:
        return {row["filename"]: row for row in csv.DictReader(file)}


def test_the_solver_is_right_everywhere(solved: HostRun, sample_world: SampleWorld) -> None:
    for task in ("intphys2_main", "intphys2_debug"):
        for score in ("single_accuracy", "pair_accuracy", "scene_accuracy", "single_accuracy_official"):
            assert solved.score(task, score) == 100, (task, score)
        assert solved.score(task, "says_possible") == 50
    assert solved.score("intphys2_heldout", "single_accuracy") is None
    truth = {name: int(row["type"].endswith("_Possible")) for name, row in metadata(sample_world, "HeldOut").items()}
    assert {row["row_id"]: row["model_answer"] for row in solved.submission(FILE)} == truth


def test_every_part_of_the_benchmark_is_there(solved: HostRun) -> None:
    parts = [
        *("permanence", "immutability", "continuity", "solidity"), *("fixed", "moving"), *("easy", "medium", "hard")
    ]  # fmt: skip
    for score in ("single_accuracy", "pair_accuracy", "single_accuracy_official"):
        assert [solved.score("intphys2_main", f"{score}_{part}") for part in parts] == [100] * len(parts)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_runs_responses_are_replayed(guessed: HostRun, sample_world: SampleWorld, tmp_path: Path, ranks: int) -> None:
    again = run_host(
        "--model", "replay", "--model_args", f"predictions={guessed.out}", "--tasks", TASKS,
        home=sample_world.home, out=tmp_path, ranks=ranks,
    )  # fmt: skip
    for task in TASKS.split(","):
        assert again.scores(task) == guessed.scores(task)
    assert again.submission(FILE) == guessed.submission(FILE)
    assert 0 < guessed.score("intphys2_main", "single_accuracy") < 100


def test_two_ranks_score_as_one(solved: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    two = run_host("--model", "sample_solver", "--tasks", TASKS, home=sample_world.home, out=tmp_path, ranks=2)
    for task in TASKS.split(","):
        assert two.scores(task) == solved.scores(task)
    assert two.submission(FILE) == solved.submission(FILE)


def test_a_still_frame_is_not_enough(sample_world: SampleWorld, tmp_path: Path) -> None:
    """Nor are words, nor the clip with its frames in another order: every answer is then that it cannot be."""
    home, captions = sample_world.home, tmp_path / "captions"
    run_host(
        "--model", "constant_answer", "--model_args", "response=A ball rolls behind a board.",
        "--tasks", "intphys2_main_captions", home=home, out=captions,
    )  # fmt: skip
    views = {view: f"intphys2_main_{view}" for view in ("blind", "single_frame", "shuffled", "socratic")}
    run = run_host(
        "--model", "sample_solver", "--tasks", ",".join(views.values()), home=home, out=tmp_path / "views",
        env={"LMMS_EVAL_TASKS_CAPTIONS": str(captions)},
    )  # fmt: skip
    for view, task in views.items():
        assert run.score(task, "pair_accuracy") == 0, view
        assert run.score(task, "unscored_rate") == 0, view
        assert run.score(task, "unparsed_rate") == (0 if view == "shuffled" else 100), view


def test_the_commands_that_read_a_run(
    solved: HostRun, guessed: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    rewritten, page = tmp_path / "again.jsonl", tmp_path / "page.html"
    report = ran(sample_world, "report", solved.out, guessed.out, "--html", page)
    assert "scene accuracy" in report and page.stat().st_size > 0
    compared = ran(sample_world, "compare", guessed.out, solved.out)
    assert "runs 1 and 2 share 24 items in 6 groups" in compared
    assert "scores equal" in ran(sample_world, "rescore", guessed.out)
    ran(sample_world, "submit", "intphys2", guessed.out, "--out", rewritten, "--allow-unofficial")
    assert rewritten.read_bytes() == guessed.submission_file(FILE).read_bytes()


def test_the_words_give_nothing_away(sample_world: SampleWorld) -> None:
    printed = ran(sample_world, "bias", "intphys2")
    assert "scene accuracy" in printed and "pair accuracy" not in printed
    table = printed.partition("Percent of items")[0]
    # Seven rules for each of the two splits whose keys are known, and none for the one whose are withheld.
    assert table.count(" 50.0 [") == 14 and " above" not in table and " below" not in table


def test_people_are_asked_and_scored(sample_world: SampleWorld, tmp_path: Path) -> None:
    plan, answers, people = tmp_path / "plan.csv", tmp_path / "answers", tmp_path / "people.csv"
    ran(sample_world, "annotate", "plan", "intphys2", "--split", "main", "--responses", "2", "--out", plan)
    ran(sample_world, "annotate", "page", plan, "--out", tmp_path / "pages")
    rows, planned = metadata(sample_world, "Main"), read_plan(plan)
    credit: dict[str, list[bool]] = {}
    answers.mkdir()
    for annotator, asked in planned.by_annotator.items():
        assert (tmp_path / "pages" / f"{annotator}.html").is_file()
        items = [row for row in asked if not row.attention]
        # Nobody sees two clips of a scene.
        assert len({rows[row.item_id]["SceneIndex"] for row in items}) == len(items)
        given: list[dict[str, Any]] = []
        for row in asked:
            key = "A" if rows[row.item_id]["type"].endswith("_Possible") else "B"
            # Of moving cameras everybody is right; of the others everybody says "possible".
            choice = row.attention or (key if rows[row.item_id]["Camera"] == "Moving" else "A")
            given.append({"place": row.place, "seconds": 1.0, "choice": choice})
            if not row.attention:
                credit.setdefault(row.item_id, []).append(choice == key)
        file = {"plan": plan_digest(planned), "annotator": annotator, "mode": planned.mode, "answers": given}
        (answers / f"{annotator}.json").write_text(json.dumps(file), encoding="utf-8")
    assert {len(said) for said in credit.values()} == {2} and credit.keys() == rows.keys()
    ran(sample_world, "annotate", "collect", plan, answers, "--out", people)
    printed = ran(sample_world, "humans", people, "--items", "intphys2:main", "--by", "condition,camera")
    scores = {line.split()[0]: line.split()[1:3] for line in printed.splitlines() if line.strip().endswith("]")}
    assert scores["moving"] == ["3", "100.00"] and scores["fixed"] == ["3", "50.00"] and scores["all"] == ["6", "75.00"]


def ran(sample_world: SampleWorld, *arguments: str | Path) -> str:
    """What one of our commands prints, which ends well."""
    done = own_command(sample_world.home, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_three_official_prompts(sample_world: SampleWorld, tmp_path: Path) -> None:
    """Without them a run ends before the model is loaded; with them three tasks run, and a report names the best."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "intphys2").symlink_to(sample_world.home / "intphys2")
    tasks = [f"intphys2_main_official_{number}" for number in range(3)]
    absent = run_host(
        "--model", "a-model-that-is-not-there", "--tasks", "intphys2_main_official",
        home=home, out=tmp_path / "absent",
    )  # fmt: skip
    assert absent.status != 0 and "Traceback" not in absent.output, absent.output
    assert absent.output.count("prompts import intphys2 --from CHECKOUT --accept-other") == 1, absent.output
    imported = own_command(home, "prompts", "import", "intphys2", "--from", write_checkout(tmp_path), "--accept-other")
    assert imported.returncode == 0, imported.stderr
    runs = [
        run_host(
            "--model", "random_answer", "--model_args", f"seed={seed}", "--tasks", "intphys2_main_official",
            home=home, out=tmp_path / f"seed{seed}", ranks=ranks,
        )
        for seed, ranks in ((0, 1), (1, 2))
    ]  # fmt: skip
    replayed = run_host(
        "--model", "replay", "--model_args", f"predictions={runs[1].out}", "--tasks", "intphys2_main_official",
        home=home, out=tmp_path / "replayed",
    )  # fmt: skip
    for task in tasks:
        assert replayed.scores(task) == runs[1].scores(task)
    for task, text in zip(tasks, TEXTS, strict=True):
        samples = runs[0].samples(task)
        assert {sample["input"] for sample in samples} == {text}
        said = {"1", "0"} if "1 or 0" in text else {"Yes", "No"}
        assert {sample["filtered_resps"] for sample in samples} == said
        assert runs[0].score(task, "unparsed_rate") == 0
        records = [Record.from_json(sample["record"]) for sample in samples]
        assert {(one.answered, one.fields["official_answered"]) for one in records} == {("A", "A"), ("B", "B")}
    page = tmp_path / "page.html"
    told = own_command(home, "report", *(run.out for run in runs), "--html", page)
    assert told.returncode == 0, told.stdout + told.stderr
    best = max(run.score(task, "single_accuracy_official") for run in runs for task in tasks)
    assert f"random_answer 6 {best:.1f} [" in " ".join(told.stdout.split())
    for text in (" ".join(told.stdout.split()), page.read_text(encoding="utf-8")):
        assert "6 runs at chance would show" in text and "That is an optimistic choice" in text
    again = own_command(home, "rescore", runs[0].out)
    assert again.returncode == 0, again.stdout + again.stderr
