"""What a view shows of a clip: the clip itself, or what is made of it and lies in the data home."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.benchmark.views import Shown, View
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.variables import VIEW_BYTES
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.frame_orders import FrameOrder
from lmms_eval_tasks.utils.data.home import home
from lmms_eval_tasks.utils.data.made_clips import MadeClip, Making, show_frame, show_reversed, show_shuffled

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDER = "views"
DEFAULT_BYTES = 50_000_000_000
ORDERS: Mapping[Shown, tuple[FrameOrder, Callable[..., MadeClip]]] = {
    Shown.REVERSED: (FrameOrder.REVERSED, show_reversed),
    Shown.SHUFFLED: (FrameOrder.SHUFFLED, show_shuffled),
}
"""What shows a clip's frames in another order: the order, and what makes a clip of it."""


def see(view: View, clip: Path, frame: str) -> str | Image:
    """What a view that needs clips shows of one: the path of a video, or a picture, as lmms-eval's adapters take
    them."""
    return read_made(find_making(view, clip, frame).run(open_store())) if view.is_made else str(clip)


def find_making(view: View, clip: Path, frame: str) -> Making:
    """How the frame or clip is made that a view shows in place of a clip; arguments as for `see`."""
    if view.shown is Shown.FRAME:
        return Making(show_frame, clip, (view.position or frame,))
    return Making(ORDERS[view.shown][1], clip)


def read_made(made: MadeClip) -> str | Image:
    """What was made, as lmms-eval's adapters take it: the path of a video, or a picture."""
    from PIL import Image

    if made.path.suffix != ".png":
        return str(made.path)
    with Image.open(made.path) as picture:
        shown: Image.Image = picture.convert("RGB")
    return shown


def open_store() -> ClipStore:
    """Where made frames and clips lie."""
    return _open_store(home() / FOLDER, os.environ.get(VIEW_BYTES))


def read_limit(text: str | None) -> int:
    """How many bytes made frames and clips may take."""
    if text and not (text.isdecimal() and int(text) > 0):
        raise InputError(f"Expected {VIEW_BYTES} to be a number of bytes, such as {DEFAULT_BYTES}, but got {text!r}.")
    return int(text) if text else DEFAULT_BYTES


@cache
def _open_store(folder: Path, limit: str | None) -> ClipStore:
    return ClipStore(folder, read_limit(limit))
