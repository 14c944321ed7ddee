"""The frames that Qwen2.5-VL is shown, against the function that its adapters call."""

from __future__ import annotations

from types import SimpleNamespace

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


def test_what_cannot_be_known_or_shown_is_nothing() -> None:
    for changes in ({"min_pixels": None}, {"max_num_frames": 301}, {"fps": 8.0}, {"max_pixels": "big"}):
        assert qwen_limits(SimpleNamespace(**{**ADAPTER, **changes})) is None
    assert qwen_limits(None) is None
    assert shown_frame((10_000, 20), PixelLimits(3136, 602112)) is None


@given(width=st.integers(64, 4096), height=st.integers(64, 4096))
def test_frames_are_multiples_within_the_limits(width: int, height: int) -> None:
    shown = shown_frame((width, height), PixelLimits(3136, 602112))
    assert shown is not None
    assert shown[0] % FACTOR == shown[1] % FACTOR == 0
    assert 3136 <= shown[0] * shown[1] <= 602112


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
