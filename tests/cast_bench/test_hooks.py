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
from expected import Expected
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


def process(doc: dict[str, Any], *said: Any) -> dict[str, Any]:
    """Return the contribution of a document's results to every score in the default configuration."""
    state = task_state("cast_bench")
    state.metrics = METRICS
    return state.process_results(doc, list(said))


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


def test_the_kind_of_a_wrong_answer_is_counted_where_it_is_released(tmp_path: Path) -> None:
    kinds = {"A": "text-based", "C": "near-miss", "D": "near-miss of the video-based distractor"}
    doc, unknown = docs(tmp_path, row(distractor_types=kinds), row(question="And this?"))
    for letter, chosen in (
        ("A", {"text_based"}),
        ("C", {"near_miss"}),
        ("D", {"near_miss", "near_miss_of_video_based"}),
    ):
        errors = {name: value for name, value in process(doc, answer(letter)).items() if name.startswith("errors_")}
        assert len(errors) == 6 and set(errors.values()) == {0, 100}
        assert {name for name, value in errors.items() if value == 100} == {f"errors_{kind}" for kind in chosen}
    for of_doc, said in ((doc, answer("B")), (doc, "no idea"), (unknown, answer("A"))):
        assert not [name for name in process(of_doc, said) if name.startswith("errors_")]


def test_what_is_of_no_category_or_without_a_key_or_a_response(tmp_path: Path) -> None:
    (typeless,) = docs(tmp_path, row(question_type="Whence"))
    items = process(typeless, answer("B"))
    assert items["accuracy"] == {"group_id": "sav_000001", "value": 100, "score": 100}
    assert not [name for name in items if name.endswith(CATEGORIES) or name.endswith("_other")]
    for said in ([], [None], [""], ["{" * 1000], [5]):
        assert process(typeless, *said)["unparsed_rate"] == 100
    items = process({**typeless, "answer": None}, answer("B"))
    assert items["accuracy"] == {"group_id": "sav_000001", "value": None}
    assert task_state("cast_bench").kind.metric("accuracy").score([items["accuracy"]]) is None
    assert (items["unscored_rate"], items["unparsed_rate"], items["im_viou"] is None) == (100, 0, False)


def test_a_task_asks_and_reads_as_it_was_configured(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, ROW)
    state = new_state("cast_bench")
    text = state.doc_to_text(doc, template()["lmms_eval_specific_kwargs"]["gemini"])
    assert read_asked(text) == QuestionText.of(doc["question"], doc["options"])
    assert '"answer_choice": "A"' in text and "{{" not in text
    assert state.settings.convention.value == "yxyx_n1000"
    # The configuration of a task is the one that it was built with, also beside another one.
    states = [new_state("cast_bench") for _ in range(2)]
    for state, kwargs in zip((*states, states[0]), ({}, {"boxes": "yxyx_px"}, {"boxes": "yxyx_px"}), strict=True):
        state.doc_to_text(doc, kwargs)
    items = [state.process_results(doc, [answer("B", [0, 2, 20, 22])]) for state in states]
    assert [one["record"]["fields"]["boxes"]["convention"] for one in items] == ["xyxy_px", "yxyx_px"]
    assert items[0]["im_viou"] < items[1]["im_viou"]
    with pytest.raises(SystemExit, match="CaST-Bench cannot be run as configured: 1 problem"):
        new_state("cast_bench").doc_to_text(doc, {"boxes": "px"})


@pytest.mark.slow
def test_known_models_are_configured_and_are_models_of_the_host() -> None:
    from lmms_eval.models import MODEL_REGISTRY_V2

    known = template()["lmms_eval_specific_kwargs"]
    assert known["default"]["boxes"] == "xyxy_px" and known["qwen2_5_vl"]["boxes"] == "xyxy_resized"
    assert all(MODEL_REGISTRY_V2.get_manifest(name) for name in set(known) - {"default"})


@pytest.mark.slow
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


def finish(items: list[Any], args: Any = None) -> tuple[int | None, list[str]]:
    """What the end of a run returns, and its warnings."""
    warnings: list[str] = []
    sink = logger.add(lambda message: warnings.append(message.record["message"]), level="WARNING")
    written = aggregations(task_state("cast_bench"))[SUBMISSION_ROWS](items, args)
    logger.remove(sink)
    return written, warnings


def test_boxes_that_look_otherwise_are_warned_of(tmp_path: Path, expected: Expected) -> None:
    for true, said in (
        ([10, 300, 90, 700], [300, 10, 700, 90]),
        ([192, 540, 576, 1080], [100, 500, 300, 1000]),
        ([10, 300, 90, 700], [10, 300, 90, 700]),
    ):
        evidence = {"bboxes_in_range": {str(second): true for second in range(3)}}
        rows = [row(evidence, question=f"Why {letter}?") for letter in ascii_uppercase[:8]]
        items = [process(doc, answer("B", said))["submission_rows"] for doc in docs(tmp_path, *rows)]
        written, warnings = finish(items)
        assert written is None
        expected("\n".join(warnings))


def test_what_is_written_of_a_run(tmp_path: Path) -> None:
    args = SimpleNamespace(output_path=str(tmp_path / "out"))
    folder = tmp_path / "out" / "submissions"
    said = [answer("B"), "no idea"]
    rows = docs(tmp_path, ROW, row(answer="A", question="And this?"))
    items = [process(doc, text)["submission_rows"] for doc, text in zip(rows, said, strict=True)]
    assert finish(items, args) == (2, [])
    lines = [json.loads(line) for line in (folder / FILES["predictions"]).read_text("utf-8").splitlines()]
    assert [line["predict"] for line in lines] == said
    assert ["And this?" in line["prompt"] for line in lines] == [False, True]

    def overall() -> dict[str, Any]:
        found: dict[str, Any] = json.loads((folder / FILES["metrics"]).read_text("utf-8"))
        return found

    metrics = overall()
    assert (metrics["overall_per_qa"]["n_qas"], metrics["overall_per_qa"]["qa_accuracy"]) == (2, 0.5)
    assert (metrics["missing_pred_files"], metrics["config"]["pred_path"]) == (0, FILES["predictions"])
    # Questions that were not asked are not submitted, and those that cannot be scored are not in the metrics.
    assert finish([items[0], {**items[1], "asked": False}], args)[0] == 1
    assert (overall()["overall_per_qa"]["n_qas"], overall()["missing_pred_files"]) == (1, 1)
    keyless = process({**rows[0], "answer": None}, answer("B"))["submission_rows"]
    (*_, last) = finish([keyless], args)[1]
    assert last.endswith("The metrics are about the 0 of 1 questions that could be scored.")
