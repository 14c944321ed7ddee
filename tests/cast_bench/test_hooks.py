"""CaST-Bench's records, scores and hooks: what is unscored stays out and is counted, what is scored adds up."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from string import ascii_uppercase
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from cast_bench import EVIDENCE, ROW, answer_with_truth, row, write_release
from expected import Expected
from loguru import logger
from metric_scores import score_all
from task_states import docs_of, end_task, new_state, task_state

from lmms_eval_tasks.api.evidence import EVIDENCE_FORMAT, EVIDENCE_SCORES, EvidenceQuestion, grade_evidence
from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.cast_bench.card import CATEGORIES, METRICS
from lmms_eval_tasks.cast_bench.hooks import mean_box_area, read_settings, size_of
from lmms_eval_tasks.cast_bench.submission import (
    FILES,
    OFFICIAL_METRICS,
    official_metrics,
    official_overall,
    read_asked,
)
from lmms_eval_tasks.host.model.identity import ModelFacts
from lmms_eval_tasks.prompting import read_task_settings
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.answers.evidence import DEFAULTS, EvidenceSettings, GroundingSettings, convention_warnings
from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention, EvidenceInstance
from lmms_eval_tasks.utils.answers.evidence_reading import read_evidence_answer, read_truth
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.benchmark.tasks import task_configs
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.scoring.prediction_lines import QuestionText
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

KWARGS: dict[str, Any] = task_configs(registry().tasks["cast_bench"].benchmark.folder)["cast_bench"][
    "lmms_eval_specific_kwargs"
]

pytestmark = pytest.mark.usefixtures("home")


def docs(tmp_path: Path, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    prepare(Preparation(), str(write_release(tmp_path / "release", rows)))
    return docs_of(task_state("cast_bench"))


def test_a_version_names_the_wording_where_questions_are_revised_and_nowhere_else(tmp_path: Path) -> None:
    (prepared,) = docs(tmp_path, ROW)
    changes: list[dict[str, Any]] = [{}, {"question": "Why?"}, {"answer": "A"}, {"clip": "test/sav_000002.mp4"}]
    changes.append({"options": [*prepared["options"][:3], "It is round."]})
    for name, text in (("evidence_rationale", "It bounces."), ("evidence_end_time", "00:01")):
        changes.append({"evidence": json.dumps([{**json.loads(prepared["evidence"])[0], name: text}])})
    versions: dict[str, list[str]] = {}
    for mode in ("edit", "revise"):
        items = registry().benchmarks["cast_bench"].inquiry(mode).items
        assert items is not None
        versions[mode] = [
            version for one in items([{**prepared, **change} for change in changes]) for version in one.ways
        ]
    assert versions["edit"] == [""] * len(changes)
    assert len(set(versions["revise"])) == len(changes)


def process(doc: dict[str, Any], *said: Any) -> dict[str, Any]:
    """What lmms-eval gathers of a document's results in the default configuration, for every score."""
    state = task_state("cast_bench")
    state.metrics = METRICS
    return state.process_results(doc, list(said))


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
    assert items["accuracy"] == {"group_id": "sav_000001", "score": 100}
    assert not [name for name in items if name.endswith(CATEGORIES) or name.endswith("_other")]
    assert {process(typeless, *said)["unparsed_rate"] for said in ([], [None], [""], ["{" * 1000], [5])} == {100}
    items = process({**typeless, "answer": None}, answer("B"))
    assert items["accuracy"] is None
    assert (items["unscored_rate"], items["unparsed_rate"], items["im_viou"] is None) == (100, 0, False)


def test_a_task_asks_and_reads_as_it_was_configured(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, ROW)
    state = new_state("cast_bench")
    text = state.doc_to_text(doc, KWARGS["gemini"])
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
def test_boxes_in_the_frame_that_qwen_was_shown(tmp_path: Path) -> None:
    (doc,) = docs(tmp_path, row({"bboxes_in_range": {str(second): [0, 0, 960, 540] for second in range(3)}}))
    doc = {**doc, "width": 1920, "height": 1080}
    state = task_state("cast_bench", kwargs={"boxes": "xyxy_resized"})
    unknown = state.process_results(doc, [answer("B", [0, 0, 504, 280])])
    assert unknown["im_viou"] is None and unknown["grounding_unscored_rate"] == 100
    assert unknown["accuracy"]["score"] == 100
    state.begin(ModelFacts(SimpleNamespace(min_pixels=200704, max_pixels=1605632, max_num_frames=32, fps=None)))
    # The adapter shows 1008 × 560 of 1920 × 1080.
    assert state.process_results(doc, [answer("B", [0, 0, 504, 280])])["im_viou"] == pytest.approx(100)


def finish(items: list[Any], args: Any = None) -> tuple[int | None, list[str]]:
    """What the end of a run returns, and its warnings."""
    warnings: list[str] = []
    sink = logger.add(lambda message: warnings.append(message.record["message"]), level="WARNING")
    written = end_task(task_state("cast_bench"), items, args)
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
        # Another question of the same clip is about what reaches to the end of its frame.
        whole = row({"bboxes_in_range": {"0": [0, 0, 1920, 1080]}}, question="Why not?")
        *asked, last = docs(tmp_path, *rows, whole)
        items = [process(doc, answer("B", said)) for doc in asked]
        items.append(process(last, '{"answer_choice": "B"}'))
        written, warnings = finish(items)
        assert written is None
        expected("\n".join(warnings))


def test_what_is_written_of_a_run(tmp_path: Path) -> None:
    args = SimpleNamespace(output_path=str(tmp_path / "out"))
    folder = tmp_path / "out" / "submissions"
    said = [answer("B"), "no idea"]
    rows = docs(tmp_path, ROW, row(answer="A", question="And this?"))
    items = [process(doc, text) for doc, text in zip(rows, said, strict=True)]
    assert finish(items, args) == (2, [])
    lines = [json.loads(line) for line in (folder / FILES["predictions"]).read_text("utf-8").splitlines()]
    assert [line["predict"] for line in lines] == said
    assert ["And this?" in line["prompt"] for line in lines] == [False, True]

    def overall() -> tuple[Any, ...]:
        found = json.loads((folder / FILES["metrics"]).read_text("utf-8"))
        assert found["config"]["pred_path"] == FILES["predictions"]
        return (*(found["overall_per_qa"][name] for name in ("n_qas", "qa_accuracy")), found["missing_pred_files"])

    assert overall() == (2, 0.5, 0)
    # Questions that were not asked are not submitted, and those that cannot be scored are not in the metrics.
    unasked = {**items[1], "submission_rows": {**items[1]["submission_rows"], "asked": False}}
    assert finish([items[0], unasked], args)[0] == 1
    assert overall() == (1, 1, 1)
    keyless = process({**rows[0], "answer": None}, answer("B"))
    (*_, last) = finish([keyless], args)[1]
    assert last.endswith("The metrics are about the 0 of 1 questions that could be scored.")


@pytest.mark.parametrize(
    ("kwargs", "needed"),
    [
        ({"boxes": "yxyx_n1000"}, "yxyx_n1000 boxes need the size of each clip. Prepare the benchmark with its clips"),
        ({"boxes": "xyxy_resized"}, "xyxy_resized boxes need the size of each clip. Prepare"),
        (
            {"boxes": "xyxy_resized", "sized": True},
            "need the size of the frames that the model was shown. Name the pix",
        ),
    ],
)
def test_a_run_says_what_its_grounding_needs(kwargs: dict[str, Any], needed: str, tmp_path: Path) -> None:
    sized = (1920, 1080) if kwargs.pop("sized", False) else None
    settings = read_settings(kwargs, {})
    question = EvidenceQuestion("q", "q", {}, "B", read_truth([EVIDENCE]), frame=sized)
    said = read_evidence_answer(answer("B", [0, 0, 9, 9])).instances
    (line,) = convention_warnings("CaST-Bench", [(question, said), (question, ())], settings.convention)
    assert line.startswith("CaST-Bench: The grounding of 1 of 2 questions is not scored, and their answers are: ")
    assert needed in line


SIZES = ((640, 480), (320, 240), (640, 480))
PIXELS = {"boxes": {"convention": "xyxy_px", "seen": None}}


def restored(
    kwargs: dict[str, Any], *fields: dict[str, Any], line: Mapping[str, Any] = MappingProxyType({})
) -> EvidenceSettings:
    """The settings of a task after its log, with the fields of one record for all items or of each, in lines that also
    hold something else."""
    state = task_state("cast_bench", kwargs=kwargs)
    state.settle(read_task_settings(state.benchmark, state.kind, kwargs, os.environ), kwargs)
    docs = [{"item_id": str(index), "width": width, "height": height} for index, (width, height) in enumerate(SIZES)]
    assert state.kind.restore is not None
    settings = state.kind.restore(
        state, docs, [{"record": {"fields": one}, **line} for one in (fields if len(fields) == 3 else fields * 3)]
    ).settings
    assert isinstance(settings, EvidenceSettings)
    return settings


def test_a_log_says_how_boxes_are_read_and_questions_asked_and_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = ([616, 476], None, [616, 476])
    settings = restored({"boxes": "xyxy_px"}, *({"boxes": {"convention": "xyxy_resized", "seen": one}} for one in seen))
    assert settings.convention is BoxConvention.XYXY_RESIZED
    assert [settings.seen(frame, None) for frame in (*SIZES[:2], (1, 1), None)] == [(616, 476), None, None, None]
    # A log that does not say leaves it to the task, and one that says several is of no run.
    assert restored({"boxes": "yxyx_n1000"}, {"boxes": {}}).convention is BoxConvention.YXYX_N1000
    several = [{"boxes": {"convention": name}} for name in ("xyxy_px", "xywh", "")]
    with pytest.raises(InputError, match="one matching in a log, but got xywh, xyxy_px"):
        restored({}, *several)
    assert restored({"tau_st": 0.25}, PIXELS).hits.tau_st == 0.25
    monkeypatch.setenv("LMMS_EVAL_TASKS_BOXES", "yxyx_n1000")
    assert restored({}, PIXELS).convention is BoxConvention.YXYX_N1000


def test_a_log_says_how_evidence_was_matched_and_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    own = GroundingSettings(eps_overlap=3, tau_t=0.4, tau_st=0.25, coverage_aware=True)
    rules = ("script", "supplement", own.rule, GroundingSettings(eps_overlap=0).rule)
    for rule in rules:
        assert restored({}, {"matching": rule}).hits.rule == rule
    submitted = {"submission_rows": {"settings": asdict(own)}}
    assert restored({}, {"matching": own.rule}, line=submitted).hits == own
    with pytest.raises(InputError, match="one matching in a log, but got script, supplement"):
        restored({}, *({"matching": rule} for rule in ("script", "supplement", "script")))
    with pytest.raises(ValueError, match="Expected a rule of matching, but got 'guess'"):
        restored({}, {"matching": "guess"})
    monkeypatch.setenv("LMMS_EVAL_TASKS_MATCHING", "supplement")
    assert restored({}, {"matching": "script"}).hits.rule == "supplement"
    assert restored({}, {"matching": own.rule}, line=submitted).hits == replace(own, eps_overlap=1)


WHOLE = {metric.name: metric for metric in (*EVIDENCE_SCORES.values(), *EVIDENCE_FORMAT)}
"""The scores of all questions that a question contributes to, whatever its category."""


def question_scores(record: Record) -> dict[str, float | None]:
    return {name: metric.value(record) for name, metric in WHOLE.items()}


def truth(box: str = "[0, 0, 200, 200]") -> tuple[EvidenceInstance, ...]:
    times = {"evidence_start_time": "00:00", "evidence_end_time": "00:02"}
    boxes = {str(second): box for second in range(3)}
    return read_truth([{"evidence_instance_id": "p", "bboxes_in_range": boxes, **times}])


def response(answer: str = "A", box: object = (0, 0, 200, 200), things: int = 1) -> str:
    evidence = {
        "evidence_start_time": "00:00",
        "evidence_end_time": "00:02",
        "evidence_rationale": "r",
        "bboxes_in_time_range": {f"00:0{second}": box for second in range(3)},
    }
    said = {"instances": [{"instance_name": "p", "evidences": [evidence]}] * things, "answer_choice": answer}
    return json.dumps(said)


def question(**changes: Any) -> EvidenceQuestion:
    facts = {"item_id": "q", "group_id": "sav_1", "answer": "A", "truth": truth(), **changes}
    return EvidenceQuestion(stratum={"category": "why", "subtype": "why", "size": size_of(facts["truth"])}, **facts)


def test_a_perfect_response_and_its_record_in_json() -> None:
    record = grade_evidence(question(), response())
    assert record.outcome is Outcome.CORRECT
    assert record.stratum == {"category": "why", "subtype": "why", "size": "large"}
    scores = question_scores(record)
    assert set(scores) <= {metric.name for metric in METRICS}
    none = {"spurious": 0, "false_positives": 0, "grounding_unscored_rate": 0}
    assert {name: value for name, value in scores.items() if value != 100} == none
    two = grade_evidence(question(), response(things=2))
    again = Record.from_json(json.loads(json.dumps(two.to_json())))
    assert question_scores(again) == question_scores(two)


def test_each_score_is_broken_down_by_category_and_by_size() -> None:
    stratum = {"category": CATEGORIES[0], "subtype": "why", "size": "large"}
    scores = score_all(METRICS, [replace(grade_evidence(question(), response()), stratum=stratum)])
    for name in (*OFFICIAL_METRICS, "faithful_strict"):
        parts = {part: scores[f"{name}_{part}"] for part in (*CATEGORIES, "small", "large")}
        assert parts == {**dict.fromkeys(parts), CATEGORIES[0]: scores[name], "large": scores[name]}


def test_small_boxes_have_less_than_ten_thousand_square_pixels() -> None:
    for box, size in (("[0, 0, 99, 101]", "small"), ("[0, 0, 100, 100]", "large")):
        assert grade_evidence(question(truth=truth(box)), "").stratum["size"] == size
    assert mean_box_area(truth("[0, 0, 10, 20]")) == 200 and mean_box_area([]) == 0


def test_what_says_nothing_scores_zero_and_what_format_costs() -> None:
    for said in ("", "no idea", None, 5, "{}"):
        record = grade_evidence(question(), said)
        scores = question_scores(record)
        assert record.outcome is Outcome.UNPARSED
        assert (scores["accuracy"], scores["im_viou"], scores["recoverable_rate"]) == (0, 0, 0)
    records = [grade_evidence(question(), said) for said in ("I'd say: answer: A", response())]
    total = score_all(METRICS, records)
    assert (total["accuracy"], total["accuracy_diagnostic"], total["json_valid_rate"]) == (50, 100, 50)
    long = grade_evidence(question(), response(things=1_000))
    assert (long.outcome, long.answered) == (Outcome.UNPARSED, None)
    assert long.detail == "the answer object has more than 100,000 characters and was not read"
    assert long.fields["format"]["json_valid"] is False and long.fields["grounding"]["predicted"] == 0
    assert grade_evidence(question(), response(things=100)).detail == grade_evidence(question(), "none").detail == ""


@pytest.mark.parametrize("convention", [BoxConvention.XYXY_N1000, BoxConvention.YXYX_N1000, BoxConvention.XYXY_RESIZED])
def test_boxes_without_a_size_are_unscored_and_the_answer_is_not(convention: BoxConvention) -> None:
    record = grade_evidence(question(), response(), convention=convention)
    assert record.outcome is Outcome.CORRECT and record.fields["grounding"] is None
    assert record.fields["grounding_reason"] == f"{convention.value} boxes, size of the frame unknown"
    scores = question_scores(record)
    assert scores["accuracy"] == 100
    assert {scores[name] for name in {*OFFICIAL_METRICS, "faithful_strict"} - {"accuracy"}} == {None}
    total = score_all(METRICS, [record, grade_evidence(question(), response())])
    assert (total["grounding_unscored_rate"], total["unscored_rate"], total["im_viou"]) == (50, 0, 100)
    # Without boxes no size is needed.
    plain = grade_evidence(question(), '{"answer_choice": "A"}', convention=convention)
    assert question_scores(plain)["spurious"] == 100


@pytest.mark.parametrize(
    ("convention", "frame", "seen", "shown"),
    [
        (BoxConvention.XYXY_N1000, (2000, 500), None, (1000, 1000)),
        (BoxConvention.XYXY_RESIZED, (2000, 500), (1000, 250), (1000, 250)),
        (BoxConvention.XYXY_RESIZED, (2000, 500), None, None),
    ],
)
def test_sizes_belong_to_their_own_question(convention: BoxConvention, frame: Any, seen: Any, shown: Any) -> None:
    width, height = shown or frame
    said = response(box=[0, 0, 200 * width / frame[0], 200 * height / frame[1]])
    record = grade_evidence(question(frame=frame, seen=seen), said, convention=convention)
    assert question_scores(record)["im_viou"] == (100 if shown else None)
    reason = "xyxy_resized boxes, size of the frame that the model was shown unknown"
    assert shown or record.fields["grounding_reason"] == reason


def test_what_could_not_be_asked_or_graded_is_unscored() -> None:
    for changes, said, reason in (
        ({}, Reply(missing=UnscoredReason.NO_CLIP), "no clip"),
        ({"answer": None}, Reply(response()), "no answer key"),
    ):
        record = grade_evidence(question(**changes), said)
        scores = question_scores(record)
        assert (record.outcome, record.why) == (Outcome.UNSCORED, reason)
        assert scores["accuracy"] is scores["faithful"] is scores["accuracy_diagnostic"] is None
        assert {scores[name] is None for name in ("im_viou", "json_valid_rate")} == {reason == "no clip"}
        assert official_metrics(record) is None
        assert official_overall([record], DEFAULTS, "p.jsonl")["overall_per_qa"]["n_qas"] == 0
    failed = grade_evidence(question(), Reply(missing=UnscoredReason.FAILED))
    assert (failed.why, failed.fields["grounding_reason"]) == ("failed", "failed")
