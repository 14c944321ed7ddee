"""The readers by which models decode clips, found in their code before weights are read, and qwen-vl-utils' in
particular.

qwen-vl-utils takes torchcodec where that is installed, even without the FFmpeg that torchcodec needs, else decord. A
clip that this reader cannot read goes to torchvision, which has had no reader of clips since 0.28: a run then ends
at its first clip. Our reader takes the place in its table of those that cannot be used.

Source: vision_process.py of qwen-vl-utils 0.0.14.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.model.identity import is_ours
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
_QWEN_CALLS = frozenset({"process_vision_info", "fetch_video"})
"""Functions of qwen-vl-utils, by the names that adapters have for them, also where it is not installed."""


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
    called = list(_called(kind))
    if any(name in _QWEN_CALLS or _package_of(value) == "qwen_vl_utils" for name, value in called):
        return settle_reader()
    if any(name == "read_video" and _package_of(value) == "lmms_eval" for name, value in called):
        return HOST
    if any("decord" in (name, _package_of(value)) or name == "load_video_decord" for name, value in called):
        return DECORD
    return None


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


def _called(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield names in the code by which a class answers, with what they stand for: of functions, not of values."""
    from lmms_eval.protocol import ChatMessages

    packages = {"lmms_eval", kind.__module__.partition(".")[0]}
    waiting, seen = [inspect.getattr_static(kind, "generate_until", None)], set()
    while waiting:
        function = waiting.pop()
        function = inspect.unwrap(getattr(function, "__func__", function))
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType) or code in seen:
            continue
        seen.add(code)
        for name in _names(code):
            value = function.__globals__.get(name)
            for holder in (kind, ChatMessages):
                value = inspect.getattr_static(holder, name, None) if value is None else value
            yield name, value
            if _package_of(value) in packages:
                waiting.append(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _package_of(value: Any) -> str:
    name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""
