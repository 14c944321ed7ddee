"""Answers questions about the sample's clips from decoded pixels, and from nothing else."""

import pkgutil
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample import solve as rule_modules
from lmms_eval_tasks.sample.scenes.options import read_objects
from lmms_eval_tasks.sample.solve.measure import Rules, track_of
from lmms_eval_tasks.sample.world.scene import Rejected
from lmms_eval_tasks.sample.world.vision import Observation, decode, observe

CANNOT_TELL = "I cannot tell from this clip."


@cache
def all_rules() -> Rules:
    """The rules of every module beside this one that has some."""
    names = sorted(module.name for module in pkgutil.iter_modules(rule_modules.__path__))
    modules = [import_module(f"{rule_modules.__name__}.{name}") for name in names]
    return {pattern: respond for module in modules for pattern, respond in getattr(module, "RULES", {}).items()}


def solve(question: str, options: Sequence[str], clip: Path, *, reverse: bool = False) -> str:
    """Answer a question about a clip, in the form that the benchmark of such questions takes."""
    if not any(re.search(pattern, question) for pattern in all_rules()):
        return CANNOT_TELL
    about = clip.stat() if clip.is_file() else None
    version = about and (about.st_mtime_ns, about.st_size)
    return _respond(question, options, lambda: _watch(clip, version, reverse))


def solve_frames(question: str, options: Sequence[str], frames: NDArray[np.uint8], fps: float) -> str:
    """Answer a question about frames, (T, H, W, 3) uint8 RGB, in order of time; see `solve`."""
    return _respond(question, options, lambda: observe(frames, fps))


@lru_cache(maxsize=8)
def _watch(clip: Path, version: tuple[int, int] | None, reverse: bool) -> Observation:
    """Return the observation of a clip of this date and size, cached because a clip is often asked about and slow to
    process."""
    frames, fps = decode(clip)
    return observe(frames[::-1] if reverse else frames, fps)


def _respond(question: str, options: Sequence[str], look: Callable[[], Observation]) -> str:
    for pattern, respond in all_rules().items():
        if re.search(pattern, question):
            try:
                seen = look()
                response = respond(seen, [track_of(seen, name) for name in read_objects(question)], options)
            except (Rejected, ValueError):
                break
            return response if isinstance(response, str) else ascii_uppercase[response]
    return CANNOT_TELL
