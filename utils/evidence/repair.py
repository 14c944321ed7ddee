"""What a careful reader takes from the parts of a broken or unusual evidence answer. Only the diagnosis uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lmms_eval_tasks.utils.answers import read_choice
from lmms_eval_tasks.utils.evidence.boxes import Box, is_finite, official_box
from lmms_eval_tasks.utils.evidence.timestamps import read_seconds

_NAMES = {
    "answer": ("answer_choice", "answer", "choice", "final_answer"),
    "instances": ("instances",),
    "name": ("instance_name", "instance", "instance_id", "name"),
    "evidences": ("evidences", "evidence"),
    "start": ("evidence_start_time", "start_time", "start"),
    "end": ("evidence_end_time", "end_time", "end"),
    "boxes": ("bboxes_in_time_range", "bboxes_in_range", "bboxes", "boxes"),
    "rationale": ("evidence_rationale", "rationale"),
}
_LONGEST_BOX = 200
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?", re.ASCII)


def lenient_field(entry: dict[Any, Any], field: str) -> object:
    """The first value that an object has under one of the names that models use for a field, None without one."""
    return next((entry[name] for name in _NAMES[field] if entry.get(name) is not None), None)


def lenient_list(value: object) -> list[dict[Any, Any]]:
    """The objects of a list, of an object's values (each with its key as ``name`` where it has none), or one object."""
    if isinstance(value, list | tuple):
        return [entry for entry in value if isinstance(entry, dict)]
    if not isinstance(value, dict):
        return []
    if any(name in value for names in (_NAMES["evidences"], _NAMES["start"]) for name in names):
        return [value]
    found: list[dict[Any, Any]] = []
    for key, entry in value.items():
        if isinstance(entry, dict):
            found.append({"name": key, **entry})
        elif isinstance(entry, list):
            found.append({"name": key, "evidences": entry})
    return found


def lenient_letter(value: object, letters: str) -> str | None:
    """The one option letter that a text, or a list of one text, states; None where it states none of `letters`."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    # The options' texts are not known here: only their letters can be read.
    return read_choice(value, [""] * len(letters)) if isinstance(value, str) else None


def lenient_boxes(value: object, start: int, end: int) -> Iterator[tuple[int, Box]]:
    """``(second, box)`` of a map from times to boxes, or of a list with one box for each second of a span."""
    if isinstance(value, dict):
        for key, entry in value.items():
            second, box = read_seconds(key), lenient_box(entry)
            if second is not None and box is not None:
                yield second, box
    elif isinstance(value, list | tuple) and len(value) == end - start + 1:
        for second, entry in enumerate(value, start):
            box = lenient_box(entry)
            if box is not None:
                yield second, box


def lenient_box(value: object) -> Box | None:
    """A box of four finite numbers, also nested once, or as text in any brackets; None where it is none."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and len(value) <= _LONGEST_BOX:
        value = [float(number) for number in _NUMBER.findall(value)]
    box = official_box(value)
    return box if box is not None and is_finite(box) else None
