"""IntPhys 2 on the sample, through the real command: its people and its three official prompts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from host_run import SampleWorld, own_command, run_host
from intphys2_checkout import TEXTS, write_checkout

from lmms_eval_tasks.construct.annotate.answer_files import plan_digest
from lmms_eval_tasks.construct.annotate.plan import read_plan
from lmms_eval_tasks.utils.scoring.record import Record

pytestmark = pytest.mark.host


def test_people_are_asked_and_scored(sample_world: SampleWorld, tmp_path: Path) -> None:
    plan, answers, people = tmp_path / "plan.csv", tmp_path / "answers", tmp_path / "people.csv"
    ran(sample_world, "annotate", "plan", "intphys2", "--split", "main", "--responses", "2", "--out", plan)
    ran(sample_world, "annotate", "page", plan, "--out", tmp_path / "pages")
    with (sample_world.folder / "intphys2/IntPhys2/Main/metadata.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["filename"]: row for row in csv.DictReader(file)}
    planned = read_plan(plan)
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
