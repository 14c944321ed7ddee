"""By which reader models decode clips, ours in the table of qwen-vl-utils for those that cannot be used, and what
`check --model` says of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torchvision
from clip_libraries import write_broken_torchcodec
from commands import call
from lmms_eval.models import get_model
from numbered_clips import number_of, write_numbered
from qwen_vl_utils import vision_process
from refusals import refusal

from lmms_eval_tasks.host.model import readers
from lmms_eval_tasks.host.model.readers import (
    BY_DECORD,
    BY_HOST,
    BY_QWEN,
    DECORD,
    HOST,
    OURS,
    ClipReader,
    find_reader,
    ready_reader,
    settle_reader,
)
from lmms_eval_tasks.preview.inputs import check_reader
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
def broken_torchcodec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A torchcodec that reads no clip, before any other; the folder to import it from."""
    folder = str(write_broken_torchcodec(tmp_path / "packages"))
    monkeypatch.syspath_prepend(folder)
    yield folder
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


@pytest.mark.slow
def test_a_reader_that_cannot_be_used_is_replaced_and_a_run_says_so(
    broken_torchcodec: str, clip: Path, table: dict[str, Any], log: list[str]
) -> None:
    with pytest.raises(AttributeError, match="read_video"):
        fetch(clip)
    assert settle_reader() == settle_reader() and REASON in (settle_reader().warning or "")
    ours = [fetch(clip, **sampling) for sampling in SAMPLINGS]
    theirs_by_decord = {**table, "torchcodec": vision_process._read_video_decord}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vision_process, "VIDEO_READER_BACKENDS", theirs_by_decord)
        theirs = [fetch(clip, **sampling) for sampling in SAMPLINGS]
    for (video, facts, rate), (frames, known, their_rate) in zip(ours, theirs, strict=True):
        assert np.array_equal(video, frames) and rate == their_rate
        assert facts == {**known, "video_backend": "pyav"}
    assert ready_reader(get_model("qwen2_5_vl"), {}) == "qwen-vl-utils: pyav in place of torchcodec"
    assert log[-1] == (
        f"qwen-vl-utils would read clips by torchcodec, which cannot be used here ({REASON}). They are read by PyAV "
        "instead, which gives the same frames."
    )


def test_a_class_whose_reader_cannot_be_found_is_named_and_has_none(
    monkeypatch: pytest.MonkeyPatch, log: list[str]
) -> None:
    def find(kind: type, arguments: dict[str, str]) -> ClipReader:
        if "refused" in arguments:
            raise InputError("no clip can be read")
        raise LookupError("no table")

    monkeypatch.setattr(readers, "find_reader", find)
    kind = type("Theirs", (), {})
    assert ready_reader(kind, {}) is None
    assert log == ["lmms_eval_tasks does not know how Theirs reads clips (LookupError: no table)."]
    assert refusal(ready_reader, kind, {"refused": ""}) == "no clip can be read"
    for warning, said in (("", 1), ("it is slow", 2)):
        found = ClipReader("by hand", lambda *_: (0, ""), warning)
        monkeypatch.setattr(readers, "find_reader", lambda *_, found=found: found)
        assert ready_reader(kind, {}) == "by hand" and len(log) == said
    assert log[-1] == "it is slow"


def test_a_reader_that_can_be_used_stays_and_what_it_cannot_open_is_read_by_ours(
    clip: Path, table: dict[str, Any], tmp_path: Path
) -> None:
    av1 = write_numbered(tmp_path / "av1.mp4", 12, (96, 64), codec="libaom-av1", options={"cpu-used": "8"})
    with pytest.raises(AttributeError, match="read_video"):
        fetch(av1, nframes=12)
    assert settle_reader().name == "qwen-vl-utils: decord"
    assert fetch(clip)[1]["video_backend"] == "decord" and table["decord"] is vision_process._read_video_decord
    video, facts, _ = fetch(av1, nframes=12)
    assert facts["video_backend"] == "pyav"
    assert [number_of(picture) for picture in video.transpose(0, 2, 3, 1)] == list(range(12))


def test_what_the_user_chose_stays_or_is_refused(
    broken_torchcodec: str, clip: Path, table: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for chosen in ("decord", "pyav"):
        monkeypatch.setattr(vision_process, "FORCE_QWENVL_VIDEO_READER", chosen)
        vision_process.get_video_reader_backend.cache_clear()
        before = {name: table[name] for name in table if name != "pyav"}
        assert settle_reader().name == f"qwen-vl-utils: {chosen}"
        assert fetch(clip)[1]["video_backend"] == chosen
        assert table == {**before, "pyav": table["pyav"]}
    for chosen, reason in (("torchcodec", REASON), ("cv2", "there is no such reader")):
        monkeypatch.setattr(vision_process, "FORCE_QWENVL_VIDEO_READER", chosen)
        vision_process.get_video_reader_backend.cache_clear()
        message = refusal(ready_reader, get_model("qwen2_5_vl"), {})
        expected = f"FORCE_QWENVL_VIDEO_READER is '{chosen}', by which qwen-vl-utils cannot read clips here ({reason})."
        assert message.startswith(expected) and "Remedy: unset FORCE_QWENVL_VIDEO_READER" in message
        assert table["torchcodec"] is vision_process._read_video_torchcodec


@pytest.mark.slow
def test_by_what_adapters_read(clip: Path) -> None:
    for name in ("qwen2_5_vl", "qwen2_vl", "qwen3_vl", "llava_onevision1_5", "openai", "vllm", "litellm"):
        reader = find_reader(get_model(name), {})
        assert reader is not None and reader.name == "qwen-vl-utils: decord", name
    adapter = get_model("internvl3")
    # Somebody's own adapters: one answers as that of lmms-eval from which it is made, the other in a way of its own.
    heir, other = type("Heir", (adapter,), {}), type("Other", (adapter,), {"generate_until": None, "__module__": "own"})
    assert find_reader(adapter, {}) == find_reader(heir, {}) == DECORD and find_reader(other, {}) is None
    assert find_reader(get_model("gemma3"), {}) == HOST
    assert find_reader(get_model("shared_prefix"), {}) == find_reader(get_model("sample_solver"), {}) == OURS
    assert find_reader(get_model("huggingface"), {}) is None
    assert find_reader(get_model("openai"), {"pass_video_url": "True"}) is None
    assert find_reader(object, {}) is None
    for reader in (OURS, DECORD, HOST):
        assert reader.read(clip, 8) == (8, reader.name)


def test_readers_of_another_lmms_eval_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmms_eval_tasks.host.model.readers.installed_version", lambda package: "0.8.0")
    assert find_reader(get_model("internvl3"), {}) is find_reader(get_model("qwen2_5_vl"), {}) is None
    assert find_reader(get_model("shared_prefix"), {}) == OURS


@pytest.mark.parametrize(
    "adapters, called",
    [
        (BY_QWEN, r"process_vision_info|fetch_video|to_openai_messages"),
        (BY_HOST, r"\bread_video\("),
        (BY_DECORD, r"VideoReader|load_video|import decord"),
    ],
)
def test_listed_adapters_call_their_reader(adapters: frozenset[str], called: str) -> None:
    folder = Path(str(metadata.distribution("lmms_eval").locate_file("lmms_eval"))) / "models"
    sources = {name: (folder / f"{name.replace('.', '/')}.py").read_text("utf-8") for name in adapters}
    assert [name for name, source in sources.items() if not re.search(called, source)] == []


@pytest.mark.slow
def test_a_clip_is_read_as_the_model_will_read_it(
    home: Path, broken_torchcodec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    words = ["check", "--model", "qwen2_5_vl", "--model_args", "pretrained=none/such,max_num_frames=6"]
    monkeypatch.setattr(vision_process, "FORCE_QWENVL_VIDEO_READER", "torchcodec")
    vision_process.get_video_reader_backend.cache_clear()
    refused = call(*words)
    assert refused.status == 1 and "reads clips by" not in refused.out
    assert "FORCE_QWENVL_VIDEO_READER is 'torchcodec', by which qwen-vl-utils cannot read clips here" in refused.err
    monkeypatch.setattr(vision_process, "FORCE_QWENVL_VIDEO_READER", None)
    vision_process.get_video_reader_backend.cache_clear()
    out = " ".join(call(*words).out.split())
    assert "The model qwen2_5_vl reads clips by qwen-vl-utils: pyav in place of torchcodec." in out
    assert "6 of 16 frames of a black clip.mp4 decoded by pyav in " in out
    assert f"torchcodec, which cannot be used here ({REASON})" in out
    assert "known hazard: clip_reader_replaced" in out and "Nothing here would stop a run." not in out


@pytest.mark.slow
def test_models_that_cannot_be_tried_and_our_own(world: Path) -> None:
    unknown = refusal(check_reader, "qwen2_5_v", "", [])
    assert "Expected --model to be a model of lmms-eval, but got 'qwen2_5_v'" in unknown
    absent = refusal(check_reader, "sglang", "", [])
    assert "The model sglang cannot be imported (ModuleNotFoundError: No module named" in absent
    assert check_reader("replay", "", []).result == "it looks at no clip."
    assert check_reader("huggingface", "", []).reader is None
    checked = check_reader("shared_prefix", "max_num_frames=4", ["causalvqa"])
    assert checked.reader == "PyAV" and checked.result.startswith("4 of ") and " decoded by PyAV in " in checked.result
    assert "black clip" not in checked.result, "it is one that is prepared"
