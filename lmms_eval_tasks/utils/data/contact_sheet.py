"""A contact sheet: the frames that are shown of some clips, on one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks.utils.core.files import write_file

if TYPE_CHECKING:
    import numpy as np

ACROSS = 8
"""Frames of a row."""
WIDEST = 240
"""Columns of a frame; a larger one is scaled down, and a smaller one stays as it is."""
GAP, LINE = 6, 14
"""Between frames, and of a line of text, in pixels."""


@dataclass(frozen=True, eq=False)
class SheetClip:
    """What a sheet shows of a clip."""

    title: str
    frames: np.ndarray[Any, Any]
    labels: Sequence[str]


def write_contact_sheet(path: Path, clips: Sequence[SheetClip]) -> None:
    """Write a contact sheet as PNG; the same clips give the same bytes."""
    from PIL import Image, ImageDraw

    sheets = [_lay_out(clip) for clip in clips]
    whole = Image.new("RGB", (max(sheet.width for sheet in sheets), sum(sheet.height for sheet in sheets)), "white")
    top = 0
    for clip, sheet in zip(clips, sheets, strict=True):
        whole.paste(sheet, (0, top))
        ImageDraw.Draw(whole).text((GAP, top + GAP), _plain(clip.title), "black")
        top += sheet.height
    file = BytesIO()
    whole.save(file, "PNG")
    write_file(path, file.getvalue())


def _lay_out(clip: SheetClip) -> Any:
    """The frames of one clip with their labels, and room for its title."""
    from PIL import Image, ImageDraw

    count, height, width, _ = clip.frames.shape
    scale = min(1.0, WIDEST / width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    across, rows = min(ACROSS, count), -(-count // ACROSS)
    cell = size[0] + GAP, size[1] + LINE + GAP
    sheet = Image.new("RGB", (GAP + max(across * cell[0], WIDEST), LINE + 2 * GAP + rows * cell[1]), "white")
    draw = ImageDraw.Draw(sheet)
    for number, (frame, label) in enumerate(zip(clip.frames, clip.labels, strict=True)):
        left, top = GAP + number % ACROSS * cell[0], LINE + 2 * GAP + number // ACROSS * cell[1]
        sheet.paste(Image.fromarray(frame).resize(size), (left, top))
        draw.text((left, top + size[1]), _plain(label), "black")
    return sheet


def _plain(text: str) -> str:
    """A text in characters that every font has."""
    return text.encode("ascii", "replace").decode("ascii")
