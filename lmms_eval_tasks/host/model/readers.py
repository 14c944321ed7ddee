"""The readers by which models decode clips, known before weights are read, and qwen-vl-utils' in particular.

qwen-vl-utils takes torchcodec where that is installed, even without the FFmpeg that torchcodec needs, else decord. A
clip that this reader cannot read goes to torchvision, which has had no reader of clips since 0.28: a run then ends
at its first clip. Our reader takes the place in its table of those that cannot be used.

Source: vision_process.py of qwen-vl-utils 0.0.14.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.model.identity import installed_version, is_ours
from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import first_line
from lmms_eval_tasks.utils.data.clips import PyavFrames, write_placeholder

PYAV = "pyav"
"""Our reader's own name in the table."""
FALLBACK = "torchvision"
"""What qwen-vl-utils reads by where another reader fails."""
CHOICE = "FORCE_QWENVL_VIDEO_READER"
"""The variable of the environment by which a user chooses a reader."""
OPENED = "opened"
"""Where a video of a message has a clip that is open already, a `PyavFrames`; it is read by that."""


@dataclass(frozen=True)
class StandIn:
    """Our reader, in the table of qwen-vl-utils."""

    reason: str | None = None

    def __call__(self, element: Mapping[str, Any]) -> tuple[Any, dict[str, Any], float]:
        """Return frames, (T, 3, H, W) RGB, facts about them, and their rate; the same frames as by decord."""
        import torch
        from qwen_vl_utils import vision_process

        reader = element.get(OPENED) or PyavFrames(Path(element["video"].removeprefix("file://")))
        first, last, count = vision_process.calculate_video_frame_range(element, reader.count, reader.fps)
        number = vision_process.smart_nframes(element, total_frames=count, video_fps=reader.fps)
        positions: list[int] = torch.linspace(first, last, number).round().long().tolist()
        video = torch.from_numpy(reader.read(positions)).permute(0, 3, 1, 2)
        facts = {
            "fps": reader.fps,
            "frames_indices": positions,
            "total_num_frames": count,
            "video_backend": PYAV,
        }
        return video, facts, number / count * reader.fps


@dataclass(frozen=True)
class ReadOpened:
    """In the table of qwen-vl-utils: reads a clip that is open already, and leaves all others to another reader."""

    other: Any

    def __call__(self, element: Mapping[str, Any]) -> Any:
        return (StandIn() if OPENED in element else self.other)(element)


def read_opened() -> None:
    """Have qwen-vl-utils read by `PyavFrames` what a message has as `OPENED`, and everything else as before."""
    from qwen_vl_utils import vision_process

    readers = vision_process.VIDEO_READER_BACKENDS
    readers |= {name: ReadOpened(read) for name, read in readers.items() if not isinstance(read, (ReadOpened, StandIn))}


@dataclass(frozen=True)
class ClipReader:
    name: str
    read: Callable[[Path, int], tuple[int, str]]
    warning: str | None = None


def settle_reader() -> ClipReader:
    """Find by which reader qwen-vl-utils decodes clips, with ours in its table for those that cannot be used."""
    from qwen_vl_utils import vision_process

    readers = vision_process.VIDEO_READER_BACKENDS
    readers.setdefault(PYAV, StandIn())
    name, chosen = vision_process.get_video_reader_backend(), vision_process.FORCE_QWENVL_VIDEO_READER is not None
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder, "clip.mp4")
        write_placeholder(clip)
        reasons = {reader: _find_fault(readers, reader, clip) for reader in (name, FALLBACK)}
    if not chosen:
        readers |= {reader: StandIn(reason) for reader, reason in reasons.items() if reason}
    elif reasons[name] and reasons[FALLBACK]:
        raise InputError(
            f"{CHOICE} is {name!r}, by which qwen-vl-utils cannot read clips here ({reasons[name]}).\n"
            f"Remedy: unset {CHOICE}, and clips that no reader of qwen-vl-utils can read are read by PyAV; or choose "
            f"another: {', '.join(reader for reader in readers if not reasons.get(reader))}."
        )
    elif reasons[name]:
        name = FALLBACK
    reader = readers.get(name)
    if not isinstance(reader, StandIn) or not reader.reason:
        return ClipReader(f"qwen-vl-utils: {name}", _by_qwen)
    warning = (
        f"qwen-vl-utils would read clips by {name}, which cannot be used here ({reader.reason}). They are read by PyAV "
        "instead, which gives the same frames."
    )
    return ClipReader(f"qwen-vl-utils: {PYAV} in place of {name}", _by_qwen, warning)


def _find_fault(readers: Mapping[str, Any], name: str, clip: Path) -> str | None:
    if name not in readers:
        return "there is no such reader"
    try:
        readers[name]({"video": str(clip), "nframes": 2})
    except Exception as error:  # whatever a library raises that is installed, but not whole
        return f"{type(error).__name__}: {first_line(error).partition('. ')[0].rstrip('.')}"
    return None


BY_URL = "pass_video_url"
"""The argument by which adapters of lmms-eval hand clips to a server, which decodes them."""
VERSION, ADAPTERS = "0.7.3", "lmms_eval.models."
"""The version of lmms-eval whose adapters are listed, and where they are."""
BY_QWEN = frozenset({
    "chat.aero_realtime_vllm", "chat.async_openai", "chat.llava_onevision1_5", "chat.llava_onevision2", "chat.openai",
    "chat.qwen2_5_vl", "chat.qwen3_vl", "chat.thyme", "chat.vllm", "chat.vllm_generate", "simple.llava_onevision1_5",
    "simple.qwen2_5_vl", "simple.qwen2_vl", "simple.qwen3_vl", "simple.qwen_image_edit", "simple.video_salmonn_2",
})  # fmt: skip
"""Modules of adapters that answer with clips read by qwen-vl-utils, called by them or by lmms-eval's messages."""
BY_HOST = frozenset({
    "simple.auroracap", "simple.gemma3", "simple.llama_vid", "simple.llava_onevision", "simple.longva", "simple.oryx",
    "simple.video_llava",
})  # fmt: skip
BY_DECORD = frozenset({
    "chat.phi4_multimodal", "simple.aria", "simple.batch_gpt4", "simple.cambrians", "simple.cambrians_vsr",
    "simple.egogpt", "simple.gpt4v", "simple.idefics2", "simple.internvideo2", "simple.internvideo2_5",
    "simple.internvl2", "simple.internvl3", "simple.llama4_scout", "simple.llama_vision", "simple.llava_hf",
    "simple.minicpm_o", "simple.ola", "simple.openai", "simple.phi4_multimodal", "simple.reka", "simple.srt_api",
    "simple.videochat2", "simple.videollama3", "simple.vita", "simple.vllm",
})  # fmt: skip


def _by_pyav(path: Path, frames: int) -> tuple[int, str]:
    reader = PyavFrames(path)
    return len(reader.read([number * reader.count // frames for number in range(frames)])), OURS.name


def _by_decord(path: Path, frames: int) -> tuple[int, str]:
    from lmms_eval.models.model_utils.load_video import load_video_decord

    return len(load_video_decord(str(path), frames)), DECORD.name


def _by_host(path: Path, frames: int) -> tuple[int, str]:
    from lmms_eval.models.model_utils.load_video import read_video

    return len(read_video(str(path), num_frm=frames)), HOST.name


def _by_qwen(path: Path, frames: int) -> tuple[int, str]:
    from qwen_vl_utils import fetch_video

    video, facts = fetch_video({"video": str(path), "nframes": frames}, return_video_metadata=True)
    return len(video), facts["video_backend"]


OURS = ClipReader("PyAV", _by_pyav)
DECORD = ClipReader("decord", _by_decord)
HOST = ClipReader("read_video of lmms-eval", _by_host)


def find_reader(kind: type, arguments: Mapping[str, str]) -> ClipReader | None:
    """Return the reader by which a class of models decodes clips; None if unknown, or if a server decodes them."""
    if is_ours(kind):
        return OURS
    if arguments.get(BY_URL, "").lower() == "true":
        return None
    # Adapters inherit from one another; the one that answers is that which reads.
    answering = next((base for base in kind.__mro__ if "generate_until" in vars(base)), kind)
    adapter = answering.__module__.removeprefix(ADAPTERS)
    if adapter == answering.__module__ or installed_version("lmms-eval") != VERSION:
        return None
    if adapter in BY_QWEN:
        return settle_reader()
    if adapter in BY_HOST:
        return HOST
    return DECORD if adapter in BY_DECORD else None


def ready_reader(kind: type, arguments: Mapping[str, str]) -> str | None:
    """Return the name of the reader of a run's model for its card; None where it is not known."""
    reader, problem = None, None
    try:
        reader = find_reader(kind, arguments)
    except InputError as error:
        problem = str(error)
    except Exception as error:  # whatever somebody else's class raises, or another qwen-vl-utils
        logger.warning(
            "lmms_eval_tasks does not know how {} reads clips ({}: {}).", kind.__name__, type(error).__name__, error
        )
    stop_if_any(problem)
    if reader and reader.warning:
        logger.warning("{}", reader.warning)
    return reader.name if reader else None
