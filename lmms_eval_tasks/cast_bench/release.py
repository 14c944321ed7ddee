"""Sizes at which clips are shown, to which boxes in pixels refer."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.api import Problems, Progress, RowForm, read_rows
from lmms_eval_tasks.api.clips import FrameStream
from lmms_eval_tasks.api.evidence import is_clock, official_box, read_truth
from lmms_eval_tasks.api.release import (
    UnreadableClip,
    WholeText,
    describe,
    is_safe,
    quote,
    read_released_json,
    summarize_names,
)
from lmms_eval_tasks.cast_bench.card import OPTION_KINDS, OTHER, read_option_kind, read_type


def frame_sizes(paths: Iterable[Path], progress: Progress, what: str) -> dict[Path, tuple[int, int] | None]:
    """`frame_size` of each distinct file, read once and in parallel threads."""
    distinct = list(dict.fromkeys(paths))
    sizes: dict[Path, tuple[int, int] | None] = {}
    with ThreadPoolExecutor(max_workers=min(32, (os.cpu_count() or 1) + 4)) as pool:
        for path, size in zip(distinct, pool.map(frame_size, distinct), strict=True):
            sizes[path] = size
            progress(what, len(sizes), len(distinct))
    return sizes


def frame_size(path: Path) -> tuple[int, int] | None:
    """Width and height in pixels of a clip as it is shown, from its header; None where it cannot be decoded."""
    try:
        with FrameStream(path) as stream:
            width, height = stream.size
            turned = round(next(stream.frames(as_stored=True)).rotation / 90) % 2
    except UnreadableClip:
        return None
    if not (width and height):
        return None
    return (height, width) if turned else (width, height)


ROLES = "roles.jsonl"
ANSWER = "answer"
"""The role of the right option; the others are the kinds that the card names."""


class QuestionRoles(RowForm):
    """A line of the file, about the question in the same line of the release."""

    id: WholeText
    video: WholeText
    question: WholeText
    subject: WholeText | None
    question_start_time: WholeText | None
    question_end_time: WholeText | None
    option_roles: dict[str, WholeText]


def add_option_kinds(rows: Sequence[dict[str, Any]], path: Path, problems: Problems) -> None:
    """Give the rows of a release the kind of each option, from the file beside it."""
    issues = Problems()
    lines = list(read_rows(path, QuestionRoles, issues, exact=False))
    if not issues and len(lines) != len(rows):
        issues.add("lines", f"Expected {len(rows):,}, one for each question, but got", f"{len(lines):,}")
    for row, (where, line) in zip(rows, lines, strict=False) if not issues else ():
        letters = [chr(ord("A") + place) for place in range(len(row["options"]))]
        roles = [line.option_roles.get(letter) for letter in letters]
        if (line.question.strip(), f"test/{line.video}") != (row["question"], row["clip"]):
            issues.add("question", "Expected that of the same line of the release, but got", f"another ({where})")
        elif len(line.option_roles) != len(letters) or not all(role in (ANSWER, *OPTION_KINDS) for role in roles):
            issues.add("option_roles", "Expected a role for each option, but got", f"{describe(str(roles))} ({where})")
        elif [role == ANSWER for role in roles] != [letter == row["answer"] for letter in letters]:
            issues.add("option_roles", f"Expected {ANSWER} for the right option alone, but not in", where)
        else:
            row["option_kinds"] = [None if role == ANSWER else role for role in roles]
    problems.extend(issues, f"{path.name}, ")


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


FILE = "castbench_hf.jsonl"
FEWEST_OPTIONS = 2
USUAL_OPTIONS = range(4, 7)
"""How many options the paper says that a question has."""


def read_items(content: bytes) -> tuple[list[dict[str, Any]], Problems, list[str]]:
    """The items of the release, one per line, in the file's order.

    An item's id is the clip's name and the number of the question among those about it. The evidence is kept as
    released. What is unusual, but the official code still scores, is kept with a warning.

    Args:
        content: bytes of `castbench_hf.jsonl`.

    Returns:
        Rows of the prepared table without `clip_present`, `width` and `height`; the problems found, with which the
        rows are incomplete; and warnings about what is unusual but can be scored.
    """
    problems = Problems()
    items: list[dict[str, Any]] = []
    numbers: Counter[str] = Counter()
    answered: dict[bool, int] = {}
    for line, text in enumerate(content.split(b"\n"), 1):
        if not text.strip():
            continue
        row = _read_line(text, line, problems)
        if row is None:
            continue
        video = row.get("video")
        where = f"{FILE}, line {line} ({video if isinstance(video, str) and video else 'no video'})"
        before = len(problems)
        item = _read_row(row, where, problems)
        item["evidence"] = read_evidence(row.get("evidence"), f"line {line}", where, problems)
        if len(item["options"]) not in USUAL_OPTIONS:
            usual = f"{USUAL_OPTIONS[0]} to {USUAL_OPTIONS[-1]}"
            problems.warn(f"Questions with other than {usual} options", f"line {line} with {len(item['options'])}")
        if len(problems) > before:
            continue
        stem = PurePosixPath(item["clip"]).stem
        numbers[stem] += 1
        item_id = f"{stem}_{numbers[stem]}"
        items.append({"item_id": item_id, "group_id": item_id, **item})
        answered.setdefault(item["answer"] is not None, line)
    if not items and not problems:
        problems.add(FILE, "Expected questions, but got none.")
    if len(answered) == 2 and not problems:
        problems.add(
            FILE,
            f"Expected answers to all questions or to none, but line {answered[True]} has one and line "
            f"{answered[False]} lacks one.",
            remedy="use the file as it was released.",
        )
    return items, problems, [*_warnings(items), *problems.warnings()]


def _read_line(text: bytes, line: int, problems: Problems) -> dict[str, Any] | None:
    try:
        row = read_released_json(text)
    except ValueError as error:
        problems.add(f"{FILE}, line {line}", f"Expected a JSON object in UTF-8, but got: {error}.")
        return None
    if not isinstance(row, dict):
        problems.add(f"{FILE}, line {line}", f"Expected a JSON object, but got {quote(row)}.")
        return None
    return row


def _read_row(row: Mapping[str, Any], where: str, problems: Problems) -> dict[str, Any]:
    video, question = row.get("video"), row.get("question")
    if not (isinstance(video, str) and is_safe(video)):
        problems.add(where, f"Expected video to name a file, but got {quote(video)}.")
    if not (isinstance(question, str) and question.strip()):
        problems.add(where, f"Expected a question, but got {quote(question)}.")
    options = _read_options(row.get("options"), where, problems)
    released_type = str(row.get("question_type") or "")
    question_type = read_type(released_type)
    return {
        "question": str(question).strip(),
        "options": options,
        "answer": _read_answer(row.get("answer"), options, where, problems),
        "clip": f"test/{PurePosixPath(str(video))}",
        "question_type": released_type,
        "category": question_type.category,
        "subtype": question_type.subtype,
        "scene_category": str(row.get("scene_category") or ""),
        "option_kinds": _read_kinds(row.get("distractor_types"), options, where, problems),
    }


def _read_options(value: object, where: str, problems: Problems) -> list[str]:
    """The texts of the options; an option that is null or empty is one that the question does not have."""
    if not isinstance(value, dict):
        problems.add(where, f"Expected options as an object from letter to text, but got {quote(value)}.")
        return []
    texts = {letter: text for letter, text in value.items() if text is not None and text != ""}
    letters = list(ascii_uppercase[: len(texts)])
    if sorted(texts) != letters or not all(isinstance(text, str) and text.strip() for text in texts.values()):
        problems.add(where, f"Expected a text for each option from A on, but got {quote(value)}.")
        return []
    if len(texts) < FEWEST_OPTIONS:
        problems.add(where, f"Expected {FEWEST_OPTIONS} options or more, but got {len(texts)}.")
    return [texts[letter].strip() for letter in letters]


def _read_answer(value: object, options: list[str], where: str, problems: Problems) -> str | None:
    if value is None or value == "":
        return None
    letters = ascii_uppercase[: len(options)]
    if options and not (isinstance(value, str) and len(value) == 1 and value in letters):
        problems.add(where, f"Expected answer to be one of {', '.join(letters)}, but got {quote(value)}.")
    return str(value)


def _read_kinds(value: object, options: list[str], where: str, problems: Problems) -> list[str | None] | None:
    """Kind of each option where the release names them, None for the right one."""
    if value is None:
        return None
    letters = ascii_uppercase[: len(options)]
    if not isinstance(value, dict):
        problems.add(where, f"Expected distractor_types as an object from letter to kind, but got {quote(value)}.")
        return None
    kinds = {letter: read_option_kind(str(kind)) for letter, kind in value.items() if kind}
    if options and not all(kind and letter in letters for letter, kind in kinds.items()):
        problems.add(where, f"Expected distractor_types among {', '.join(OPTION_KINDS)}, but got {quote(value)}.")
    return [kinds.get(letter) for letter in letters]


def _warnings(items: list[dict[str, Any]]) -> list[str]:
    messages = []
    unknown = Counter(item["question_type"] for item in items if item["category"] == OTHER)
    if unknown:
        names = summarize_names(f"{quote(kind)} {number}" for kind, number in unknown.most_common())
        messages.append(
            f"Questions of a type that belongs to no known category: {unknown.total()} ({names}). They count "
            "overall and in no category."
        )
    repeated = [question for question, number in Counter(item["question"] for item in items).items() if number > 1]
    if repeated:
        messages.append(
            f"Questions asked more than once: {len(repeated)}, such as {quote(repeated[0])}. They are scored one "
            "by one here; the official script joins by the question alone and keeps the last."
        )
    alike = [item["item_id"] for item in items if len(set(item["options"])) < len(item["options"])]
    if alike:
        messages.append(f"Questions with two options of the same text: {len(alike)}, such as {alike[0]}.")
    return messages


SPLIT = "test"


def frame_of(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Width and height of a prepared row's clip in pixels, None where unknown."""
    return (row["width"], row["height"]) if row["width"] and row["height"] else None
