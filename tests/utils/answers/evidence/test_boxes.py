"""Boxes: the official reading against its oracle, conversion to pixels, intersection over union."""

from __future__ import annotations

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import unit_oracles

from lmms_eval_tasks.utils.answers.evidence_boxes import (
    Box,
    BoxConvention,
    box_area,
    box_iou,
    has_area,
    is_finite,
    official_box,
    to_pixels,
)

NUMBERS = st.floats() | st.integers() | st.text(max_size=5) | st.booleans() | st.none()
SIDES = st.tuples(*[st.floats(-1e4, 1e4)] * 4).map(lambda b: (min(b[::2]), min(b[1::2]), max(b[::2]), max(b[1::2])))
BOXES = SIDES.filter(is_finite)
FRAME = (1920, 1080)


def test_boxes_as_the_official_code() -> None:
    for text, expected in unit_oracles()["parse_box"].items():
        value = [1, 2, math.nan, 4] if "nan" in text else ast.literal_eval(text)
        box = official_box(value)
        assert (None if box is None else ["nan" if math.isnan(x) else x for x in box]) == expected, text


@given(st.lists(NUMBERS, max_size=6) | st.text(max_size=30) | st.dictionaries(st.text(max_size=2), NUMBERS) | NUMBERS)
def test_no_box_raises(value: object) -> None:
    box = official_box(value)
    assert box is None or (len(box) == 4 and not box[2] <= box[0] and not box[3] <= box[1])


def test_huge_boxes() -> None:
    for value in ([10**400, 0, 1, 1], "[" + "1," * 1_000_000 + "]", "[1,2,3," + "9" * 5000 + "]"):
        box = official_box(value)
        assert box is None or box_area(box) == math.inf


@given(BOXES)
def test_text_and_list_are_the_same_box(box: tuple[float, ...]) -> None:
    assert official_box(list(box)) == official_box(str(list(box))) == box


@pytest.mark.parametrize(
    ("convention", "written", "pixels"),
    [
        ("xyxy_px", (1.5, 2.5, 3.5, 4.5), (1.5, 2.5, 3.5, 4.5)),
        ("yxyx_px", (1.9, 2.9, 3.9, 4.9), (2, 1, 4, 3)),
        ("xyxy_n1000", (100, 200, 300, 400), (192, 216, 576, 432)),
        ("yxyx_n1000", (200, 100, 400, 300), (192, 216, 576, 432)),
        ("xyxy_resized", (96, 54, 480, 270), (192, 108, 960, 540)),
    ],
)
def test_conversion(convention: str, written: Box, pixels: Box) -> None:
    assert to_pixels(written, BoxConvention(convention), FRAME, (960, 540)) == pixels
    # Halves are rounded to even, as in the official code.
    assert to_pixels((1.0, 3.0, 5.0, 7.0), BoxConvention.XYXY_N1000, (500, 500)) == (0, 2, 2, 4)


def test_a_size_that_is_needed_is_not_guessed_and_numbers_that_are_not_finite_have_no_pixels() -> None:
    unsized = [convention for convention in BoxConvention if convention.can_convert(None)]
    assert unsized == [BoxConvention.XYXY_PX, BoxConvention.YXYX_PX]
    assert not BoxConvention.XYXY_RESIZED.can_convert((640, 480))
    assert BoxConvention.XYXY_RESIZED.can_convert((640, 480), (320, 240))
    assert BoxConvention.YXYX_N1000.can_convert((640, 480))
    for convention in BoxConvention:
        if convention not in unsized:
            with pytest.raises(ValueError, match=f"Expected the size of the frame to convert {convention.value} boxes"):
                to_pixels((0, 0, 1, 1), convention)
        for odd in (math.nan, math.inf, -math.inf):
            if convention is not BoxConvention.XYXY_PX:
                assert to_pixels((1.0, 2.0, odd, 4.0), convention, FRAME, FRAME) is None


@given(BOXES, BOXES)
def test_iou_is_symmetric_and_bounded_and_of_a_box_with_itself_one(first: Box, second: Box) -> None:
    assert 0 <= box_iou(first, second) <= 1 + 1e-9
    assert box_iou(first, second) == pytest.approx(box_iou(second, first))
    assert box_area(first) <= 1e-9 or box_iou(first, first) == pytest.approx(1)


@given(st.tuples(*[st.floats()] * 4), BOXES)
def test_any_numbers_have_an_iou(box: Box, true: Box) -> None:
    if has_area(box):
        iou = box_iou(box, true)
        assert 0 <= iou <= 1 + 1e-9
        assert not any(map(math.isnan, box)) or iou == 0
