"""Every benchmark through the real command on the sample: solved, guessed and answered with a constant, on one rank and
on two, and asked of a real adapter of lmms-eval's."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
from beside_people import EXAMPLE
from host_run import GUESSED, HostRun, SampleWorld, own_command, qwen_arguments, run_host
from logged_runs import TASK
from sample_runs import at
from sklearn.metrics import cohen_kappa_score
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host

SUBSETS = ("human_object_interactions", "robot_object_interactions", "intuitive_physics", "temporal_reasoning")
RIGHT: dict[str, dict[str, float | None]] = {
    "causalvqa_debug_paired": {"pair_accuracy": 100, "single_accuracy": 100, "pairs_scored": 20},
    "causalvqa_paired": {"pair_accuracy": None, "pairs_scored": 0},
    "mvp_mini": {"pair_accuracy": 100, "single_accuracy": 100},
    **{
        task: {**dict.fromkeys(("single_accuracy", "pair_accuracy", "scene_accuracy", "single_accuracy_official"), 100),
               "says_possible": 50}
        for task in ("intphys2_main", "intphys2_debug")
    },
    "intphys2_heldout": {"single_accuracy": None},
    "intphys2_surprise": {"plausibility_preference": 100},
    "intphys2_debug_surprise": {"plausibility_preference": 100},
    "cast_bench": {
        **dict.fromkeys(("accuracy", "faithful", "faithful_strict", "im_tiou", "schema_valid_rate"), 100),
        **{"submission_rows": 12, "false_positives": 0, "unscored_rate": 0},
    },
    **{
        task: {"verdict_accuracy": 100, "pair_accuracy": 100, "balanced_accuracy": 100, "pairs_scored": 12}
        for task in ("countervqa", "countervqa_annotated")
    },
    "countervqa_probe": {"verdict_accuracy": 100, "detection_accuracy": 100},
    "yocausal_vlm": {"unparsed_rate": 0},
}  # fmt: skip
"""What the solver scores in each task."""
TASKS = ",".join(RIGHT)
NO_JUDGE = {"LMMS_EVAL_TASKS_JUDGE": "none"}


@pytest.fixture(scope="module")
def solved(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("solved")
    return run_host("--model", "sample_solver", "--tasks", TASKS, home=sample_world.home, out=out, env=NO_JUDGE)


def all_scores(run: HostRun) -> dict[str, dict[str, Any]]:
    return {task: run.scores(task) for task in run.results()["results"]}


def submissions(run: HostRun) -> dict[str, bytes]:
    """The files for leaderboards by their names without the model's."""
    files = [*run.out.glob("submissions/*"), *run.out.glob("*_submission.*")]
    return {path.name.partition(".")[0]: path.read_bytes() for path in files}


@pytest.mark.parametrize("task", RIGHT)
def test_the_solver_is_right_everywhere(task: str, solved: HostRun) -> None:
    scores = solved.scores(task)
    assert {name: scores[name] for name in RIGHT[task]} == RIGHT[task]
    assert scores["sample_data"] == 100 and scores["unparsed_rate"] == 0
    # Of no part of a benchmark is it lower.
    leading = ("pair_accuracy", "scene_accuracy", "verdict_accuracy", "detection", "accuracy_")
    parts = {value for name, value in scores.items() if name.startswith(leading) and value is not None}
    assert task in ("causalvqa_paired", "intphys2_heldout", "yocausal_vlm") or parts <= {100}
    if task == "cast_bench":
        assert scores["im_viou"] > 80 and "do not look it" not in solved.output


def test_what_is_withheld_is_predicted_rightly(solved: HostRun, sample_world: SampleWorld) -> None:
    with (sample_world.folder / "causalvqa" / "test_truth.csv").open(newline="", encoding="utf-8") as file:
        keys = {row["qid"]: (row["correct1"], row["correct2"]) for row in csv.DictReader(file)}
    rows = solved.submission("submissions/causalvqa_test.jsonl")
    assert len(rows) == 2 * len(keys)
    for row in rows:
        qid, _, version = row["row_id"].rpartition("_")
        assert "ABCDE".index(row["model_answer"]) + 1 == int(keys[qid][int(version)])
    with (sample_world.folder / "intphys2" / "heldout_truth.csv").open(newline="", encoding="utf-8") as file:
        truth = {row["filename"]: int(row["type"].endswith("_Possible")) for row in csv.DictReader(file)}
    heldout = solved.submission("submissions/intphys2_heldout.jsonl")
    assert {row["row_id"]: row["model_answer"] for row in heldout} == truth


def test_two_ranks_score_log_and_submit_as_one(solved: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    """Started as users start ranks."""
    two = run_host(
        "--model", "sample_solver", "--tasks", TASKS, home=sample_world.home, out=tmp_path, ranks=2, env=NO_JUDGE,
        warm=False,
    )  # fmt: skip
    assert all_scores(two) == all_scores(solved)
    assert submissions(two) == submissions(solved)
    for task in read_run(solved.out).records:
        assert two.samples_in_order(task) == solved.samples(task)


def test_a_run_is_replayed_from_its_log(guessed: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    again = run_host(
        "--model", "replay", "--model_args", f"predictions={guessed.out}", "--tasks", GUESSED,
        home=sample_world.home, out=tmp_path, env=NO_JUDGE,
    )  # fmt: skip
    assert all_scores(again) == all_scores(guessed)
    assert submissions(again) == submissions(guessed) and len(submissions(again)) == 15
    for task in ("causalvqa_debug_paired", "mvp_mini", "intphys2_main", "cast_bench", "countervqa"):
        scores = guessed.scores(task)
        leading = registry().find_members(task)[0].benchmark.card.main_metric
        assert 0 <= scores[leading] < 100 and scores["unparsed_rate"] == 0


def test_the_commands_that_read_runs(
    solved: HostRun, guessed: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    def command(*words: str | Path) -> str:
        done = own_command(sample_world.home, *words, env={"COLUMNS": "200"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    page = tmp_path / "page.html"
    report = command("report", solved.out, guessed.out, "--html", page)
    assert all(text in report for text in ("countervqa_annotated", "always yes", "scene accuracy"))
    assert "Floors of a constant answer" in page.read_text(encoding="utf-8")
    for task, accuracy in (("countervqa", "verdict accuracy"), ("intphys2_main", "scene accuracy")):
        assert accuracy in command("compare", solved.out, guessed.out, "--task", task)
    assert "scores equal" in command("rescore", solved.out)
    nothing = own_command(sample_world.home, "submit", "countervqa", solved.out, "--out", tmp_path / "answers.jsonl")
    assert nothing.returncode == 1 and "has no leaderboard" in nothing.stderr
    assert not (tmp_path / "answers.jsonl").exists()


def test_withheld_answers_give_predictions_and_no_accuracy(guessed: HostRun) -> None:
    scores = guessed.scores("causalvqa_paired")
    accuracies = {name: value for name, value in scores.items() if "accuracy" in name}
    assert len(accuracies) == 2 + 2 * 9 + 1 + 2 and set(accuracies.values()) == {None}
    assert (scores["pairs_scored"], scores["unparsed_rate"], scores["unscored_rate"]) == (0, 0, 100)
    rows = guessed.submission("submissions/causalvqa_test.jsonl")
    assert len(rows) == scores["submission_rows"]
    assert all(list(row) == ["data_name", "task", "row_id", "model_answer"] for row in rows)
    # Strata as the official task files name them.
    assert {row["task"] for row in rows} == {
        f"{kind}_{difficulty}"
        for kind in ("Anticipation", "Counterfactual", "Descriptive", "Hypothetical", "Planning")
        for difficulty in ("easy", "med", "hard")
    }
    assert {row["model_answer"] for row in rows} <= set("ABCDE")


def test_the_table_that_the_host_prints_shows_our_scores(guessed: HostRun) -> None:
    printed = guessed.output.replace(" ", "")
    for name in ("pair_accuracy", "single_accuracy", "unparsed_rate", "unscored_rate", "submission_rows"):
        assert f"|{name}|" in printed
    assert "|pair_accuracy_official" not in printed and guessed.score("mvp_mini", "pair_accuracy_official") is not None


def test_mvps_group_is_the_mean_of_its_four_parts_and_its_files_are_the_official_ones(guessed: HostRun) -> None:
    for metric in ("pair_accuracy", "single_accuracy", "pair_accuracy_official", "single_accuracy_official"):
        parts = [guessed.score(f"mvp_mini_{subset}", metric) for subset in SUBSETS]
        assert guessed.score("mvp_mini", metric) == pytest.approx(sum(parts) / 4)
    joint = []
    for subset in SUBSETS:
        rows = guessed.submission(f"submissions/mvp_mini_{subset}_valid.jsonl")
        samples = {sample["record"]["item_id"]: sample for sample in guessed.samples(f"mvp_mini_{subset}")}
        assert {row["row_id"] for row in rows} == set(samples)
        for row in rows:
            assert (row["data_name"], row["task"]) == ("mvp_mini", subset)
            letter = samples[row["row_id"]]["record"]["answered"]
            assert f"({letter}) {row['model_answer']}" in samples[row["row_id"]]["input"]
        joint += rows
    assert guessed.submission("mvp_mini_submission.jsonl") == joint


@pytest.fixture(scope="module")
def constant(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    """A run whose output folder has a file where the folder `submissions` should be."""
    out = tmp_path_factory.mktemp("constant")
    (out / "submissions").write_text("a file", encoding="utf-8")
    tasks = f"{TASK},mvp_mini,yocausal_vlm,intphys2_surprise"
    return run_host("--model", "constant_answer", "--tasks", tasks, home=sample_world.home, out=out, ranks=2)


def test_a_constant_answer_scores_its_known_chance(
    constant: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    assert (constant.score("mvp_mini", "pair_accuracy"), constant.score("mvp_mini", "single_accuracy")) == (0, 50)
    samples = constant.samples(TASK)
    share = 100 * sum(sample["target"] == "A" for sample in samples) / len(samples)
    assert constant.score(TASK, "single_accuracy") == pytest.approx(share)
    pairs = constant.scores("yocausal_vlm")
    assert (pairs["pair_accuracy"], pairs["single_accuracy"], pairs["rsi_human_protocol"]) == (0, 50, 50)
    assert 0 < constant.score("intphys2_surprise", "plausibility_preference") < 100
    tasks = ("countervqa", "countervqa_annotated")
    says_yes = run_host(
        "--model", "constant_answer", "--model_args", "response=Yes.", "--tasks", ",".join(tasks),
        home=sample_world.home, out=tmp_path, env=NO_JUDGE,
    )  # fmt: skip
    for task in tasks:
        scores = says_yes.scores(task)
        assert scores["verdict_accuracy"] == scores["always_yes"] == 60
        for cell in ("l1", "l2", "l3", "h2h", "h2o", "h2h_l1", "h2o_l3"):
            assert scores[f"verdict_accuracy_{cell}"] == scores[f"always_yes_{cell}"]
            assert scores[f"always_yes_{cell}"] + scores[f"always_no_{cell}"] == 100
        assert (scores["balanced_accuracy"], scores["pair_accuracy"], scores["yes_rate"]) == (50, 0, 100)
        assert scores["judged_accuracy"] is None
    plain, annotated = (says_yes.samples(task)[0]["input"] for task in tasks)
    assert " hits the " not in plain.partition("Question:")[0] and "00:0" in annotated


def test_a_submission_that_cannot_be_written_loses_nothing_else(constant: HostRun) -> None:
    file = f"{constant.out}/submissions/causalvqa_debug.constant_answer.jsonl"
    assert f"{file} was not written (FileExistsError" in constant.output
    assert constant.score(TASK, "submission_rows") is None
    assert {sample["record"]["answered"] for sample in constant.samples(TASK)} == {"A"}
    # MVP's whole submission lies beside that folder, and is written once its four parts are there.
    pairs = sum(constant.score(f"mvp_mini_{subset}", "pairs_scored") for subset in SUBSETS)
    assert len(constant.submission("mvp_mini_submission.jsonl")) == 2 * pairs


def test_a_run_is_set_beside_people(constant: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    """The people of the worked example answer the sample's first questions; right where they are right there."""
    with (EXAMPLE / "items.csv").open(encoding="utf-8") as file:
        keys = {(row["item"], row["version"]): row["answer"] for row in csv.DictReader(file)}
    records = [sample["record"] for sample in constant.samples_in_order(TASK)]
    ours = dict(zip(keys, records, strict=False))
    lines = ["item,version,annotator,choice"]
    compared = []
    with (EXAMPLE / "responses.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            record, right = ours[row["item"], row["version"]], row["choice"] == keys[row["item"], row["version"]]
            choice = record["expected"] if right else "ABCDE".replace(record["expected"], "")[0]
            lines.append(f"{record['group_id']},{record['fields']['version']},{row['annotator']},{choice}")
            compared.append((record["outcome"] == "correct", right))
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    words = ["humans", str(tmp_path / "people.csv"), "--items", "causalvqa:debug", "--run", str(constant.out)]
    with at(sample_world.home):
        result = CliRunner().invoke(app, [*words, "--task", TASK])
    assert result.exit_code == 0, result.output
    rows = [" ".join(line.split()) for line in result.output.splitlines()]
    assert f"{TASK}: 12 items in 6 groups, 3 people each" in rows
    (row,) = (row for row in rows if row.startswith("run 1, people 12 "))
    assert f" {cohen_kappa_score(*zip(*compared, strict=True)):.2f} [" in row
    assert f"run 1, left out, no person answered: {len(records) - 12} " in result.output


def test_a_pair_cut_by_limit_is_not_a_pair(sample_world: SampleWorld, tmp_path: Path) -> None:
    """And the file of a whole group is not written, whatever an earlier run left there."""
    joint = tmp_path / "mvp_mini_submission.jsonl"
    joint.write_text("of an earlier run\n")
    run = run_host(
        "--model", "sample_solver", "--tasks", f"{TASK},mvp_mini_temporal_reasoning", "--limit", "3",
        home=sample_world.home, out=tmp_path,
    )  # fmt: skip
    scores = run.scores(TASK)
    assert (scores["pair_accuracy"], scores["pairs_scored"], scores["submission_rows"]) == (100, 1, 3)
    assert joint.read_text() == "of an earlier run\n" and [*tmp_path.glob("*_submission*")] == [joint]
    assert "it is incomplete and a leaderboard should refuse it" in run.output


def test_a_real_adapter_decodes_prompts_generates_and_is_scored(
    tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    tasks = (TASK, "mvp_mini", "intphys2_main", "cast_bench", "countervqa", "yocausal_vlm")
    run = run_host(
        *qwen_arguments(tiny_qwen), "--tasks", ",".join(tasks), "--limit", "4", home=sample_world.home,
        out=tmp_path, env=NO_JUDGE,
    )  # fmt: skip
    asked = read_run(run.out).records
    assert len(asked) == 5 + 4
    for task in asked:
        known = registry().find_task(task)
        assert known is not None
        score = run.score(task, known.metrics[0])
        assert score is None or (math.isfinite(score) and 0 <= score <= 100)
        samples = run.samples(task)
        assert 0 < len(samples) <= 4 and run.score(task, "unscored_rate") == 0
        # A fresh model writes byte salad: what it said is logged and read, not made up.
        assert all(isinstance(sample["filtered_resps"], str) and sample["input"] for sample in samples)
    for sample in run.samples("cast_bench"):
        boxes = sample["record"]["fields"]["boxes"]
        # Clips of 192 by 144 pixels fit the limits; sides are made multiples of 28.
        assert boxes["convention"] == "xyxy_resized" and all(side % 28 == 0 for side in boxes["seen"])
    assert [sample["target"] for sample in run.samples("yocausal_vlm")] == ["A", "B", "A", "B"]
    assert all("(C) It cannot be told." in sample["input"] for sample in run.samples("yocausal_vlm"))
    assert read_run(run.out).card["frames"]["frames"] == 4
