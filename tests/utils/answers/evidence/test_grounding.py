"""Grounding: known values, properties, and agreement with a plain-Python scorer on any instances."""

from __future__ import annotations

import json
from dataclasses import asdict
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import measurement
from pydantic import ValidationError

from lmms_eval_tasks.utils.answers.evidence import (
    EvidenceFields,
    EvidenceQuestion,
    Grounding,
    GroundingSettings,
    grade_evidence,
    ground_evidence,
    temporal_iou,
)
from lmms_eval_tasks.utils.answers.evidence_boxes import Box, BoxConvention, Evidence, EvidenceInstance, Timeline
from lmms_eval_tasks.utils.answers.evidence_reading import LAST_SECOND, MAX_ANSWER, read_evidence_answer, read_truth
from lmms_eval_tasks.utils.scoring.record import UnparsedReason

BOX: Box = (0, 0, 100, 100)
FAR: Box = (500, 500, 600, 600)


def thing(*spans: tuple[int, int], box: Box = BOX, name: str = "p") -> EvidenceInstance:
    """An instance with one evidence per span and the same box in every second."""
    return EvidenceInstance(
        name,
        tuple(Evidence(start, end, tuple(range(start, end + 1)), (box,) * (end - start + 1)) for start, end in spans),
    )


def grounding(predicted: list[EvidenceInstance], true: list[EvidenceInstance], **options: Any) -> Grounding:
    answered, keyed = ([one.timeline() for one in instances] for instances in (predicted, true))
    return ground_evidence(answered, keyed, GroundingSettings(**options))


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    return measurement("cast_bench_scoring")


def test_a_grounding_in_a_log_is_of_its_form() -> None:
    true = thing((0, 9))
    logged = json.loads(json.dumps(grade_evidence(EvidenceQuestion("q", "q", {}, "A", (true,)), "{}").to_json()))[
        "fields"
    ]
    measures = json.loads(json.dumps(asdict(grounding([true], [true]))))
    assert EvidenceFields.model_validate({**logged, "grounding": measures})
    for wrong in (
        {"im_tiou": 2},
        {"supported": 1},
        {"false_positives": 1.5},
        {"pairs": [{"predicted": "0", "true": 0}]},
    ):
        with pytest.raises(ValidationError):
            EvidenceFields.model_validate({**logged, "grounding": {**measures, **wrong}})


# Known values: "demos" of the official oracle, rebuilt from their descriptions.
def test_matching_by_spatial_overlap_can_prefer_the_shorter_span() -> None:
    predicted = [thing((0, 1)), thing((0, 9), box=(0, 0, 100, 90))]
    by_siou = grounding(predicted, [thing((0, 9))])
    assert (by_siou.temporal_recall, by_siou.im_tiou, by_siou.st_recall, by_siou.im_viou) == (0, 0.2, 1, 0.2)
    covered = grounding(predicted, [thing((0, 9))], coverage_aware=True)
    assert (covered.temporal_recall, covered.im_tiou, covered.st_recall) == (1, 1, 1)
    assert covered.im_viou == pytest.approx(0.9)
    assert (by_siou.false_positives, by_siou.missed) == (covered.false_positives, covered.missed) == (1, 0)
    # A gap between evidences costs even a perfect copy, and one second is not enough by default.
    copy = grounding([thing((0, 1), (8, 9))], [thing((0, 1), (8, 9))])
    assert (copy.im_tiou, copy.im_viou) == (1, 0.4)
    for eps, score in ((1, 1), (2, 0)):
        second = grounding([thing((5, 5))], [thing((5, 5))], eps_overlap=eps)
        assert (second.im_tiou, second.im_viou, second.supported) == (score, score, bool(score))
    # A threshold is reached by what equals it: tIoU 2 / 10, sIoU 50 / 100, so that vIoU is 0.1 exactly.
    found = grounding([thing((0, 1), box=(0, 0, 100, 50))], [thing((0, 9))], tau_t=0.2, tau_st=0.1)
    assert found.im_viou == 0.1
    assert (found.temporal_recall, found.st_recall, found.supported, found.supported_strict) == (1, 1, True, True)


def test_time_alone_is_no_match_and_nothing_scores_nothing() -> None:
    apart = grounding([thing((0, 9))], [thing((0, 9), box=FAR)])
    assert (apart.im_tiou, apart.pairs, apart.false_positives, apart.missed) == (0, [], 1, 1)
    for predicted, true in (([], []), ([thing((0, 9))], []), ([], [thing((0, 9))])):
        nothing = grounding(predicted, true)
        assert nothing.im_tiou == nothing.tiou_tp_only == 0 and not nothing.supported and not nothing.supported_strict
        assert (nothing.false_positives, nothing.missed) == (len(predicted), len(true))
    # An instance without evidence is still a false positive.
    empty = grounding([EvidenceInstance("p", ()), thing((0, 9))], [thing((0, 9))])
    assert (empty.predicted, empty.false_positives, empty.pairs[0].predicted) == (2, 1, 1)


def test_supported_strictly_is_the_mean_over_predictions() -> None:
    both = grounding([thing((0, 9)), *[thing((0, 9), box=FAR)] * 9], [thing((0, 9))])
    more = grounding([thing((0, 9)), *[thing((0, 9), box=FAR)] * 10], [thing((0, 9))])
    assert both.supported and both.supported_strict
    assert more.supported and not more.supported_strict


def test_boxes_outside_their_evidence_do_not_count_and_the_largest_and_first_wins() -> None:
    outside = Evidence(0, 1, (0, 1, 2), (BOX, BOX, BOX))
    other = Evidence(1, 2, (1,), ((0, 0, 200, 200),))
    assert EvidenceInstance("p", (outside, other)).timeline() == Timeline(0, 2, {0: BOX, 1: (0, 0, 200, 200)})
    # The first of equal ones wins.
    wide, tall = (0.0, 0.0, 200.0, 50.0), (0.0, 0.0, 50.0, 200.0)
    instance = EvidenceInstance("p", (Evidence(0, 0, (0, 0), (wide, tall)), Evidence(0, 0, (0,), (tall,))))
    assert instance.timeline().boxes == {0: wide}


def test_ties_go_to_the_longer_overlap_then_to_the_earlier_instance() -> None:
    true = [thing((0, 3)), thing((0, 4))]
    assert [(pair.predicted, pair.true) for pair in grounding(true[::-1], true).pairs] == [(0, 1), (1, 0)]
    alike = [thing((0, 4))] * 2
    assert [(pair.predicted, pair.true) for pair in grounding(alike, alike).pairs] == [(0, 0), (1, 1)]


def test_spans_are_inclusive_and_may_have_no_end() -> None:
    spans = [((0, 4), (4, 9)), ((5, 9), (0, 4)), ((0, -1), (0, 4))]
    overlaps = [temporal_iou(Timeline(*predicted, {}), Timeline(*true, {})) for predicted, true in spans]
    assert overlaps == [(1, 0.1), (0, 0), (0, 0)]
    # Those without end cost nothing.
    endless = EvidenceInstance("p", (Evidence(0, LAST_SECOND, (0, 1, LAST_SECOND), (BOX, BOX, BOX)),))
    result = grounding([endless] * 1000, [thing((0, 9))])
    assert 0 < result.im_tiou < 1e-9


def test_conversion_happens_before_boxes_are_compared() -> None:
    true = thing((0, 9), box=(192, 108, 960, 540)).timeline()
    written = thing((0, 9), box=(100, 100, 500, 500))
    converted = written.timeline(BoxConvention.XYXY_N1000, (1920, 1080))
    assert ground_evidence([converted], [true]).im_viou == 1
    written = thing((0, 9), box=(96, 54, 480, 270))
    resized = written.timeline(BoxConvention.XYXY_RESIZED, (1920, 1080), (960, 540))
    assert ground_evidence([resized], [true]).im_viou == 1
    flat = thing((0, 9), box=(100.2, 100.2, 100.8, 100.8)).timeline(BoxConvention.YXYX_PX)
    assert len(flat.boxes) == 0


spans = st.tuples(st.integers(0, 12), st.integers(0, 12))
sides = st.tuples(st.integers(-5, 25), st.integers(-5, 25), st.integers(0, 30), st.integers(0, 30))


def timed(span: tuple[int, int], boxes: dict[int, Any]) -> dict[str, Any]:
    """An evidence in the form of an answer and in that of the truth, which differ in the name of the boxes."""
    written = {f"00:{second:02d}": list(box) for second, box in boxes.items()}
    return {
        "evidence_start_time": f"00:{span[0]:02d}", "evidence_end_time": f"00:{span[1]:02d}",
        "bboxes_in_time_range": written, "bboxes_in_range": written,
    }  # fmt: skip


raw_evidence = st.builds(timed, spans, st.dictionaries(st.integers(0, 12), sides, max_size=8))
raw_instances = st.lists(st.lists(raw_evidence, max_size=3), max_size=4)


@pytest.mark.slow
@settings(max_examples=100)
@given(raw_instances, raw_instances, st.integers(1, 3), st.booleans(), st.booleans())
def test_agreement_with_plain_python(
    plain: ModuleType,
    predicted: list[list[dict[str, Any]]],
    true: list[list[dict[str, Any]]],
    eps_overlap: int,
    coverage_aware: bool,
    swapped: bool,
) -> None:
    answer = json.dumps({"instances": [{"evidences": one} for one in predicted], "answer_choice": "A"})
    entries = [
        {**evidence, "evidence_instance_id": f"i{index}"}
        for index, evidences in enumerate(true)
        for evidence in evidences
    ]
    row = {"evidence": json.dumps(entries), "answer": "A"}
    expected = plain.plain_score(row, answer, eps_overlap, 0.5, 0.1, coverage_aware, swapped)
    convention = BoxConvention.YXYX_PX if swapped else BoxConvention.XYXY_PX
    ours = ground_evidence(
        [instance.timeline(convention) for instance in read_evidence_answer(answer).instances],
        [instance.timeline() for instance in read_truth(entries)],
        GroundingSettings(eps_overlap=eps_overlap, coverage_aware=coverage_aware),
    )
    assert {
        "qa_temporal_r1_tau": ours.temporal_recall, "qa_temporal_m_tiou_tponly": ours.tiou_tp_only,
        "qa_temporal_m_tiou_pergt": ours.im_tiou, "qa_st_r1_tau_st": ours.st_recall,
        "qa_st_m_viou_tponly": ours.viou_tp_only, "qa_st_m_viou_pergt": ours.im_viou, "qa_accuracy": 1.0,
        "qa_faithful_answer_accuracy": float(ours.supported), "qa_spurious_answer_rate": float(not ours.supported),
        "tp": len(ours.pairs), "fp": ours.false_positives, "fn": ours.missed,
    } == pytest.approx(expected, abs=1e-12)  # fmt: skip


def test_an_unparsed_answer_has_the_readers_words_and_a_reason_and_no_other_has() -> None:
    question = EvidenceQuestion("1", "1", {}, "A", ())
    for response, detail, why in (
        ("", False, UnparsedReason.EMPTY),
        ("no JSON", False, UnparsedReason.NO_OPTION),
        (f'{{"answer_choice": "{"A" * MAX_ANSWER}"}}', True, UnparsedReason.NO_OPTION),
        ('{"answer_choice": "A"}', False, None),
    ):
        record = grade_evidence(question, response)
        assert (bool(record.detail), record.unparsed_reason) == (detail, why), response
