"""Every benchmark through the real command on the sample: solved, guessed and answered with a constant, on one rank and
on two, and asked of a real adapter of lmms-eval's."""

from __future__ import annotations

import csv
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import printed, refusal
from hook_runs import FILES
from host_run import GUESSED, SCRIPTS, HostRun, SampleWorld, environment, qwen_arguments, run_host
from logged_runs import TASK

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
    rows, scores = solved.submission("submissions/causalvqa_test.jsonl"), solved.scores("causalvqa_paired")
    assert len(rows) == 2 * len(keys) == scores["submission_rows"]
    assert {value for name, value in scores.items() if "accuracy" in name} == {None}
    assert (scores["pairs_scored"], scores["unscored_rate"]) == (0, 100)
    # Strata as the official task files name them.
    kinds = ("Anticipation", "Counterfactual", "Descriptive", "Hypothetical", "Planning")
    assert {row["task"] for row in rows} == {f"{kind}_{hard}" for kind in kinds for hard in ("easy", "med", "hard")}
    for row in rows:
        qid, _, version = row["row_id"].rpartition("_")
        assert "ABCDE".index(row["model_answer"]) + 1 == int(keys[qid][int(version)])
    with (sample_world.folder / "intphys2" / "heldout_truth.csv").open(newline="", encoding="utf-8") as file:
        truth = {row["filename"]: int(row["type"].endswith("_Possible")) for row in csv.DictReader(file)}
    heldout = solved.submission("submissions/intphys2_heldout.jsonl")
    assert {row["row_id"]: row["model_answer"] for row in heldout} == truth


def test_two_ranks_score_log_and_submit_as_one(solved: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    solve = ("--model", "sample_solver", "--tasks", TASKS)
    two = run_host(*solve, home=sample_world.home, out=tmp_path, ranks=2, env=NO_JUDGE)
    assert all_scores(two) == all_scores(solved)
    assert submissions(two) == submissions(solved)
    for task in read_run(solved.out).records:
        assert two.samples_in_order(task) == solved.samples(task)


@pytest.mark.nightly
def test_ranks_that_torchrun_starts_score_as_the_forks_of_these_tests(
    guessed: HostRun, sample_world: SampleWorld, tmp_path: Path
) -> None:
    start = (SCRIPTS / "torchrun", "--standalone", "--local_addr=127.0.0.1", "--nproc_per_node=2", "-m", "lmms_eval")
    done = subprocess.run(
        [*start, "--model", "random_answer", "--tasks", TASK, "--output_path", tmp_path, "--log_samples"],
        cwd=tmp_path, env=environment(sample_world.home), capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    run = HostRun(done.returncode, done.stdout + done.stderr, tmp_path)
    assert run.scores(TASK) == guessed.scores(TASK)
    assert run.samples_in_order(TASK) == guessed.samples_in_order(TASK)


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
    solved: HostRun, guessed: HostRun, sample_world: SampleWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(sample_world.home))
    page = tmp_path / "page.html"
    report = printed("report", solved.out, guessed.out, "--html", page)
    assert all(text in report for text in ("countervqa_annotated", "always yes", "scene accuracy"))
    assert "Floors of a constant answer" in page.read_text(encoding="utf-8")
    for task, accuracy in (("countervqa", "verdict accuracy"), ("intphys2_main", "scene accuracy")):
        assert accuracy in printed("compare", solved.out, guessed.out, "--task", task)
    # The files that a run wrote are those that are made of it later; sample data is refused unless it is allowed.
    for (benchmark, part), file in FILES.items():
        if benchmark != "yocausal":
            chosen = [*(["--part", part] if part else []), *(["--split", "mini"] if benchmark == "mvp" else [])]
            submit = ("submit", benchmark, guessed.out, "--out", tmp_path / "file", *chosen)
            assert "Expected the official release, but got sample data." in refusal(*submit)
            printed(*submit, "--allow-unofficial")
            assert (tmp_path / "file").read_bytes() == guessed.submission_file(file).read_bytes()
            (tmp_path / "file").unlink()


def test_the_table_that_the_host_prints_shows_our_scores(guessed: HostRun) -> None:
    table = guessed.output.replace(" ", "")
    for name in ("pair_accuracy", "single_accuracy", "unparsed_rate", "unscored_rate", "submission_rows"):
        assert f"|{name}|" in table
    assert "|pair_accuracy_official" not in table and guessed.score("mvp_mini", "pair_accuracy_official") is not None


def test_mvps_group_is_the_mean_of_its_four_parts_and_its_file_has_their_files(guessed: HostRun) -> None:
    for metric in ("pair_accuracy", "single_accuracy", "pair_accuracy_official", "single_accuracy_official"):
        parts = [guessed.score(f"mvp_mini_{subset}", metric) for subset in SUBSETS]
        assert guessed.score("mvp_mini", metric) == pytest.approx(sum(parts) / 4)
    files = [guessed.submission(f"submissions/mvp_mini_{subset}_valid.jsonl") for subset in SUBSETS]
    assert guessed.submission("mvp_mini_submission.jsonl") == [row for rows in files for row in rows]


def test_a_constant_answer_scores_its_known_chance(sample_world: SampleWorld, tmp_path: Path) -> None:
    """In a folder in which the file for a leaderboard cannot be written, which loses nothing else."""
    out = tmp_path / "constant"
    out.mkdir()
    (out / "submissions").write_text("a file", encoding="utf-8")
    asked = f"{TASK},mvp_mini,yocausal_vlm,intphys2_surprise"
    constant = run_host("--model", "constant_answer", "--tasks", asked, home=sample_world.home, out=out, ranks=2)
    assert f"{out}/submissions/causalvqa_debug.constant_answer.jsonl was not written (FileExists" in constant.output
    assert constant.score(TASK, "submission_rows") is None
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
        home=sample_world.home, out=tmp_path / "yes", env=NO_JUDGE,
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
