"""CaST-Bench through the real command: the official evaluator's numbers, with settings of a run and of a task."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from cast_bench import answer_with_truth
from host_run import HostRun, SampleWorld, own_command, run_host
from oracles import oracle_path, read_oracle

import lmms_eval_tasks
from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.finished.rescore import rescore
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.data.prepare import Preparation

pytestmark = pytest.mark.host

TEMPLATE = Path(lmms_eval_tasks.__file__).parent / "cast_bench" / "_evidence_template_yaml"
METRICS = "submissions/cast_bench_metrics.json"
DEFAULTS = {"eps_overlap": 2, "tau_t": 0.5, "tau_st": 0.1, "use_coverage_aware_score": False, "bbox_format": "xyxy_px"}
NAMES = {
    "accuracy": "qa_accuracy",
    "faithful": "qa_faithful_answer_accuracy",
    "spurious": "qa_spurious_answer_rate",
    "temporal_recall": "qa_temporal_r1_tau",
    "tiou_tp_only": "qa_temporal_m_tiou_tponly",
    "im_tiou": "qa_temporal_m_tiou_pergt",
    "st_recall": "qa_st_r1_tau_st",
    "viou_tp_only": "qa_st_m_viou_tponly",
    "im_viou": "qa_st_m_viou_pergt",
}
"""Our scores, and the official evaluator's."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public questions, prepared without a clip."""
    home = tmp_path_factory.mktemp("cast") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        prepare(Preparation(), str(oracle_path("cast_bench", "castbench_hf.jsonl")))
    return home


def replay(predictions: Path, home: Path, out: Path, *more: str, task: str = "cast_bench", **options: Any) -> HostRun:
    arguments = ["--model", "replay", "--model_args", f"predictions={predictions}", "--tasks", task, *more]
    return run_host(*arguments, home=home, out=out, **options)


def expected(model: str, **changes: Any) -> dict[str, Any]:
    settings, runs = {**DEFAULTS, **changes}, read_oracle("cast_bench", "expected.json")["runs"]
    found: list[dict[str, Any]] = [
        run for run in runs if run["model"] == model and settings.items() <= run["settings"].items()
    ]
    (run,) = found
    return run


def check_official(run: HostRun, official: dict[str, Any], task: str = "cast_bench") -> None:
    """The metrics file is the official evaluator's, and so are the scores that lmms-eval prints."""
    assert run.status == 0, run.output
    written = json.loads(run.submission_file(METRICS).read_text("utf-8"))
    overall = official["overall_per_qa"]
    assert written["overall_per_qa"] == pytest.approx(overall, abs=1e-9)
    used = official["settings"]
    assert written["config"] == {
        **{name: used[name] for name in ("eps_overlap", "tau_t", "tau_st", "use_coverage_aware_score")},
        "pred_path": "cast_bench_predictions.jsonl",
    }
    assert written["missing_pred_files"] == official["missing_pred_files"]
    scores = run.scores(task)
    assert {name: scores[name] for name in NAMES} == pytest.approx(
        {name: 100 * overall[key] for name, key in NAMES.items()}, abs=1e-7
    )
    groundings = [record.fields["grounding"] for record in read_run(run.out).records[task]]
    totals = {
        "tp": sum(len(grounding["pairs"]) for grounding in groundings),
        "fp": sum(grounding["false_positives"] for grounding in groundings),
        "fn": sum(grounding["missed"] for grounding in groundings),
    }
    assert totals == official.get("totals", totals)


def test_public_predictions_score_as_the_official_evaluator_says(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = replay(oracle_path("cast_bench", "sonnet-4.6_predictions.jsonl"), home, tmp_path / "run")
    check_official(run, expected("sonnet-4.6"))
    scores = run.scores("cast_bench")
    assert (scores["unparsed_rate"], scores["unscored_rate"], scores["grounding_unscored_rate"]) == (0, 0, 0)
    assert scores["submission_rows"] == 80
    assert "do not look it" not in run.output
    # What it submits is read again, here with boxes in another order.
    rows = run.submission("submissions/cast_bench_predictions.jsonl")
    assert [list(row) for row in rows] == [["prompt", "predict"]] * 80
    questions = oracle_path("cast_bench", "castbench_hf.jsonl").read_text("utf-8").splitlines()
    for row, line in zip(map(json.loads, questions), rows, strict=True):
        assert row["question"] in line["prompt"]
    submitted = run.submission_file("submissions/cast_bench_predictions.jsonl")
    other = replay(submitted, home, tmp_path / "other", env={"LMMS_EVAL_TASKS_BOXES": "yxyx_px"})
    check_official(other, expected("sonnet-4.6", bbox_format="yxyx_px"))
    assert "CaST-Bench's boxes were read as yxyx_px, and do not look it" in other.output
    assert "LMMS_EVAL_TASKS_BOXES=xyxy_px" in other.output
    # Scored again, boxes are read as they were unless the variable says otherwise.
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
    assert not rescore(other.out, tmp_path / "again").changes
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "xyxy_px")
    new = {change.score: change.new for change in rescore(other.out, tmp_path / "third").changes}
    assert new["im_viou"] == pytest.approx(scores["im_viou"])


def one_of_ones_own(tmp_path: Path) -> Path:
    """The folder of a YAML of one's own with our template, with other thresholds for `replay`."""
    pointer = tmp_path / "tasks" / "test.json"
    pointer.parent.mkdir()
    pointer.write_text('{"benchmark": "cast_bench", "split": "test"}')
    task = {
        "include": str(TEMPLATE),
        "task": "cast_bench_mine",
        "dataset_kwargs": {"data_files": {"test": str(pointer)}},
        "test_split": "test",
        "lmms_eval_specific_kwargs": {"default": {"tau_st": 0.9}, "replay": {"eps_overlap": 1, "tau_st": 0.3}},
    }
    (pointer.parent / "mine.yaml").write_text(yaml.safe_dump(task))
    return pointer.parent


@pytest.mark.nightly
def test_settings_come_from_the_task_on_two_ranks(sample_world: SampleWorld, tmp_path: Path) -> None:
    """The truth given back as an answer is right at any threshold; the run can be scored again once its files are
    gone."""
    released = (sample_world.folder / "cast_bench" / "castbench_hf.jsonl").read_text("utf-8").splitlines()
    rows = list(map(json.loads, released))
    home = sample_world.home
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        ids = load_table("cast_bench", "test", require_clips=False)["item_id"]
    said = [{"id": name, "response": answer_with_truth(row)} for name, row in zip(ids, rows, strict=True)]
    # One answer is wrong, and one names no evidence.
    said[0]["response"] = said[0]["response"].replace(f'"answer_choice": "{rows[0]["answer"]}"', '"answer_choice": "Z"')
    said[1]["response"] = json.dumps({"instances": [], "answer_choice": rows[1]["answer"]})
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))
    folder = one_of_ones_own(tmp_path)
    run = replay(
        tmp_path / "said.jsonl", home, tmp_path / "out", "--include_path", str(folder), task="cast_bench_mine", ranks=2
    )
    assert run.status == 0, run.output
    scores, share = run.scores("cast_bench_mine"), 100 / len(rows)
    assert scores["accuracy"] == pytest.approx(100 - share) and scores["spurious"] == pytest.approx(share)
    config = json.loads(run.submission_file(METRICS).read_text("utf-8"))["config"]
    assert (config["eps_overlap"], config["tau_st"]) == (1, 0.3)
    prompts = [row["prompt"] for row in run.submission("submissions/cast_bench_predictions.jsonl")]
    assert prompts == [sample["input"] for sample in run.samples_in_order("cast_bench_mine")]
    (path,) = run.out.glob("*_scores.json")
    (part,) = json.loads(path.read_text(encoding="utf-8"))["parts"]
    assert (part["name"], part["benchmark"]) == ("cast_bench_mine", "cast_bench")
    shutil.rmtree(folder)
    assert "scores equal" in own_command(home, "rescore", run.out).stdout
    assert "cast_bench_mine" in own_command(home, "report", run.out).stdout


def test_settings_of_a_task_give_the_official_numbers_on_two_ranks(home: Path, tmp_path: Path) -> None:
    run = replay(
        oracle_path("cast_bench", "qwen3vl-8b_predictions.jsonl"), home, tmp_path / "out",
        "--include_path", str(one_of_ones_own(tmp_path)), task="cast_bench_mine", ranks=2,
    )  # fmt: skip
    check_official(run, expected("qwen3vl-8b", eps_overlap=1, tau_st=0.3), "cast_bench_mine")
