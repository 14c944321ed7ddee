"""The detector of boxes in another convention than the declared one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.api.evidence import EvidenceQuestion
from lmms_eval_tasks.cast_bench.hooks import evidence_question
from lmms_eval_tasks.utils.answers.evidence_boxes import Box, BoxConvention, Evidence, EvidenceInstance, FrameSize
from lmms_eval_tasks.utils.answers.evidence_settings import MIN_BOXES, ConventionDiagnosis, diagnose_convention

FRAME = (1920, 1080)
SEEN = (640, 360)
TRUE: Box = (192, 540, 576, 1080)
WRITTEN: dict[BoxConvention, Box] = {
    BoxConvention.XYXY_PX: TRUE,
    BoxConvention.YXYX_PX: (540, 192, 1080, 576),
    BoxConvention.XYXY_N1000: (100, 500, 300, 1000),
    BoxConvention.YXYX_N1000: (500, 100, 1000, 300),
    BoxConvention.XYXY_RESIZED: (64, 180, 192, 360),
}


def things(box: Box, seconds: int = MIN_BOXES) -> list[EvidenceInstance]:
    return [EvidenceInstance("p", (Evidence(0, seconds - 1, tuple(range(seconds)), (box,) * seconds),))]


def question(frame: FrameSize | None = FRAME, seen: FrameSize | None = SEEN) -> EvidenceQuestion:
    return evidence_question("q", "clip", "other", "other", "A", tuple(things(TRUE)), frame=frame, seen=seen)


def diagnose(
    written: BoxConvention, declared: BoxConvention, frame: FrameSize | None = FRAME, seen: FrameSize | None = SEEN
) -> ConventionDiagnosis:
    return diagnose_convention([(question(frame, seen), things(WRITTEN[written]))], declared)


@pytest.mark.parametrize("declared", BoxConvention)
def test_the_convention_in_which_boxes_are_written_is_found(declared: BoxConvention) -> None:
    for written in BoxConvention:
        diagnosis = diagnose(written, declared)
        assert diagnosis.suspected is (None if written is declared else written)
        assert diagnosis.mean_iou[written] == 1
        assert written is not declared or not diagnosis.suspicious
        assert not diagnosis.frames_assumed
        if BoxConvention.XYXY_RESIZED in (written, declared):
            continue
        # Clips of unknown size are taken for the official one.
        diagnosis = diagnose(written, declared, frame=None, seen=None)
        assert diagnosis.suspected is (None if written is declared else written)
        assert diagnosis.frames_assumed and diagnosis.outside_share is None
        assert diagnosis.mean_iou[BoxConvention.XYXY_RESIZED] is None


def test_boxes_outside_the_frame_are_suspicious_and_few_or_none_are_no_evidence() -> None:
    diagnosis = diagnose(BoxConvention.XYXY_PX, BoxConvention.XYXY_N1000, seen=None)
    assert diagnosis.outside_share == 1
    assert diagnosis.mostly_outside and diagnosis.suspicious
    few = [(question(seen=None), things(WRITTEN[BoxConvention.YXYX_PX], MIN_BOXES - 1))]
    assert not diagnose_convention(few, BoxConvention.XYXY_PX).suspicious
    none = diagnose_convention([], BoxConvention.XYXY_PX)
    assert not none.suspicious and set(none.mean_iou.values()) == {None}


@given(st.lists(st.tuples(*[st.floats()] * 4), max_size=30), st.sampled_from(BoxConvention))
def test_any_boxes(boxes: list[Box], declared: BoxConvention) -> None:
    evidence = Evidence(0, 29, tuple(range(len(boxes))), tuple(boxes))
    diagnose_convention([(question(), [EvidenceInstance("p", (evidence,))])], declared)
