"""By which reader models decode clips, and ours in the table of qwen-vl-utils for those that cannot be used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torchvision
from clip_libraries import write_broken_torchcodec
from lmms_eval.models import get_model
from loguru import logger
from numbered_clips import number_of, write_numbered
from qwen_vl_utils import vision_process

from lmms_eval_tasks.host.model.readers import DECORD, HOST, OURS, QwenReader, find_reader, ready_reader, settle_reader
from lmms_eval_tasks.utils.core.errors import InputError

REASON = "RuntimeError: Could not load libtorchcodec"
SAMPLINGS: list[dict[str, Any]] = [
    {"nframes": 8}, {"fps": 2.0}, {"nframes": 4, "video_start": 0.5, "video_end": 2.0}, {"fps": 25.0, "max_frames": 12},
]  # fmt: skip


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The readers of qwen-vl-utils as they are before any run, and as if no user had chosen one."""
    names = ("decord", "torchvision", "torchcodec")
    readers = {name: getattr(vision_process, f"_read_video_{name}") for name in names}
    monkeypatch.setattr(vision_process, "VIDEO_READER_BACKENDS", readers)
    monkeypatch.setattr(vision_process, "FORCE_QWENVL_VIDEO_READER", None)
    monkeypatch.delattr(torchvision.io, "read_video", raising=False)
    vision_process.get_video_reader_backend.cache_clear()
    yield readers
    vision_process.get_video_reader_backend.cache_clear()


@pytest.fixture
def broken_torchcodec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(write_broken_torchcodec(tmp_path / "packages"))
    yield
    for name in ("torchcodec", "torchcodec.decoders"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_numbered(tmp_path_factory.mktemp("clips") / "clip.mp4", 40, (96, 64), options={"bf": "3"})


def fetch(clip: Path, **sampling: Any) -> tuple[Any, dict[str, Any], float]:
    """What qwen-vl-utils makes of a clip: frames, facts and the rate."""
    (video, facts), rate = vision_process.fetch_video(
        {"video": str(clip), **sampling}, return_video_sample_fps=True, return_video_metadata=True
    )
    return video.numpy(), {**facts, "frames_indices": list(facts["frames_indices"])}, rate


@pytest.mark.usefixtures("broken_torchcodec")
def test_a_reader_that_cannot_be_used_is_replaced(clip: Path, table: dict[str, Any]) -> None:
    with pytest.raises(AttributeError, match="read_video"):
        fetch(clip)
    assert settle_reader() == settle_reader() == QwenReader("pyav", "torchcodec", REASON)
    ours = [fetch(clip, **sampling) for sampling in SAMPLINGS]
    table["torchcodec"] = vision_process._read_video_decord
    theirs = [fetch(clip, **sampling) for sampling in SAMPLINGS]
    for (video, facts, rate), (frames, known, their_rate) in zip(ours, theirs, strict=True):
        assert np.array_equal(video, frames) and rate == their_rate
        assert facts == {**known, "video_backend": "pyav"}


def test_a_reader_that_can_be_used_stays(clip: Path, table: dict[str, Any]) -> None:
    assert settle_reader() == QwenReader("decord")
    assert fetch(clip)[1]["video_backend"] == "decord"
    assert table["decord"] is vision_process._read_video_decord


def test_a_clip_that_it_cannot_open_is_read_by_ours(tmp_path: Path) -> None:
    av1 = write_numbered(tmp_path / "av1.mp4", 12, (96, 64), codec="libaom-av1", options={"cpu-used": "8"})
    with pytest.raises(AttributeError, match="read_video"):
        fetch(av1, nframes=12)
    settle_reader()
    video, facts, _ = fetch(av1, nframes=12)
    assert facts["video_backend"] == "pyav"
    assert [number_of(picture) for picture in video.transpose(0, 2, 3, 1)] == list(range(12))


@pytest.mark.usefixtures("broken_torchcodec")
@pytest.mark.parametrize("chosen", ["decord", "pyav"])
def test_what_the_user_chose_stays(
    chosen: str, clip: Path, table: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vision_process, "FORCE_QWENVL_VIDEO_READER", chosen)
    before = dict(table)
    assert settle_reader() == QwenReader(chosen)
    assert fetch(clip)[1]["video_backend"] == chosen
    assert {name: table[name] for name in before} == before and table.keys() - before.keys() == {"pyav"}


@pytest.mark.usefixtures("broken_torchcodec")
@pytest.mark.parametrize(("chosen", "reason"), [("torchcodec", REASON), ("cv2", "there is no such reader")])
def test_a_choice_that_cannot_be_used_is_refused(
    chosen: str, reason: str, table: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vision_process, "FORCE_QWENVL_VIDEO_READER", chosen)
    message = f"FORCE_QWENVL_VIDEO_READER is '{chosen}', by which qwen-vl-utils cannot read clips here ({reason})."
    with pytest.raises(InputError) as refused:
        ready_reader(get_model("qwen2_5_vl"), {})
    assert str(refused.value).startswith(message) and "Remedy: unset FORCE_QWENVL_VIDEO_READER" in str(refused.value)
    assert table["torchcodec"] is vision_process._read_video_torchcodec


@pytest.mark.usefixtures("broken_torchcodec")
def test_a_run_says_what_was_replaced() -> None:
    said: list[str] = []
    place = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    try:
        name = ready_reader(get_model("qwen2_5_vl"), {})
    finally:
        logger.remove(place)
    assert name == "qwen-vl-utils: pyav in place of torchcodec"
    assert said[-1] == (
        f"qwen-vl-utils would read clips by torchcodec, which cannot be used here ({REASON}). They are read by PyAV "
        "instead, which gives the same frames."
    )


@pytest.mark.parametrize(
    "name", ["qwen2_5_vl", "qwen2_vl", "qwen3_vl", "llava_onevision1_5", "openai", "vllm", "litellm"]
)
def test_adapters_that_read_by_qwen_vl_utils(name: str) -> None:
    reader = find_reader(get_model(name), {})
    assert reader is not None and reader.name == "qwen-vl-utils: decord"


def test_adapters_that_read_otherwise() -> None:
    assert find_reader(get_model("internvl3"), {}) == DECORD
    assert find_reader(get_model("gemma3"), {}) == HOST
    assert find_reader(get_model("shared_prefix"), {}) == find_reader(get_model("sample_solver"), {}) == OURS
    assert find_reader(get_model("huggingface"), {}) is None
    assert find_reader(get_model("openai"), {"pass_video_url": "True"}) is None
    assert find_reader(object, {}) is None


class Heir:
    """Somebody's adapter, which answers by functions of its own."""

    def generate_until(self, requests: list[Any]) -> list[str]:
        return [self.answer(request) for request in requests]

    def answer(self, request: Any) -> str:
        return str(_frames_of(request))


def _frames_of(request: Any) -> Any:
    from lmms_eval.models.model_utils.load_video import load_video_decord

    return load_video_decord(request, 8)


def test_functions_of_an_adapters_own_package_are_followed() -> None:
    assert find_reader(Heir, {}) == DECORD


@pytest.mark.parametrize("reader", [OURS, DECORD, HOST])
def test_each_reader_decodes(reader: Any, clip: Path) -> None:
    assert reader.read(clip, 8) == (8, reader.name)
