"""CaST-Bench through the real command: the official evaluator's numbers, and what goes wrong told whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from cast_bench import answer_with_truth, row, write_release
from host_run import HostRun, run_host
from oracles import oracle_path, read_oracle

import lmms_eval_tasks
from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host

ORACLE = oracle_path("cast_bench")
EXPECTED = read_oracle("cast_bench", "expected.json")
QUESTIONS = [json.loads(line) for line in (ORACLE / "castbench_hf.jsonl").read_text("utf-8").splitlines()]
TEMPLATE = Path(lmms_eval_tasks.__file__).parent / "cast_bench" / "_evidence_template_yaml"
METRICS = "submissions/cast_bench_metrics.json"
DEFAULTS = {"eps_overlap": 2, "tau_t": 0.5, "tau_st": 0.1, "use_coverage_aware_score": False, "bbox_format": "xyxy_px"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public questions, prepared without a clip."""
    home = tmp_path_factory.mktemp("cast") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        prepare(str(ORACLE / "castbench_hf.jsonl"))
    return home


def replay(predictions: Path, home: Path, out: Path, *more: str, task: str = "cast_bench", **options: Any) -> HostRun:
    arguments = ["--model", "replay", "--model_args", f"predictions={predictions}", "--tasks", task, *more]
    return run_host(*arguments, home=home, out=out, **options)


def expected(model: str, **changes: Any) -> dict[str, Any]:
    settings = {**DEFAULTS, **changes}
    (run,) = [run for run in EXPECTED["runs"] if run["model"] == model and settings.items() <= run["settings"].items()]
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
    names = {
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
    scores = run.scores(task)
    assert {name: scores[name] for name in names} == pytest.approx(
        {name: 100 * overall[key] for name, key in names.items()}, abs=1e-7
    )
    groundings = [record.fields["grounding"] for record in read_run(run.out).records[task]]
    totals = {
        "tp": sum(len(grounding["pairs"]) for grounding in groundings),
        "fp": sum(grounding["false_positives"] for grounding in groundings),
        "fn": sum(grounding["missed"] for grounding in groundings),
    }
    assert totals == official.get("totals", totals)


@pytest.fixture(scope="module")
def sonnet(home: Path, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return replay(ORACLE / "sonnet-4.6_predictions.jsonl", home, tmp_path_factory.mktemp("sonnet"))


def test_public_predictions_score_as_the_official_evaluator_says(sonnet: HostRun) -> None:
    check_official(sonnet, expected("sonnet-4.6"))
    scores = sonnet.scores("cast_bench")
    assert (scores["unparsed_rate"], scores["unscored_rate"], scores["grounding_unscored_rate"]) == (0, 0, 0)
    assert scores["submission_rows"] == 80
    assert "do not look it" not in sonnet.output


def test_two_ranks_score_as_the_official_evaluator_says(home: Path, tmp_path: Path) -> None:
    two = replay(ORACLE / "qwen3vl-8b_predictions.jsonl", home, tmp_path, ranks=2)
    check_official(two, expected("qwen3vl-8b"))
    assert [row["prompt"] for row in two.submission("submissions/cast_bench_predictions.jsonl")] == [
        sample["input"] for sample in sorted(two.samples("cast_bench"), key=lambda sample: sample["doc_id"])
    ]


def test_what_a_run_submits_is_read_again(sonnet: HostRun, home: Path, tmp_path: Path) -> None:
    rows = sonnet.submission("submissions/cast_bench_predictions.jsonl")
    assert [list(row) for row in rows] == [["prompt", "predict"]] * 80
    assert all(row["question"] in line["prompt"] for row, line in zip(QUESTIONS, rows, strict=True))
    again = replay(
        sonnet.submission_file("submissions/cast_bench_predictions.jsonl"), home, tmp_path,
        env={"LMMS_EVAL_TASKS_BOXES": "yxyx_px"},
    )  # fmt: skip
    check_official(again, expected("sonnet-4.6", bbox_format="yxyx_px"))
    assert "CaST-Bench's boxes were read as yxyx_px, and do not look it" in again.output
    assert "LMMS_EVAL_TASKS_BOXES=xyxy_px" in again.output


@pytest.mark.parametrize(
    ("kwargs", "changes"),
    [
        ({"eps_overlap": 1, "tau_st": 0.3}, {"eps_overlap": 1, "tau_st": 0.3}),
        (
            {"coverage_aware": True, "boxes": "yxyx_px"},
            {"use_coverage_aware_score": True, "bbox_format": "yxyx_px"},
        ),
    ],
)
def test_settings_come_from_the_task(
    kwargs: dict[str, Any], changes: dict[str, Any], home: Path, tmp_path: Path
) -> None:
    pointer = tmp_path / "tasks" / "test.json"
    pointer.parent.mkdir()
    pointer.write_text('{"benchmark": "cast_bench", "split": "test"}')
    task = {
        "include": str(TEMPLATE),
        "task": "cast_bench_mine",
        "dataset_kwargs": {"data_files": {"test": str(pointer)}},
        "test_split": "test",
        "lmms_eval_specific_kwargs": {"default": {"tau_st": 0.9}, "replay": kwargs},
    }
    (pointer.parent / "mine.yaml").write_text(yaml.safe_dump(task))
    run = replay(
        ORACLE / "qwen3vl-8b_predictions.jsonl", home, tmp_path / "out", "--include_path", str(pointer.parent),
        task="cast_bench_mine",
    )  # fmt: skip
    check_official(run, expected("qwen3vl-8b", **changes), "cast_bench_mine")


def test_the_truth_fed_back(home: Path, tmp_path: Path) -> None:
    lines = [
        {
            "prompt": f"Question: {row['question']}\nOptions:\n"
            + "\n".join(f"{letter}: {text}" for letter, text in row["options"].items()),
            "predict": answer_with_truth(row),
        }
        for row in reversed(QUESTIONS)
    ]
    path = tmp_path / "truth.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = replay(path, home, tmp_path / "out")
    scores = run.scores("cast_bench")
    assert round(scores["im_tiou"], 3) == 98.542
    assert round(scores["im_viou"], 3) == 96.376
    assert scores["accuracy"] == scores["json_valid_rate"] == 100
    assert scores["spurious"] == 0
    written = json.loads(run.submission_file(METRICS).read_text("utf-8"))["overall_per_qa"]
    assert written == pytest.approx(EXPECTED["gt_as_prediction_ceiling"]["eps2"], abs=1e-9)


def test_lines_that_match_no_question_and_questions_without_a_line(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    stranger = {"prompt": "Question: Who is it?\n\nOptions:\nA: me\nB: you", "predict": '{"answer_choice": "B"}'}
    known = (ORACLE / "sonnet-4.6_predictions.jsonl").read_text("utf-8").splitlines()
    path.write_text("\n".join([known[0], json.dumps(stranger), *known[2:]]) + "\n")
    run = replay(path, home, tmp_path / "out", ranks=2)
    assert run.status != 0
    assert (
        f"{path} cannot be replayed: 1 problem, no line is joined by its position.\n"
        "  p.jsonl, line 2: Expected the prompt to ask a question of this run's tasks, but got 'Who is it?'.\n"
    ) in run.output
    path.write_text("\n".join(known[1:]) + "\n")
    run = replay(path, home, tmp_path / "lost")
    assert run.status != 0
    assert f"{path} cannot be replayed: 1 item has no saved response (of cast_bench)." in run.output
    lenient = run_host(
        "--model", "replay", "--model_args", f"predictions={path},missing=unparsed", "--tasks", "cast_bench",
        home=home, out=tmp_path / "lenient",
    )  # fmt: skip
    assert lenient.score("cast_bench", "unparsed_rate") == 100 / 80


def test_items_that_ask_the_same_are_answered_by_their_lines_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins = [row(), row(video="sav_000002.mp4", answer="C"), row(question="What then?")]
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    prepare(str(write_release(tmp_path / "release", twins)))
    options = "\n".join(f"{letter}: {text}" for letter, text in twins[0]["options"].items())
    lines = [
        {"prompt": f"Question: {twin['question']}\nOptions: {options}", "predict": answer_with_truth(twin)}
        for twin in twins
    ]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert replay(path, tmp_path / "home", tmp_path / "out").score("cast_bench", "accuracy") == 100
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines[1:]), encoding="utf-8")
    run = replay(path, tmp_path / "home", tmp_path / "lost")
    told = "line 1: Expected 2 lines for the 2 items that ask 'Why does the ball roll?', but got 1."
    assert run.status != 0 and told in run.output
