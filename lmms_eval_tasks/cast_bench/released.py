"""Reading the released CaST-Bench questions into items."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from string import ascii_uppercase
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from lmms_eval_tasks.cast_bench.card import CATEGORIES, OTHER
from lmms_eval_tasks.utils.evidence import read_truth
from lmms_eval_tasks.utils.problems import Problems
from lmms_eval_tasks.utils.release import is_safe
from lmms_eval_tasks.utils.timestamps import read_seconds
from lmms_eval_tasks.utils.wording import first_names, quote

FILE = "castbench_hf.jsonl"
FEWEST_OPTIONS, MOST_OPTIONS = 4, 6
KINDS = ("text-based", "video-based", "near-miss")
"""Kinds of wrong options, in the words of the paper's supplement."""


class _Evidence(BaseModel):
    """One released evidence; the fields that are not here are kept as they are."""

    model_config = ConfigDict(extra="allow", strict=True)

    evidence_start_time: str
    evidence_end_time: str
    evidence_instance_id: str
    bboxes_in_range: dict[str, Any] | None = None

    @field_validator("evidence_instance_id")
    @classmethod
    def _named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("Expected evidence_instance_id to name an instance, but got an empty text.")
        return value

    @field_validator("bboxes_in_range")
    @classmethod
    def _boxes_per_second(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        for second, box in (value or {}).items():
            if read_seconds(second) is None:
                raise ValueError(f"Expected the keys of bboxes_in_range to be seconds, but got {quote(second)}.")
            if not _is_box(box):
                raise ValueError(f"Expected a box [x1, y1, x2, y2] at second {second}, but got {quote(box)}.")
        return value

    @model_validator(mode="after")
    def _in_order(self) -> _Evidence:
        start, end = read_seconds(self.evidence_start_time), read_seconds(self.evidence_end_time)
        if start is None or end is None or end < start:
            raise ValueError(
                "Expected evidence times mm:ss, the end not before the start, but got "
                f"{quote(self.evidence_start_time)} to {quote(self.evidence_end_time)}."
            )
        return self


@cache
def question_types() -> Mapping[str, str]:
    """Category of each known question type; types are compared in lower case with single spaces.

    Source: `question_types.json`, which says where it is from.
    """
    text = (resources.files("lmms_eval_tasks.cast_bench") / "question_types.json").read_text(encoding="utf-8")
    known = {_plain(kind): category for kind, category in json.loads(text)["types"].items()}
    if not set(known.values()) <= set(CATEGORIES):
        raise ValueError(f"Expected categories {', '.join(CATEGORIES)} in question_types.json.")
    return known


def read_items(content: bytes) -> tuple[list[dict[str, Any]], Problems, list[str]]:
    """The items of the release, one per line, in the file's order.

    An item's id is the clip's name and the number of the question among those about it. The evidence is kept as
    released.

    Args:
        content: bytes of `castbench_hf.jsonl`.

    Returns:
        Rows of the prepared table without `clip_present`, `width` and `height`; the problems found, with which the
        rows are incomplete; and warnings about what is odd and can be scored.
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
            "use the file as it was released.",
        )
    return items, problems, _warnings(items)


def _read_line(text: bytes, line: int, problems: Problems) -> dict[str, Any] | None:
    try:
        row = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
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
    kind = row.get("question_type") or ""
    evidence = _read_evidence(row.get("evidence"), where, problems)
    return {
        "question": str(question).strip(),
        "options": options,
        "answer": _read_answer(row.get("answer"), options, where, problems),
        "clip": f"test/{PurePosixPath(str(video))}",
        "question_type": str(kind),
        "category": question_types().get(_plain(str(kind)), OTHER),
        "scene_category": str(row.get("scene_category") or ""),
        "evidence": evidence,
        "option_kinds": _read_kinds(row.get("distractor_types"), options, where, problems),
    }


def _read_options(value: object, where: str, problems: Problems) -> list[str]:
    """The texts of the options; an option that is null or empty is one that the question does not have."""
    if not isinstance(value, dict):
        problems.add(where, f"Expected options as an object from letter to text, but got {quote(value)}.")
        return []
    given = {letter: text for letter, text in value.items() if text is not None and text != ""}
    letters = list(ascii_uppercase[: len(given)])
    if sorted(given) != letters or not all(isinstance(text, str) and text.strip() for text in given.values()):
        problems.add(where, f"Expected a text for each option from A on, but got {quote(value)}.")
        return []
    if not FEWEST_OPTIONS <= len(given) <= MOST_OPTIONS:
        problems.add(where, f"Expected {FEWEST_OPTIONS} to {MOST_OPTIONS} options, but got {len(given)}.")
    return [given[letter].strip() for letter in letters]


def _read_answer(value: object, options: list[str], where: str, problems: Problems) -> str | None:
    if value is None or value == "":
        return None
    letters = ascii_uppercase[: len(options)]
    if options and not (isinstance(value, str) and len(value) == 1 and value in letters):
        problems.add(where, f"Expected answer to be one of {', '.join(letters)}, but got {quote(value)}.")
    return str(value)


def _read_evidence(value: object, where: str, problems: Problems) -> str:
    """The evidence as text, as released; every entry of it is checked."""
    entries = value
    if isinstance(value, str):
        try:
            entries = json.loads(value)
        except (ValueError, RecursionError) as error:
            problems.add(where, f"Expected evidence to be JSON, but got: {error}.")
            return value
    if not isinstance(entries, list):
        problems.add(where, f"Expected evidence to be a list, but got {quote(entries)}.")
        return ""
    before = len(problems)
    for number, entry in enumerate(entries, 1):
        try:
            _Evidence.model_validate(entry)
        except ValidationError as error:
            for fault in error.errors():
                problems.add(f"{where}, evidence {number}", _told(fault))
    if len(problems) == before:
        try:
            read_truth(entries)
        except ValueError as error:
            problems.add(where, str(error))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _told(fault: Any) -> str:
    if "error" in fault.get("ctx", {}):
        return str(fault["ctx"]["error"])
    field = ".".join(map(str, fault["loc"])) or "an evidence"
    return f"Expected {field} in the released form, but got {quote(fault['input'])} ({fault['msg']})."


def _read_kinds(value: object, options: list[str], where: str, problems: Problems) -> list[str | None] | None:
    """Kind of each option where the release names them, None for the right one."""
    if value is None:
        return None
    letters = ascii_uppercase[: len(options)]
    if not isinstance(value, dict):
        problems.add(where, f"Expected distractor_types as an object from letter to kind, but got {quote(value)}.")
        return None
    kinds = {letter: _dashed(kind) for letter, kind in value.items() if kind}
    unknown = [kind for letter, kind in kinds.items() if kind not in KINDS or letter not in letters]
    if options and unknown:
        problems.add(where, f"Expected distractor_types among {', '.join(KINDS)}, but got {quote(value)}.")
    return [kinds.get(letter) for letter in letters]


def _dashed(kind: object) -> str:
    """A kind's name in lower case with hyphens between its words."""
    return "-".join(str(kind).lower().replace("_", " ").replace("-", " ").split())


def _warnings(items: list[dict[str, Any]]) -> list[str]:
    found = []
    unknown = Counter(item["question_type"] for item in items if item["category"] == OTHER)
    if unknown:
        names = first_names(f"{quote(kind)} {number}" for kind, number in unknown.most_common())
        found.append(
            f"Questions of a type that belongs to no known category: {unknown.total()} ({names}). They count "
            "overall and in no category."
        )
    repeated = [question for question, number in Counter(item["question"] for item in items).items() if number > 1]
    if repeated:
        found.append(
            f"Questions asked more than once: {len(repeated)}, such as {quote(repeated[0])}. They are scored one "
            "by one here; the official script joins by the question alone and keeps the last."
        )
    alike = [item["item_id"] for item in items if len(set(item["options"])) < len(item["options"])]
    if alike:
        found.append(f"Questions with two options of the same text: {len(alike)}, such as {alike[0]}.")
    return found


def _is_box(value: object) -> bool:
    """Whether a released box is four numbers; one without area, as `[-1, -1, -1, -1]`, says that there is none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return False
    return (
        isinstance(value, list)
        and len(value) == 4
        and all(isinstance(edge, (int, float)) and not isinstance(edge, bool) for edge in value)
        and all(abs(edge) < 1e6 for edge in value)
    )


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
