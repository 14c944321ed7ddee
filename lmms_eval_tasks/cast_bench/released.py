"""Reading the released CaST-Bench questions into items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.api import Problems
from lmms_eval_tasks.api.release import is_safe, quote, read_released_json, summarize_names
from lmms_eval_tasks.cast_bench.card import OPTION_KINDS, OTHER
from lmms_eval_tasks.cast_bench.released_evidence import read_evidence
from lmms_eval_tasks.cast_bench.taxonomy import read_option_kind, read_type

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
