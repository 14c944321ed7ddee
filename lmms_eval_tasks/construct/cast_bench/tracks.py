"""Tracks of who and what is in a clip: our JSON of boxes, or SA-V's masks, coded as COCO's compressed run lengths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated

from pydantic import Field

from lmms_eval_tasks.construct.cast_bench.rows import PixelBox, TrackedInstance
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_object
from lmms_eval_tasks.utils.core.text import describe, first_line

MASKLETS = ("manual", "auto")
LONGEST_SIDE = 1e5
"""Pixels of a mask's sides, at most."""
MASKS_A_SECOND = 6
"""SA-V has masks of every fourth frame of clips of 24 frames a second."""

Frame = tuple[int, int] | None
"""Width and height of a clip; None where it cannot be opened."""


class BoxedInstance(RowForm):
    """An instance of our file: second to box, ``[x1, y1, x2, y2]`` in pixels, outer edges."""

    id: Annotated[WholeText, Field(pattern=r"^\S+$")]
    name: WholeText = ""
    boxes: dict[str, list[float]]


class BoxFile(RowForm):
    instances: list[BoxedInstance]


class RunLengthMask(RowForm, extra="ignore"):
    """A mask as COCO's tools write it; its size is height and width."""

    size: Annotated[list[Annotated[float, Field(ge=1, le=LONGEST_SIDE)]], Field(min_length=2, max_length=2)]
    counts: str


class MaskletFile(RowForm, extra="ignore"):
    """Part of SA-V's file that is read: for each frame with masks, one of each object."""

    masklet: list[list[RunLengthMask]]
    masklet_id: list[int]


def track_files(folder: Path, stem: str, masklets: str) -> list[Path]:
    own = folder / f"{stem}.json"
    if own.is_file():
        return [own]
    kinds = MASKLETS if masklets == "both" else (masklets,)
    return [path for kind in kinds if (path := folder / f"{stem}_{kind}.json").is_file()]


def read_tracks(paths: Sequence[Path], frame: Frame, last: int, problems: Problems) -> tuple[TrackedInstance, ...]:
    """Return the instances of a clip, with a box a second up to its last; all faults of its files are noted."""
    read: list[TrackedInstance] = []
    for path in paths:
        issues = Problems()
        try:
            kind = next((kind for kind in MASKLETS if path.stem.endswith(f"_{kind}")), "")
            read += _masklets(path, kind, frame, last, issues) if kind else _boxes(path, frame, last, issues)
        except OSError as error:
            issues.add("file", "Expected one that can be read, but got", first_line(error))
        problems.extend(issues, f"{path.name}, ")
    return tuple(read)


def _boxes(path: Path, frame: Frame, last: int, issues: Problems) -> Iterator[TrackedInstance]:
    content = read_object(path, BoxFile, issues)
    seen: set[str] = set()
    for one in content.instances if content else ():
        if one.id in seen:
            issues.add("id", "Expected each once, but got again", describe(one.id))
        seen.add(one.id)
        boxes: dict[int, PixelBox] = {}
        for key, edges in one.boxes.items():
            where = f"{describe(key)} of {describe(one.id)}"
            if not (key.isascii() and key.isdecimal() and len(key) < 10 and str(int(key)) == key):
                issues.add("boxes", "Expected whole seconds as keys, but got", where)
            elif frame is not None and int(key) > last:
                issues.add("boxes", f"Expected seconds up to {last}, the clip's last, but got", where)
            elif (box := _pixel_box(edges, frame)) is None:
                size = "" if frame is None else f" within {frame[0]} by {frame[1]} pixels"
                issues.add("boxes", f"Expected [x1, y1, x2, y2]{size}, but got", f"{describe(str(edges))} ({where})")
            else:
                boxes[int(key)] = box
        yield TrackedInstance(id=one.id, source=one.id, name=one.name.strip(), boxes=dict(sorted(boxes.items())))


def _pixel_box(edges: Sequence[float], frame: Frame) -> PixelBox | None:
    if len(edges) != 4 or not all(-1e6 < edge < 1e6 for edge in edges):
        return None
    x1, y1, x2, y2 = edges
    if not (0 <= x1 < x2 and 0 <= y1 < y2) or (frame is not None and (x2 > frame[0] or y2 > frame[1])):
        return None
    return int(x1), int(y1), int(-(-x2 // 1)), int(-(-y2 // 1))


def _masklets(path: Path, kind: str, frame: Frame, last: int, issues: Problems) -> Iterator[TrackedInstance]:
    content = read_object(path, MaskletFile, issues)
    if content is None:
        return
    ids = content.masklet_id
    if wrong := [number for number, masks in enumerate(content.masklet) if len(masks) != len(ids)]:
        expected = f"Expected {len(ids)} masks, one for each of masklet_id, but got others in"
        issues.add("masklet", expected, str(wrong[0]))
        return
    for number in sorted({number for number in ids if ids.count(number) > 1}):
        issues.add("masklet_id", "Expected each once, but got again", str(number))
    for place, number in enumerate(ids):
        boxes: dict[int, PixelBox] = {}
        for second, masks in enumerate(content.masklet[::MASKS_A_SECOND]):
            height, width = masks[place].size
            where = f"masklet {number} at {second} s"
            if frame is not None and (width, height) != frame:
                issues.add("masklet", f"Expected masks of {frame[0]} by {frame[1]} pixels, but got others in", where)
                continue
            try:
                box = mask_box(masks[place].counts, int(width), int(height))
            except ValueError as error:
                issues.add("masklet", "Expected COCO's run lengths, but got", f"{error} ({where})")
                continue
            if box is not None and (second <= last or frame is None):
                boxes[second] = box
        name = f"{kind}_instance_{number:03d}"
        yield TrackedInstance(id=name, source=name, name="", boxes=boxes)


_NUMBER = re.compile("[P-o]{0,12}[0-O]")
"""A number of run lengths: five bits a character, the lowest first. More characters hold no length in any picture."""


def run_lengths(text: str) -> list[int]:
    """Return the lengths of the runs; `pycocotools` gives a box of any text instead, and refuses none."""
    numbers = _NUMBER.findall(text)
    if sum(map(len, numbers)) != len(text):
        raise ValueError("characters that are no numbers")
    lengths: list[int] = []
    for number in numbers:
        parts = [(ord(character) - ord("0")) & 31 for character in number]
        value = sum(part << 5 * place for place, part in enumerate(parts))
        # The highest bit is the sign.
        value -= (parts[-1] >> 4) << 5 * len(parts)
        lengths.append(value + lengths[-2] if len(lengths) > 2 else value)
        if lengths[-1] < 0:
            raise ValueError("a run of negative length")
    return lengths


def mask_box(text: str, width: int, height: int) -> PixelBox | None:
    """Return the box of a mask, None of an empty one; runs go down column by column, every second one in the mask."""
    lengths = run_lengths(text)
    if sum(lengths) != width * height:
        raise ValueError(f"runs of {sum(lengths):,} pixels")
    ends = list(accumulate(lengths))
    inside = [(end - length, end - 1) for end, length in zip(ends[1::2], lengths[1::2], strict=True) if length]
    if not inside:
        return None
    rows = [
        (first % height, last % height) if first // height == last // height else (0, height - 1)
        for first, last in inside
    ]
    left, right = inside[0][0] // height, inside[-1][1] // height + 1
    return left, min(top for top, _ in rows), right, max(bottom for _, bottom in rows) + 1
