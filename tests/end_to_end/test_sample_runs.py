"""Every model of ours, and a real adapter of the host's, through the real command on the sample world."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
from beside_people import EXAMPLE
from host_run import HostRun, SampleWorld, run_host
from logged_runs import TASK
from sample_runs import at
from sklearn.metrics import cohen_kappa_score
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm

pytestmark = pytest.mark.host

BOTH = "causalvqa_paired,mvp_mini"
DEBUG = "causalvqa_debug_paired,mvp_mini"
SUBSETS = ("human_object_interactions", "robot_object_interactions", "intuitive_physics", "temporal_reasoning")


@pytest.fixture(scope="module")
def random_run(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    out = tmp_path_factory.mktemp("random")
    return run_host("--model", "random_answer", "--tasks", BOTH, home=sample_world.home, out=out)


def all_scores(run: HostRun) -> dict[str, dict[str, Any]]:
    return {task: run.scores(task) for task in run.results()["results"]}


def submissions(run: HostRun) -> dict[str, bytes]:
    """The files for leaderboards by their names without the model's."""
    return {
        path.name.partition(".")[0]: path.read_bytes()
        for path in run.out.rglob("*.jsonl")
        if "_samples_" not in path.name
    }


def test_two_ranks_score_as_one(random_run: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    """Started as users start ranks."""
    two = run_host(
        "--model", "random_answer", "--tasks", BOTH, home=sample_world.home, out=tmp_path, ranks=2, warm=False
    )
    assert all_scores(two) == all_scores(random_run)
    assert submissions(two) == submissions(random_run)
    assert len(submissions(two)) == 6


def test_withheld_answers_give_predictions_and_no_accuracy(random_run: HostRun) -> None:
    scores = random_run.scores("causalvqa_paired")
    accuracies = {name: value for name, value in scores.items() if "accuracy" in name}
    assert len(accuracies) == 2 + 2 * 9 + 1 + 2
    assert scores["pairs_scored"] == 0
    assert set(accuracies.values()) == {None}
    assert (scores["unparsed_rate"], scores["unscored_rate"]) == (0, 100)
    rows = random_run.submission("submissions/causalvqa_test.jsonl")
    assert len(rows) == scores["submission_rows"]
    assert all(list(row) == ["data_name", "task", "row_id", "model_answer"] for row in rows)
    # Strata as the official task files name them.
    assert {row["task"] for row in rows} == {
        f"{kind}_{difficulty}"
        for kind in ("Anticipation", "Counterfactual", "Descriptive", "Hypothetical", "Planning")
        for difficulty in ("easy", "med", "hard")
    }
    assert {row["model_answer"] for row in rows} <= set("ABCDE")


def test_the_table_that_the_host_prints_shows_our_scores(random_run: HostRun) -> None:
    printed = random_run.output.replace(" ", "")
    for name in (
        "pair_accuracy",
        "single_accuracy",
        "unparsed_rate",
        "unscored_rate",
        "submission_rows",
        "sample_data",
    ):
        assert f"|{name}|" in printed
    assert (
        "|pair_accuracy_official" not in printed and random_run.score("mvp_mini", "pair_accuracy_official") is not None
    )


def test_mvp_group_is_the_unweighted_mean_of_its_four_parts(random_run: HostRun) -> None:
    for metric in ("pair_accuracy", "single_accuracy", "pair_accuracy_official", "single_accuracy_official"):
        parts = [random_run.score(f"mvp_mini_{subset}", metric) for subset in SUBSETS]
        assert random_run.score("mvp_mini", metric) == pytest.approx(sum(parts) / 4)


def test_mvp_submission_files_are_the_official_ones(random_run: HostRun) -> None:
    joint = []
    for subset in SUBSETS:
        rows = random_run.submission(f"submissions/mvp_mini_{subset}_valid.jsonl")
        samples = {sample["record"]["item_id"]: sample for sample in random_run.samples(f"mvp_mini_{subset}")}
        assert {row["row_id"] for row in rows} == set(samples)
        for row in rows:
            assert (row["data_name"], row["task"]) == ("mvp_mini", subset)
            letter = samples[row["row_id"]]["record"]["answered"]
            assert f"({letter}) {row['model_answer']}" in samples[row["row_id"]]["input"]
        joint += rows
    assert random_run.submission("mvp_mini_submission.jsonl") == joint


@pytest.fixture(scope="module")
def constant_run(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    """A run whose output folder has a file where the folder `submissions` should be."""
    out = tmp_path_factory.mktemp("constant")
    (out / "submissions").write_text("a file", encoding="utf-8")
    return run_host("--model", "constant_answer", "--tasks", DEBUG, home=sample_world.home, out=out, ranks=2)


def test_the_run_is_set_beside_people(constant_run: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    """The people of the worked example answer the sample's first questions; right where they are right there."""
    with (EXAMPLE / "items.csv").open(encoding="utf-8") as file:
        keys = {(row["item"], row["version"]): row["answer"] for row in csv.DictReader(file)}
    with (EXAMPLE / "responses.csv").open(encoding="utf-8") as file:
        said = [
            (row["annotator"], row["choice"] == keys[row["item"], row["version"]], row) for row in csv.DictReader(file)
        ]
    records = [sample["record"] for sample in constant_run.samples_in_order(TASK)]
    ours = dict(zip(keys, records, strict=False))
    lines = ["item,version,annotator,choice"]
    people: dict[str, list[bool]] = {}
    for annotator, right, row in said:
        record = ours[row["item"], row["version"]]
        choice = record["expected"] if right else "ABCDE".replace(record["expected"], "")[0]
        lines.append(f"{record['group_id']},{record['fields']['version']},{annotator},{choice}")
        people.setdefault(record["item_id"], []).append(right)
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    arguments = ["humans", str(tmp_path / "people.csv"), "--items", "causalvqa:debug", "--run", str(constant_run.out)]
    with at(sample_world.home):
        result = CliRunner().invoke(app, [*arguments, "--task", TASK])
    assert result.exit_code == 0, result.output
    compared = [
        (record["outcome"] == "correct", right) for record in ours.values() for right in people[record["item_id"]]
    ]
    kappa = cohen_kappa_score(*zip(*compared, strict=True))
    rows = [" ".join(line.split()) for line in result.output.splitlines()]
    assert f"{TASK}: 12 items in 6 groups, 3 people each" in rows
    (row,) = (row for row in rows if row.startswith("run 1, people 12 "))
    assert f" {kappa:.2f} [" in row
    assert f"run 1, left out, no person answered: {len(records) - 12} " in result.output


def test_a_constant_answer_scores_its_known_chance(constant_run: HostRun) -> None:
    assert constant_run.score("mvp_mini", "pair_accuracy") == 0
    assert constant_run.score("mvp_mini", "single_accuracy") == 50
    samples = constant_run.samples("causalvqa_debug_paired")
    share = 100 * sum(sample["target"] == "A" for sample in samples) / len(samples)
    assert constant_run.score("causalvqa_debug_paired", "single_accuracy") == pytest.approx(share)


def test_a_submission_that_cannot_be_written_loses_nothing_else(constant_run: HostRun) -> None:
    assert f"{constant_run.out}/submissions/causalvqa_debug.constant_answer.jsonl was not written (FileExistsError" in (
        constant_run.output
    )
    assert constant_run.score("causalvqa_debug_paired", "submission_rows") is None
    assert {sample["record"]["answered"] for sample in constant_run.samples("causalvqa_debug_paired")} == {"A"}
    # MVP's whole submission lies beside that folder, and is written once its four parts are there.
    assert len(constant_run.submission("mvp_mini_submission.jsonl")) == 2 * sum(
        constant_run.score(f"mvp_mini_{subset}", "pairs_scored") for subset in SUBSETS
    )


def test_the_solver_is_right_everywhere(sample_world: SampleWorld, tmp_path: Path) -> None:
    """On two ranks; tests/end_to_end/test_views.py has it right on one."""
    run = run_host(
        "--model", "sample_solver", "--tasks", f"causalvqa_debug_paired,{BOTH}",
        home=sample_world.home, out=tmp_path, ranks=2,
    )  # fmt: skip
    for task in ("causalvqa_debug_paired", "mvp_mini"):
        assert run.score(task, "pair_accuracy") == run.score(task, "single_accuracy") == 100, task
    with (sample_world.folder / "causalvqa" / "test_truth.csv").open(newline="", encoding="utf-8") as file:
        truth = {row["qid"]: (row["correct1"], row["correct2"]) for row in csv.DictReader(file)}
    rows = run.submission("submissions/causalvqa_test.jsonl")
    assert len(rows) == 2 * len(truth)
    for row in rows:
        qid, _, version = row["row_id"].rpartition("_")
        assert "ABCDE".index(row["model_answer"]) + 1 == int(truth[qid][int(version)])


def test_a_replayed_run_scores_as_it_did(random_run: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    replayed = run_host(
        "--model", "replay", "--model_args", f"predictions={random_run.out}", "--tasks", BOTH,
        home=sample_world.home, out=tmp_path, ranks=2,
    )  # fmt: skip
    assert all_scores(replayed) == all_scores(random_run)
    assert submissions(replayed) == submissions(random_run)


def test_one_subtask_leaves_an_earlier_runs_joint_file_alone(sample_world: SampleWorld, tmp_path: Path) -> None:
    joint = tmp_path / "mvp_mini_submission.jsonl"
    joint.write_text("of an earlier run\n")
    task = "mvp_mini_temporal_reasoning"
    run = run_host("--model", "constant_answer", "--tasks", task, home=sample_world.home, out=tmp_path)
    assert run.score(task, "single_accuracy") == 50
    assert joint.read_text() == "of an earlier run\n"


def test_a_pair_cut_by_limit_is_not_a_pair(sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host(
        "--model", "sample_solver", "--tasks", "causalvqa_debug_paired,mvp_mini", "--limit", "3",
        home=sample_world.home, out=tmp_path,
    )  # fmt: skip
    assert run.score("causalvqa_debug_paired", "pair_accuracy") == 100
    assert run.score("causalvqa_debug_paired", "pairs_scored") == 1
    assert run.score("causalvqa_debug_paired", "submission_rows") == 3
    assert not (tmp_path / "mvp_mini_submission.jsonl").exists()
    assert "it is incomplete and a leaderboard should refuse it" in run.output


def test_repeats_do_not_change_the_scores(random_run: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host(
        "--model", "random_answer", "--tasks", "causalvqa_paired", "--repeats", "2",
        home=sample_world.home, out=tmp_path,
    )  # fmt: skip
    assert run.scores("causalvqa_paired") == random_run.scores("causalvqa_paired")


def test_a_real_adapter_decodes_prompts_generates_and_is_scored(sample_world: SampleWorld, tmp_path: Path) -> None:
    model = write_tiny_vlm(tmp_path / "tiny")
    arguments = "device_map=cpu,attn_implementation=eager,max_num_frames=4,min_pixels=3136,max_pixels=25088"
    run = run_host(
        "--model", "qwen2_5_vl", "--model_args", f"pretrained={model},{arguments}", "--device", "cpu",
        "--gen_kwargs", "max_new_tokens=8", "--tasks", DEBUG, "--limit", "8",
        home=sample_world.home, out=tmp_path / "out",
    )  # fmt: skip
    for task in ("causalvqa_debug_paired", "mvp_mini"):
        score = run.score(task, "single_accuracy")
        assert math.isfinite(score) and 0 <= score <= 100
    # A fresh model writes byte salad: what it said is logged and read, not made up.
    for sample in run.samples("causalvqa_debug_paired"):
        assert isinstance(sample["filtered_resps"], str)
        assert "(E) " in sample["input"]
