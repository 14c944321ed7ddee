"""By which reader a model decodes clips: found in the code by which it answers, before any weights are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.models import is_ours
from lmms_eval_tasks.host.qwen_reader import QwenReader, settle_reader
from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.frames import PyavFrames

BY_URL = "pass_video_url"
"""The argument by which adapters of lmms-eval hand clips to a server, which decodes them."""
_QWEN_CALLS = frozenset({"process_vision_info", "fetch_video"})
"""Functions of qwen-vl-utils, by the names that adapters have for them, also where it is not installed."""


@dataclass(frozen=True)
class ClipReader:
    """By which reader a model decodes clips."""

    name: str
    read: Callable[[Path, int], tuple[int, str]]
    qwen: QwenReader | None = None

    @property
    def warning(self) -> str | None:
        """What the user should know of it; None where there is nothing."""
        if self.qwen is None or self.qwen.reason is None:
            return None
        return (
            f"qwen-vl-utils would read clips by {self.qwen.instead_of}, which cannot be used here "
            f"({self.qwen.reason}). They are read by PyAV instead, which gives the same frames."
        )


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
    """By which reader a class of models decodes clips; None where that is not known, or a server does."""
    if is_ours(kind):
        return OURS
    if arguments.get(BY_URL, "").lower() == "true":
        return None
    called = list(_called(kind))
    if any(name in _QWEN_CALLS or _package_of(value) == "qwen_vl_utils" for name, value in called):
        reader = settle_reader()
        return ClipReader(str(reader), _by_qwen, reader)
    if any(name == "read_video" and _package_of(value) == "lmms_eval" for name, value in called):
        return HOST
    if any("decord" in (name, _package_of(value)) or name == "load_video_decord" for name, value in called):
        return DECORD
    return None


def ready_reader(kind: type, arguments: Mapping[str, str]) -> str | None:
    """The name of the reader by which the model of a run decodes clips, for its run card; None where it is not
    known."""
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
    """Names in the code by which a class answers, with what they stand for: of functions, not of what is computed."""
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
    """Names that a function's code has, with that of the functions in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _package_of(value: Any) -> str:
    """The package that a module, a function or a class is of."""
    name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""
