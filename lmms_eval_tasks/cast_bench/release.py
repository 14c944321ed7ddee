"""The released CaST-Bench questions with their evidence, read as the official code does, and the size of their clips.

Source: ``load_gt_hf_jsonl`` of CaST-Bench-Evaluation@a216491.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator

from lmms_eval_tasks.api import Problems, RowForm, read_rows
from lmms_eval_tasks.api.clips import FrameStream
from lmms_eval_tasks.api.evidence import is_clock, official_box, read_truth
from lmms_eval_tasks.api.forms import Cell, ClipName, ReleaseRow, Text, mismatch, read_json_form
from lmms_eval_tasks.api.release import (
    UnreadableClip,
    WholeText,
    clock,
    describe,
    quote,
    read_released_json,
    summarize_names,
)
from lmms_eval_tasks.cast_bench.card import OPTION_KINDS, OTHER, read_option_kind, read_type

SPLIT = "test"
FILE = "castbench_hf.jsonl"
FEWEST_OPTIONS = 2
USUAL_OPTIONS = range(4, 7)
"""How many options the paper says that a question has."""

NO_EVIDENCE = "Questions without evidence, whose right answers can only be spurious"
ODD_TIMES = "Evidence times that are not mm:ss, read as the official code does"
REVERSED = "Evidence that ends before it starts, whose boxes do not count"
UNNAMED = "Evidence whose evidence_instance_id is no text, grouped as the official code does"
ODD_SECONDS = "Evidence with boxes at keys that are no seconds, read as the official code does"
ODD_BOXES = "Evidence with boxes that are not four numbers, left out as in the official code"

_LONGEST_TIME = 64
_TIME = re.compile(
    r"""(\d+:)?\d+:\d+([.,]\d*)?
    |(\d+\s*m(ins?|inutes?)?\s*)?\d+([.,]\d*)?\s*(s|secs?|seconds?)?""",
    re.IGNORECASE | re.VERBOSE,
)


def _read_options(value: object) -> list[str]:
    """The texts of the options; an option that is null or empty is one that the question does not have."""
    if not isinstance(value, dict):
        raise mismatch("an object from letter to text", value)
    texts = {letter: text for letter, text in value.items() if text is not None and text != ""}
    letters = list(ascii_uppercase[: len(texts)])
    if sorted(texts) != letters or not all(isinstance(text, str) and text.strip() for text in texts.values()):
        raise mismatch("a text for each option from A on in {field}", value)
    if len(texts) < FEWEST_OPTIONS:
        raise mismatch(f"{FEWEST_OPTIONS} {{field}} or more", len(texts))
    return [texts[letter].strip() for letter in letters]


def _read_answer(value: object, info: ValidationInfo) -> str | None:
    letters = ascii_uppercase[: len(info.data.get("options", ()))]
    if value == "" or not letters:
        return None
    if not (isinstance(value, str) and len(value) == 1 and value in letters):
        raise mismatch(f"one of {', '.join(letters)}", value)
    return value


def _read_kinds(value: object, info: ValidationInfo) -> list[str | None] | None:
    """Kind of each option where the release names them, None for the right one."""
    letters = ascii_uppercase[: len(info.data.get("options", ()))]
    if not isinstance(value, dict):
        raise mismatch("an object from letter to kind", value)
    kinds = {letter: read_option_kind(str(kind)) for letter, kind in value.items() if kind}
    if letters and not all(kind and letter in letters for letter, kind in kinds.items()):
        raise mismatch(f"{{field}} among {', '.join(OPTION_KINDS)}", value)
    return [kinds.get(letter) for letter in letters]


def _check_evidence(entry: Any) -> Any:
    """Refuse one evidence at which the official code stops, or with a box that is not finite, which it cannot score."""
    if not isinstance(entry, dict):
        raise mismatch("an object", entry)
    name, boxes = entry.get("evidence_instance_id") or entry.get("instance_id") or "", _boxes(entry)
    if not isinstance(name, Hashable):
        raise mismatch("evidence_instance_id of {field} to name an instance", name)
    if not isinstance(boxes, dict):
        raise mismatch("bboxes_in_range of {field} as an object from second to box", boxes)
    for second in boxes:
        parts = second.strip().split(":")
        # Digits to `str.isdigit` of which `int` makes no number.
        if len(parts) in (2, 3) and all(map(str.isdigit, parts)) and not all(map(str.isdecimal, parts)):
            raise mismatch("the keys of bboxes_in_range of {field} to be seconds", second)
    try:
        read_truth([entry])
    except ValueError:
        raise mismatch("times mm:ss and finite boxes in {field}", entry) from None
    return entry


def _as_released(value: Any, check: ValidatorFunctionWrapHandler) -> str:
    """The evidence of one question as the prepared table keeps it: JSON as released, `[]` where there is none."""
    entries = value
    if isinstance(value, str) and value:
        try:
            entries = read_released_json(value)
        except ValueError as error:
            raise mismatch(f"JSON ({error})", value) from None
    if not entries:
        return "[]"
    check(entries)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class EvidenceRow(ReleaseRow):
    video: ClipName
    question: Text
    options: Annotated[list[str], BeforeValidator(_read_options)]
    answer: Annotated[str | None, BeforeValidator(_read_answer)] = None
    question_type: Cell = ""
    scene_category: Cell = ""
    distractor_types: Annotated[list[str | None] | None, BeforeValidator(_read_kinds)] = None
    evidence: Annotated[list[Annotated[Any, AfterValidator(_check_evidence)]], WrapValidator(_as_released)] = Field([])


def read_items(content: bytes) -> tuple[list[dict[str, Any]], Problems, list[str]]:
    """The items of the release, one per line, in the file's order.

    An item's id is the clip's name and the number of the question among those about it. What is unusual, but the
    official code still scores, is kept with a warning, and scored in the same way here.

    Returns:
        Rows of the prepared table without `clip_present`, `width` and `height`; the problems found, with which the
        rows are incomplete; and warnings about what is unusual but can be scored.
    """
    problems = Problems()
    items: list[dict[str, Any]] = []
    numbers: Counter[str] = Counter()
    answered: dict[bool, str] = {}
    for row in read_json_form(EvidenceRow, content, FILE, problems, lines=True):
        question_type, evidence = read_type(row.question_type), str(row.evidence)
        _warn_of_evidence(json.loads(evidence), row.place, problems)
        if len(row.options) not in USUAL_OPTIONS:
            usual = f"{USUAL_OPTIONS[0]} to {USUAL_OPTIONS[-1]}"
            problems.warn(f"Questions with other than {usual} options", f"{row.place} with {len(row.options)}")
        stem = PurePosixPath(row.video).stem
        numbers[stem] += 1
        item_id = f"{stem}_{numbers[stem]}"
        items.append(
            {
                "item_id": item_id,
                "group_id": item_id,
                "question": row.question,
                "options": row.options,
                "answer": row.answer,
                "clip": f"{SPLIT}/{row.video}",
                "question_type": row.question_type,
                "category": question_type.category,
                "subtype": question_type.subtype,
                "scene_category": row.scene_category,
                "option_kinds": row.distractor_types,
                "evidence": evidence,
                "subject": "[]",
            }
        )
        answered.setdefault(row.answer is not None, row.place)
    if len(answered) == 2 and not problems:
        rows = f"{answered[True]} has one and {answered[False]} lacks one"
        what = f"Expected answers to all questions or to none, but {rows}."
        problems.add(FILE, what, remedy="use the file as it was released.")
    return items, problems, [*_warnings(items), *problems.warnings()]


def _boxes(entry: Mapping[str, Any]) -> Any:
    return entry.get("bboxes_in_range") or entry.get("bboxes_in_time_range") or {}


def _warn_of_evidence(entries: Sequence[Mapping[str, Any]], place: str, problems: Problems) -> None:
    """Note what is unusual about evidence that can be scored."""
    if not entries:
        problems.warn(NO_EVIDENCE, place)
    for number, entry in enumerate(entries, 1):
        times = entry.get("evidence_start_time"), entry.get("evidence_end_time")
        name, boxes = entry.get("evidence_instance_id"), _boxes(entry)
        (instance,) = read_truth([entry])
        (evidence,) = instance.evidences
        unusual = {
            ODD_TIMES: not all(isinstance(time, str) and is_clock(time) for time in times),
            REVERSED: evidence.end < evidence.start,
            UNNAMED: not (isinstance(name, str) and name.strip()),
            ODD_SECONDS: not all(map(is_time, boxes)),
            ODD_BOXES: any(official_box(box) is None and not _is_numbers(box) for box in boxes.values()),
        }
        for kind, holds in unusual.items():
            if holds:
                problems.warn(kind, f"{place} evidence {number}")


def is_time(text: str) -> bool:
    """Whether a careful reader takes a text for a time: ``[h:]m:s``, bare seconds, ``5s`` or ``1m05s``."""
    return len(text) <= _LONGEST_TIME and _TIME.fullmatch(text.strip().replace("：", ":")) is not None


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


ROLES = "roles.jsonl"
"""The file beside a set that was built here: what a release does not say, subjects, their boxes and the role of each
option."""
ANSWER = "answer"
"""The role of the right option; the others are the kinds that the card names."""


class QuestionRoles(RowForm):
    """A line of the file of roles, about the question in the same line of the release."""

    id: WholeText
    video: WholeText
    question: WholeText
    subject: WholeText | None
    question_start_time: WholeText | None
    question_end_time: WholeText | None
    subject_boxes: dict[str, str]
    """A box for each second that the question is about, as evidence has them; none where it names no subject."""
    option_roles: dict[str, WholeText]


def add_roles(rows: Sequence[dict[str, Any]], path: Path, problems: Problems) -> None:
    """Give the rows of a release the kind of each option and the subject's boxes, from the file of roles beside it."""
    issues = Problems()
    lines = list(read_rows(path, QuestionRoles, issues, exact=False))
    if not issues and len(lines) != len(rows):
        issues.add("lines", f"Expected {len(rows):,}, one for each question, but got", f"{len(lines):,}")
    for row, (where, line) in zip(rows, lines, strict=False) if not issues else ():
        letters = ascii_uppercase[: len(row["options"])]
        roles = [line.option_roles.get(letter) for letter in letters]
        if (line.question.strip(), f"{SPLIT}/{line.video}") != (row["question"], row["clip"]):
            issues.add("question", "Expected that of the same line of the release, but got", f"another ({where})")
        elif len(line.option_roles) != len(letters) or not all(role in (ANSWER, *OPTION_KINDS) for role in roles):
            issues.add("option_roles", "Expected a role for each option, but got", f"{describe(str(roles))} ({where})")
        elif [role == ANSWER for role in roles] != [letter == row["answer"] for letter in letters]:
            issues.add("option_roles", f"Expected {ANSWER} for the right option alone, but not in", where)
        elif fault := _fault_of_subject(line):
            issues.add("subject_boxes", f"Expected {fault}, but not in", where)
        else:
            row["option_kinds"] = [None if role == ANSWER else role for role in roles]
            row["subject"] = json.dumps(_subject_evidence(line), ensure_ascii=False)
    problems.extend(issues, f"{path.name}, ")


def _fault_of_subject(line: QuestionRoles) -> str:
    """What is expected of the boxes of a question's subject and is not so; empty where they can be used."""
    if bool(line.subject_boxes) != (line.subject is not None):
        return "boxes where there is a subject, and none without one"
    if not all(len(key) < 10 and key.isascii() and key.isdecimal() for key in line.subject_boxes):
        return "whole seconds as keys"
    if not all(official_box(box) is not None or _is_numbers(box) for box in line.subject_boxes.values()):
        return 'each box as "[x1, y1, x2, y2]" in pixels'
    return ""


def _subject_evidence(line: QuestionRoles) -> list[dict[str, Any]]:
    """The subject in the form of evidence, for the seconds that have boxes; none without one."""
    if line.subject is None:
        return []
    seconds = sorted(map(int, line.subject_boxes))
    times = {"evidence_start_time": clock(seconds[0]), "evidence_end_time": clock(seconds[-1])}
    return [{**times, "evidence_instance_id": line.subject, "bboxes_in_range": line.subject_boxes}]


def frame_size(path: Path) -> dict[str, int | None]:
    """Width and height in pixels of a clip as it is shown, from its header; None where it cannot be decoded."""
    try:
        with FrameStream(path) as stream:
            width, height = stream.size
            if round(next(stream.frames(as_stored=True)).rotation / 90) % 2:
                width, height = height, width
    except UnreadableClip:
        width = height = 0
    return {"width": width or None, "height": height or None}


def frame_of(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Width and height of a prepared row's clip in pixels, None where unknown."""
    return (row["width"], row["height"]) if row["width"] and row["height"] else None
