"""Reading the released evidence of one CaST-Bench question: what cannot be scored, and what is only unusual."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping
from typing import Any

from lmms_eval_tasks.api import Problems
from lmms_eval_tasks.api.evidence import is_clock, official_box, read_truth
from lmms_eval_tasks.api.release import quote, read_released_json

NO_EVIDENCE = "Questions without evidence, whose right answers can only be spurious"
ODD_TIMES = "Evidence times that are not mm:ss, read as the official code does"
REVERSED = "Evidence that ends before it starts, of which no box counts"
UNNAMED = "Evidence whose evidence_instance_id is no text, grouped as the official code does"
ODD_SECONDS = "Evidence with boxes at what is no second, read as the official code does"
ODD_BOXES = "Evidence with boxes that are not four numbers, left out as in the official code"

_LONGEST_TIME = 64
_TIME = re.compile(
    r"""(\d+:)?\d+:\d+([.,]\d*)?
    |(\d+\s*m(ins?|inutes?)?\s*)?\d+([.,]\d*)?\s*(s|secs?|seconds?)?""",
    re.IGNORECASE | re.VERBOSE,
)


def read_evidence(value: object, line: str, where: str, problems: Problems) -> str:
    """The evidence of one question as the prepared table keeps it: JSON as released, `[]` where there is none.

    A problem is what the official code stops at, and a box that is not finite, to which it gives no meaningful number.
    What it scores in its own way is a warning and is scored in the same way here (`utils.evidence.reader.read_truth`).

    Args:
        value: The row's ``evidence``.
        line: The row as warnings name it.
        where: The row as problems name it.
        problems: Takes what cannot be scored, and warnings of what is unusual about the rest.

    Source: ``load_gt_hf_jsonl`` of CaST-Bench-Evaluation@a216491.
    """
    entries = value
    if isinstance(value, str) and value:
        try:
            entries = read_released_json(value)
        except ValueError as error:
            problems.add(where, f"Expected evidence to be JSON, but got: {error}.")
            return value
    if not entries:
        problems.warn(NO_EVIDENCE, line)
        return "[]"
    if not isinstance(entries, list):
        problems.add(where, f"Expected evidence to be a list, but got {quote(entries)}.")
        return ""
    for number, entry in enumerate(entries, 1):
        what = _problem_of(entry)
        if what:
            problems.add(f"{where}, evidence {number}", what)
            continue
        for kind in _warnings_of(entry):
            problems.warn(kind, f"{line} evidence {number}")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _problem_of(entry: object) -> str:
    """Return the reason one evidence cannot be scored, empty if it can."""
    if not isinstance(entry, dict):
        return f"Expected an evidence as an object, but got {quote(entry)}."
    name, boxes = _name(entry), _boxes(entry)
    if not isinstance(name, Hashable):
        return f"Expected evidence_instance_id to name an instance, but got {quote(name)}."
    if not isinstance(boxes, dict):
        return f"Expected bboxes_in_range as an object from second to box, but got {quote(boxes)}."
    if unreadable := [second for second in boxes if _stops_at(second)]:
        return f"Expected the keys of bboxes_in_range to be seconds, but got {quote(unreadable[0])}."
    try:
        read_truth([entry])
    except ValueError as error:
        return str(error)
    return ""


def _warnings_of(entry: Mapping[str, Any]) -> list[str]:
    """Return warnings about unusual values in one evidence that can be scored."""
    times = entry.get("evidence_start_time"), entry.get("evidence_end_time")
    boxes = _boxes(entry)
    (instance,) = read_truth([entry])
    (evidence,) = instance.evidences
    unusual = {
        ODD_TIMES: not all(isinstance(time, str) and is_clock(time) for time in times),
        REVERSED: evidence.end < evidence.start,
        UNNAMED: not (isinstance(entry.get("evidence_instance_id"), str) and entry["evidence_instance_id"].strip()),
        ODD_SECONDS: not all(map(is_time, boxes)),
        ODD_BOXES: any(official_box(box) is None and not _is_numbers(box) for box in boxes.values()),
    }
    return [kind for kind, holds in unusual.items() if holds]


def _name(entry: Mapping[str, Any]) -> Any:
    return entry.get("evidence_instance_id") or entry.get("instance_id") or ""


def _boxes(entry: Mapping[str, Any]) -> Any:
    return entry.get("bboxes_in_range") or entry.get("bboxes_in_time_range") or {}


def is_time(text: str) -> bool:
    """Whether a careful reader takes a text for a time: ``[h:]m:s``, bare seconds, ``5s`` or ``1m05s``."""
    return len(text) <= _LONGEST_TIME and _TIME.fullmatch(text.strip().replace("：", ":")) is not None


def _stops_at(second: str) -> bool:
    """Whether the official code stops at a second: digits to `str.isdigit` of which `int` makes no number."""
    parts = second.strip().split(":")
    return len(parts) in (2, 3) and all(map(str.isdigit, parts)) and not all(map(str.isdecimal, parts))


def _is_numbers(box: object) -> bool:
    """Whether a box without area is four numbers, as `[-1, -1, -1, -1]`, which says that nothing is to be seen."""
    if isinstance(box, str):
        try:
            box = json.loads(box)
        except (ValueError, RecursionError):
            return False
    return (
        isinstance(box, list)
        and len(box) == 4
        and all(isinstance(edge, int | float) and not isinstance(edge, bool) for edge in box)
    )
