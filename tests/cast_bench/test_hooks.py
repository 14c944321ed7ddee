"""The hooks that lmms-eval calls for CaST-Bench."""

from __future__ import annotations

import json
from pathlib import Path
from string import ascii_uppercase
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from cast_bench import ROW, answer_with_truth, row, write_release
from loguru import logger
from task_states import aggregations, docs_of, new_state, task_state

from lmms_eval_tasks.cast_bench import hooks
from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.card import CATEGORIES, METRICS
from lmms_eval_tasks.cast_bench.submission import FILES, read_asked
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.scoring.record import QuestionText

TEMPLATE = Path(hooks.__file__).parent / "_evidence_template_yaml"

pytestmark = pytest.mark.usefixtures("home")


def docs(tmp_path: Path, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    prepare(str(write_release(tmp_path / "release", rows)))
    return docs_of(task_state("cast_bench"))


def process(doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
    """Return the contribution of a document's results to every score in the default configuration."""
    state = task_state("cast_bench")
    state.metrics = METRICS
    return state.process_results(doc, results)


def template() -> dict[str, Any]:
    text = TEMPLATE.read_text(encoding="utf-8").replace("!function ", "")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def answer(letter: str, box: list[int] | None = None) -> str:
    said = json.loads(answer_with_truth(ROW))
    if box:
        for evidence in said["instances"][0]["evidences"]:
            evidence["bboxes_in_time_range"] = {f"00:0{second}": box for second in range(3)}
    return json.dumps({**said, "answer_choice": letter})


def test_every_score_of_a_question_is_one_of_the_task_and_the_other_way_round(tmp_path: Path) -> None:
    kinds = {"A": "text-based", "C": "near-miss", "D": "video-based"}
    types = ("Why (Causal Reasons)", "Social Counterfactual", "Goal/Intent", "Behavioral Prediction")
    tiny = {"bboxes_in_range": {"0": [0, 0, 20, 20]}}
    large = {"bboxes_in_range": {"0": [0, 0, 200, 200]}}
    rows = [row(size, question_type=kind, distractor_types=kinds) for kind in types for size in (tiny, large)]
    handed: set[str] = set()
    for doc in docs(tmp_path, *rows):
        handed |= set(process(doc, [answer("A")]))
    declared = {metric["metric"] for metric in template()["metric_list"]}
    assert handed - {"record"} == {metric.name for metric in METRICS} - {"sample_data"} | {"submission_rows"}
    assert {"accuracy", "faithful", "spurious", "im_tiou", "im_viou"} < declared <= handed | {"sample_data"}
    assert {f"im_viou_{category}" for category in CATEGORIES} <= handed


def test_the_kind_of_a_wrong_answer(tmp_path: Path) -> None:
    kinds = {"A": "text-based", "C": "near-miss", "D": "near-miss of the video-based distractor"}
    (doc,) = docs(tmp_path, row(distractor_types=kinds))
    for letter, chosen in (
        ("A", {"text_based"}),
        ("C", {"near_miss"}),
        ("D", {"near_miss", "near_miss_of_video_based"}),
    ):
        wrong = process(doc, [answer(letter)])
        errors = {name: value for name, value in wrong.items() if name.startswith("errors_")}
        assert len(errors) == 6
        assert {name for name, value in errors.items() if value == 100} == {f"errors_{kind}" for kind in chosen}
        assert set(errors.values()) == {0, 100}
    for right in (answer("B"), "no idea"):
        assert not [name for name in process(doc, [right]) if name.startswith("errors_")]


def test_kinds_that_are_not_released_are_not_made_up(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, ROW)
    assert not [name for name in process(doc, [answer("A")]) if name.startswith("errors_")]


def test_a_type_of_no_category_counts_overall_only(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, row(question_type="Whence"))
    items = process(doc, [answer("B")])
    assert items["accuracy"] == {"group_id": "sav_000001", "value": 100, "score": 100}
    assert not [name for name in items if name.endswith(CATEGORIES) or name.endswith("_other")]


def test_nothing_to_score_is_not_a_score(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, row(answer=None))
    items = process(doc, [answer("B")])
    assert items["accuracy"] == {"group_id": "sav_000001", "value": None}
    assert task_state("cast_bench").kind.metric("accuracy").score([items["accuracy"]]) is None
    assert (items["unscored_rate"], items["unparsed_rate"], items["im_viou"] is None) == (100, 0, False)


@pytest.mark.parametrize("said", [[], [None], [""], ["{" * 1000], [5]])
def test_no_response_raises(said: list[Any], tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, ROW)
    assert process(doc, said)["unparsed_rate"] == 100


def test_the_prompt_can_be_joined_with_its_question(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, ROW)
    state = new_state("cast_bench")
    text = state.doc_to_text(doc, template()["lmms_eval_specific_kwargs"]["gemini"])
    assert read_asked(text) == QuestionText.of(doc["question"], doc["options"])
    assert '"answer_choice": "A"' in text and "{{" not in text
    assert state.settings.convention.value == "yxyx_n1000"


def test_known_models_are_configured() -> None:
    known = {name: kwargs["boxes"] for name, kwargs in template()["lmms_eval_specific_kwargs"].items()}
    assert known == {
        "default": "xyxy_px",
        "gemini": "yxyx_n1000",
        "gemini_api": "yxyx_n1000",
        "qwen2_vl": "xyxy_n1000",
        "qwen2_5_vl": "xyxy_resized",
        "qwen3_vl": "xyxy_px",
    }


def test_known_models_are_models_of_the_host() -> None:
    from lmms_eval.models import MODEL_REGISTRY_V2

    for name in set(template()["lmms_eval_specific_kwargs"]) - {"default"}:
        assert MODEL_REGISTRY_V2.get_manifest(name)


def test_two_configurations_in_one_process_score_each_in_its_own(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, ROW)
    states = [new_state("cast_bench") for _ in range(2)]
    for state, kwargs in zip(states, ({}, {"boxes": "yxyx_px"}), strict=True):
        state.doc_to_text(doc, kwargs)
    # The configuration of a task is the one that it was built with.
    states[0].doc_to_text(doc, {"boxes": "yxyx_px"})
    swapped = answer("B", [0, 2, 20, 22])
    items = [state.process_results(doc, [swapped]) for state in states]
    assert [one["record"]["fields"]["boxes"]["convention"] for one in items] == ["xyxy_px", "yxyx_px"]
    assert items[0]["im_viou"] < items[1]["im_viou"]


def test_a_wrong_configuration_ends_the_run(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, ROW)
    with pytest.raises(SystemExit, match="CaST-Bench cannot be run as configured: 1 problem"):
        new_state("cast_bench").doc_to_text(doc, {"boxes": "px"})


def test_boxes_in_the_frame_that_qwen_was_shown(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, row({"bboxes_in_range": {str(second): [0, 0, 960, 540] for second in range(3)}}))
    doc = {**doc, "width": 1920, "height": 1080}
    state = task_state("cast_bench", kwargs={"boxes": "xyxy_resized"})
    unknown = state.process_results(doc, [answer("B", [0, 0, 504, 280])])
    assert unknown["im_viou"] is None and unknown["grounding_unscored_rate"] == 100
    assert unknown["accuracy"]["value"] == 100
    state.evaluation.model = SimpleNamespace(min_pixels=200704, max_pixels=1605632, max_num_frames=32, fps=None)
    # The adapter shows 1008 × 560 of 1920 × 1080.
    assert state.process_results(doc, [answer("B", [0, 0, 504, 280])])["im_viou"] == pytest.approx(100)


def finished(tmp_path: Path, said: list[str], *rows: dict[str, Any], args: Any = None) -> tuple[int | None, list[str]]:
    """What the end of a run returns, and its warnings."""
    told: list[str] = []
    sink = logger.add(lambda message: told.append(message.record["message"]), level="WARNING")
    items = [process(doc, [text])["submission_rows"] for doc, text in zip(docs(tmp_path, *rows), said, strict=True)]
    written = aggregations(task_state("cast_bench"))[SUBMISSION_ROWS](items, args)
    logger.remove(sink)
    return written, told


def many(count: int, box: list[int]) -> list[dict[str, Any]]:
    evidence = {"bboxes_in_range": {str(second): box for second in range(3)}}
    return [row(evidence, question=f"Why {letter}?") for letter in ascii_uppercase[:count]]


def test_boxes_that_look_otherwise_are_warned_of(tmp_path: Path) -> None:
    said = [answer("B", [300, 10, 700, 90])] * 8
    written, told = finished(tmp_path, said, *many(8, [10, 300, 90, 700]))
    assert written is None
    assert told == [
        "CaST-Bench's boxes were read as xyxy_px, and do not look it: Read as yxyx_px, their mean IoU with true boxes "
        "of the same second is 1.00, not 0.00. If the model writes boxes so, score its responses again with "
        "LMMS_EVAL_TASKS_BOXES=yxyx_px."
    ]
    assert finished(tmp_path, [answer("B", [10, 300, 90, 700])] * 8, *many(8, [10, 300, 90, 700]))[1] == []


def test_normalised_boxes_are_told_although_no_clip_is_there(tmp_path: Path) -> None:
    _, told = finished(tmp_path, [answer("B", [100, 500, 300, 1000])] * 8, *many(8, [192, 540, 576, 1080]))
    assert told == [
        "CaST-Bench's boxes were read as xyxy_px, and do not look it: Read as xyxy_n1000 and clips of unknown size "
        "taken for 1920×1080, their mean IoU with true boxes of the same second is 1.00, not 0.19. If the model writes "
        "boxes so, prepare the benchmark with its clips, which tell their sizes, and score its responses again with "
        "LMMS_EVAL_TASKS_BOXES=xyxy_n1000."
    ]


def test_what_is_written(tmp_path: Path) -> None:
    args = SimpleNamespace(output_path=str(tmp_path / "out"))
    rows = [ROW, row(answer="A", question="And this?")]
    written, told = finished(tmp_path, [answer("B"), "no idea"], *rows, args=args)
    assert (written, told) == (2, [])
    folder = tmp_path / "out" / "submissions"
    lines = [json.loads(line) for line in (folder / FILES["predictions"]).read_text("utf-8").splitlines()]
    assert [line["predict"] for line in lines] == [answer("B"), "no idea"]
    assert ["And this?" in line["prompt"] for line in lines] == [False, True]
    overall = json.loads((folder / FILES["metrics"]).read_text("utf-8"))
    assert overall["overall_per_qa"]["n_qas"] == 2
    assert overall["overall_per_qa"]["qa_accuracy"] == 0.5
    assert (overall["missing_pred_files"], overall["config"]["pred_path"]) == (0, FILES["predictions"])


def test_questions_that_were_not_asked_are_not_submitted(tmp_path: Path) -> None:
    args = SimpleNamespace(output_path=str(tmp_path / "out"))
    items = [
        {**process(doc, [answer("B")])["submission_rows"], "asked": index == 0}
        for index, doc in enumerate(docs(tmp_path, ROW, row(question="Unseen?")))
    ]
    assert aggregations(task_state("cast_bench"))[SUBMISSION_ROWS](items, args) == 1
    overall = json.loads((tmp_path / "out" / "submissions" / FILES["metrics"]).read_text("utf-8"))
    assert (overall["overall_per_qa"]["n_qas"], overall["missing_pred_files"]) == (1, 1)


def test_what_the_metrics_leave_out_is_told(tmp_path: Path) -> None:
    args = SimpleNamespace(output_path=str(tmp_path / "out"))
    _, told = finished(tmp_path, [answer("B")], row(answer=None), args=args)
    assert told[-1].endswith(
        "cast_bench_metrics.json holds 1 of 1 items; The metrics are about the 0 of 1 questions that could be scored."
    )
