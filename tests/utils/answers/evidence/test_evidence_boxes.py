"""Boxes: the official reading against its oracle, conventions, overlap, and the frames that Qwen2.5-VL is shown."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import unit_oracles

from lmms_eval_tasks.utils.answers.evidence import MIN_BOXES, ConventionDiagnosis, EvidenceQuestion, diagnose_convention
from lmms_eval_tasks.utils.answers.evidence_boxes import (
    FACTOR,
    MOST_FRAME_PIXELS,
    Box,
    BoxConvention,
    Evidence,
    EvidenceInstance,
    FrameSize,
    PixelLimits,
    box_area,
    box_iou,
    has_area,
    is_finite,
    official_box,
    qwen_limits,
    shown_frame,
    to_pixels,
)

SIDES = st.tuples(*[st.floats(-1e4, 1e4)] * 4).map(lambda b: (min(b[::2]), min(b[1::2]), max(b[::2]), max(b[1::2])))
BOXES = SIDES.filter(is_finite)
FRAME = (1920, 1080)


def test_boxes_as_the_official_code() -> None:
    for text, expected in unit_oracles()["parse_box"].items():
        value = [1, 2, math.nan, 4] if "nan" in text else ast.literal_eval(text)
        box = official_box(value)
        assert (None if box is None else ["nan" if math.isnan(x) else x for x in box]) == expected, text


@pytest.mark.parametrize(
    ("box", "finite", "area"),
    [
        ((0, 0, 2, 3), True, 6.0),
        ((-1e149, -1e149, 1e149, 1e149), True, pytest.approx(4e298)),
        ((-1e150, 0, 1, 1), False, pytest.approx(1e150)),
        ((0, -1e150, 1, 1), False, pytest.approx(1e150)),
        ((0, 0, 1e150, 1), False, pytest.approx(1e150)),
        ((0, 0, 1, 1e150), False, pytest.approx(1e150)),
        ((1, 0, 1, 1), False, 0.0),
        ((0, 1, 1, 1), False, 0.0),
        ((2, 0, 1, 1), False, 0.0),
        ((math.nan, 0, 1, 1), False, 0.0),
        ((0, 0, 1, math.nan), False, 0.0),
    ],
)
def test_a_box_of_finite_size_has_corners_in_order_and_none_that_is_huge(box: Box, finite: bool, area: object) -> None:
    assert (is_finite(box), box_area(box)) == (finite, area)


@given(BOXES)
def test_text_and_list_are_the_same_box_and_a_huge_one_has_no_finite_area(box: tuple[float, ...]) -> None:
    assert official_box(list(box)) == official_box(str(list(box))) == box
    for value in ([10**400, 0, 1, 1], "[" + "1," * 1_000 + "]", "[1,2,3," + "9" * 5000 + "]"):
        huge = official_box(value)
        assert huge is None or box_area(huge) == math.inf


def test_conversion() -> None:
    for convention, written, pixels in (
        ("xyxy_px", (1.5, 2.5, 3.5, 4.5), (1.5, 2.5, 3.5, 4.5)), ("yxyx_px", (1.9, 2.9, 3.9, 4.9), (2, 1, 4, 3)),
        ("xyxy_n1000", (100, 200, 300, 400), (192, 216, 576, 432)),
        ("yxyx_n1000", (200, 100, 400, 300), (192, 216, 576, 432)),
        ("xyxy_resized", (96, 54, 480, 270), (192, 108, 960, 540)),
    ):  # fmt: skip
        assert to_pixels(written, BoxConvention(convention), FRAME, (960, 540)) == pixels
    # Halves are rounded to even, as in the official code.
    assert to_pixels((1.0, 3.0, 5.0, 7.0), BoxConvention.XYXY_N1000, (500, 500)) == (0, 2, 2, 4)


def test_a_size_that_is_needed_is_not_guessed_and_numbers_that_are_not_finite_have_no_pixels() -> None:
    unsized = [convention for convention in BoxConvention if convention.can_convert(None)]
    assert unsized == [BoxConvention.XYXY_PX, BoxConvention.YXYX_PX]
    sized = [convention for convention in BoxConvention if convention.can_convert((640, 480))]
    assert sized == [*unsized, BoxConvention.XYXY_N1000, BoxConvention.YXYX_N1000]
    assert BoxConvention.XYXY_RESIZED.can_convert((640, 480), (320, 240))
    for convention in BoxConvention:
        if convention not in unsized:
            with pytest.raises(ValueError, match=f"Expected the size of the frame to convert {convention.value} boxes"):
                to_pixels((0, 0, 1, 1), convention)
        if convention is not BoxConvention.XYXY_PX:
            for odd in (math.nan, math.inf, -math.inf):
                assert to_pixels((1.0, 2.0, odd, 4.0), convention, FRAME, FRAME) is None


@given(BOXES, BOXES, st.tuples(*[st.floats()] * 4))
def test_iou_is_symmetric_and_bounded_and_of_a_box_with_itself_one(first: Box, second: Box, odd: Box) -> None:
    assert 0 <= box_iou(first, second) <= 1 + 1e-9
    assert box_iou(first, second) == pytest.approx(box_iou(second, first))
    assert box_area(first) <= 1e-9 or box_iou(first, first) == pytest.approx(1)
    if has_area(odd):
        iou = box_iou(odd, first)
        assert 0 <= iou <= 1 + 1e-9 and (iou == 0 or not any(map(math.isnan, odd)))


SEEN = (640, 360)
TRUE: Box = (192, 540, 576, 1080)
WRITTEN: dict[BoxConvention, Box] = {
    BoxConvention.XYXY_PX: TRUE,
    BoxConvention.YXYX_PX: (540, 192, 1080, 576),
    BoxConvention.XYXY_N1000: (100, 500, 300, 1000),
    BoxConvention.YXYX_N1000: (500, 100, 1000, 300),
    BoxConvention.XYXY_RESIZED: (64, 180, 192, 360),
}


def diagnose(
    boxes: Sequence[Box], declared: BoxConvention, frame: FrameSize | None = FRAME, seen: FrameSize | None = SEEN
) -> ConventionDiagnosis:
    """The diagnosis of boxes that a model wrote, one a second."""

    def instances(boxes: Sequence[Box]) -> tuple[EvidenceInstance, ...]:
        return (EvidenceInstance("p", (Evidence(0, len(boxes), tuple(range(len(boxes))), tuple(boxes)),)),)

    # Something else fills the frame where nothing is answered, so that the true boxes reach to its end.
    true = (*instances([TRUE] * MIN_BOXES), EvidenceInstance("r", (Evidence(90, 90, (90,), ((0, 0, *FRAME),)),)))
    question = EvidenceQuestion("q", "clip", {}, "A", true, frame=frame, seen=seen)
    return diagnose_convention([(question, instances(boxes))], declared)


@pytest.mark.parametrize("declared", BoxConvention)
def test_the_convention_in_which_boxes_are_written_is_found(declared: BoxConvention) -> None:
    for written in BoxConvention:
        diagnosis = diagnose([WRITTEN[written]] * MIN_BOXES, declared)
        assert diagnosis.suspected is (None if written is declared else written)
        assert diagnosis.mean_iou[written] == 1
        assert written is not declared or not diagnosis.suspicious
        assert not diagnosis.frames_assumed
        if BoxConvention.XYXY_RESIZED in (written, declared):
            continue
        # Clips of unknown size are taken to end with their true boxes.
        diagnosis = diagnose([WRITTEN[written]] * MIN_BOXES, declared, frame=None, seen=None)
        assert diagnosis.suspected is (None if written is declared else written)
        assert diagnosis.frames_assumed and diagnosis.outside_share is None
        assert diagnosis.mean_iou[BoxConvention.XYXY_RESIZED] is None


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.floats()] * 4), max_size=30), st.sampled_from(BoxConvention))
def test_boxes_outside_the_frame_are_suspicious_and_few_or_none_are_no_evidence(
    any_boxes: list[Box], declared: BoxConvention
) -> None:
    diagnose(any_boxes, declared)
    diagnosis = diagnose([TRUE] * MIN_BOXES, BoxConvention.XYXY_N1000, seen=None)
    assert diagnosis.outside_share == 1 and diagnosis.mostly_outside and diagnosis.suspicious
    few = [WRITTEN[BoxConvention.YXYX_PX]] * (MIN_BOXES - 1)
    assert not diagnose(few, BoxConvention.XYXY_PX, seen=None).suspicious
    none = diagnose_convention([], BoxConvention.XYXY_PX)
    assert not none.suspicious and set(none.mean_iou.values()) == {None}


ADAPTER = {"min_pixels": 256 * 28 * 28, "max_pixels": 1605632, "max_num_frames": 32, "fps": None}


@given(width=st.integers(64, 4096), height=st.integers(64, 4096))
def test_limits_are_those_of_the_adapter_and_its_video_reader(width: int, height: int) -> None:
    for changes, limits in (
        ({}, PixelLimits(200704, MOST_FRAME_PIXELS)), ({"min_pixels": 1_000_000}, PixelLimits(1_000_000, 1_050_000)),
        ({"min_pixels": 3136, "max_pixels": 25088, "fps": 1}, PixelLimits(3136, 25088)),
        ({"min_pixels": None}, None), ({"max_num_frames": 301}, None), ({"fps": 8.0}, None),
        ({"max_pixels": "big"}, None),
    ):  # fmt: skip
        assert qwen_limits(SimpleNamespace(**{**ADAPTER, **changes})) == limits
    assert qwen_limits(None) is None and shown_frame((10_000, 20), PixelLimits(3136, 602112)) is None
    shown = shown_frame((width, height), PixelLimits(3136, 602112))
    assert shown is not None and shown[0] % FACTOR == shown[1] % FACTOR == 0
    assert 3136 <= shown[0] * shown[1] <= 602112


@pytest.mark.slow
def test_the_real_reader_shows_that_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = pytest.importorskip("qwen_vl_utils.vision_process")
    torch = pytest.importorskip("torch")
    limits = qwen_limits(SimpleNamespace(**ADAPTER))
    assert limits is not None
    monkeypatch.setattr(reader, "get_video_reader_backend", lambda: "of this test")
    for width, height in ((1920, 1080), (720, 1280), (480, 854), (3840, 2160), (64, 64)):
        video = torch.zeros(4, 3, height, width, dtype=torch.uint8)
        monkeypatch.setitem(reader.VIDEO_READER_BACKENDS, "of this test", lambda _, video=video: (video, {}, 2.0))
        asked = {name: ADAPTER[name] for name in ("min_pixels", "max_pixels")}
        shown = reader.fetch_video({"video": "x.mp4", **asked}).shape
        assert shown_frame((width, height), limits) == (shown[-1], shown[-2])
