"""The frames that Qwen2.5-VL is shown, against the function that its adapters call."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.answers.evidence_boxes import (
    FACTOR,
    MOST_FRAME_PIXELS,
    PixelLimits,
    qwen_limits,
    shown_frame,
)

ADAPTER = {"min_pixels": 256 * 28 * 28, "max_pixels": 1605632, "max_num_frames": 32, "fps": None}


def test_limits_are_those_of_the_adapter_and_its_video_reader() -> None:
    assert qwen_limits(SimpleNamespace(**ADAPTER)) == PixelLimits(200704, MOST_FRAME_PIXELS)
    small = SimpleNamespace(**{**ADAPTER, "min_pixels": 3136, "max_pixels": 25088, "fps": 1})
    assert qwen_limits(small) == PixelLimits(3136, 25088)
    assert qwen_limits(SimpleNamespace(**{**ADAPTER, "min_pixels": 1_000_000})) == PixelLimits(1_000_000, 1_050_000)


@pytest.mark.parametrize(
    "changes", [{"min_pixels": None}, {"max_num_frames": 301}, {"fps": 8.0}, {"max_pixels": "big"}]
)
def test_limits_that_cannot_be_known(changes: dict[str, Any]) -> None:
    assert qwen_limits(SimpleNamespace(**{**ADAPTER, **changes})) is None
    assert qwen_limits(None) is None


def test_a_ribbon_is_shown_to_nobody() -> None:
    assert shown_frame((10_000, 20), PixelLimits(3136, 602112)) is None


@given(width=st.integers(64, 4096), height=st.integers(64, 4096))
def test_frames_are_multiples_within_the_limits(width: int, height: int) -> None:
    shown = shown_frame((width, height), PixelLimits(3136, 602112))
    assert shown is not None
    assert shown[0] % FACTOR == shown[1] % FACTOR == 0
    assert 3136 <= shown[0] * shown[1] <= 602112


@pytest.mark.parametrize("frame", [(1920, 1080), (720, 1280), (480, 854), (3840, 2160), (64, 64)])
def test_the_real_reader_shows_that_frame(frame: tuple[int, int]) -> None:
    try:
        reader = importlib.import_module("qwen_vl_utils.vision_process")
        torch = importlib.import_module("torch")
    except ImportError:
        pytest.skip("qwen-vl-utils is not installed")
    settings = {name: ADAPTER[name] for name in ("min_pixels", "max_pixels")}
    reader_name = "_shown_frames_test"
    video = torch.zeros(4, 3, frame[1], frame[0], dtype=torch.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(reader.VIDEO_READER_BACKENDS, reader_name, lambda _: (video, {}, 2.0))
        patch.setattr(reader, "get_video_reader_backend", lambda: reader_name)
        height, width = reader.fetch_video({"video": "x.mp4", **settings}).shape[-2:]
    limits = qwen_limits(SimpleNamespace(**ADAPTER))
    assert limits is not None and shown_frame(frame, limits) == (width, height)
