"""What a view shows of a clip: the clip itself, or what is made of it and lies in the data home."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.benchmark.views import Shown, View
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.variables import VIEW_BYTES
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.home import home
from lmms_eval_tasks.utils.data.made_clips import MadeClip, show_frame, show_reversed, show_shuffled

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDER = "views"
DEFAULT_BYTES = 50_000_000_000
ORDERS = {Shown.REVERSED: show_reversed, Shown.SHUFFLED: show_shuffled}
"""What puts a clip's frames into another order."""


def see(view: View, clip: Path, frame: str) -> str | Image:
    """What a view that needs clips shows of one: the path of a video, or a picture, as lmms-eval's adapters take them.

    Args:
        view: The view.
        clip: The file.
        frame: Which frame a single frame is where the view does not say.

    Raises:
        UnreadableClip: where something has to be made of the clip, and it cannot be decoded.
        InputError: where the environment's limit is no number.
        OSError: where nothing can be written.
    """
    if view.shown is Shown.CLIP:
        return str(clip)
    path = make(view, clip, frame).path
    return _read_picture(path) if view.shown is Shown.FRAME else str(path)


def make(view: View, clip: Path, frame: str) -> MadeClip:
    """The frame or clip that a view makes of a clip, once; arguments and errors as for `see`."""
    store = open_store()
    if view.shown is Shown.FRAME:
        return show_frame(clip, view.position or frame, store)
    return ORDERS[view.shown](clip, store)


def open_store() -> ClipStore:
    """Where made frames and clips lie.

    Raises:
        InputError: where the environment's limit is no number.
    """
    return _open_store(home() / FOLDER, os.environ.get(VIEW_BYTES))


def read_limit(text: str | None) -> int:
    """How many bytes made frames and clips may take.

    Raises:
        InputError: where the text is no whole number above 0.
    """
    if text and not (text.isdecimal() and int(text) > 0):
        raise InputError(f"Expected {VIEW_BYTES} to be a number of bytes, such as {DEFAULT_BYTES}, but got {text!r}.")
    return int(text) if text else DEFAULT_BYTES


@cache
def _open_store(folder: Path, limit: str | None) -> ClipStore:
    return ClipStore(folder, read_limit(limit))


def _read_picture(path: Path) -> Image:
    from PIL import Image

    with Image.open(path) as picture:
        shown: Image.Image = picture.convert("RGB")
    return shown
