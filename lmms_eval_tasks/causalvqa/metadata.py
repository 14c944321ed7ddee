"""Reading the metadata files of the official CausalVQA release into items."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.api import Problems
from lmms_eval_tasks.api.release import CsvTable, is_safe, quote
from lmms_eval_tasks.causalvqa.card import DIFFICULTIES, TYPES

COLUMNS = ("qid", "type", "question", "choices1", "choices2", "difficulty", "renamed_video")
ANSWERS = ("correct1", "correct2")
SCENARIO = "scenario"
"""A column that a release may have (Table 5 of the paper); scores can then be broken down by it."""
# Empty, and what the usual writers of tables put for an empty cell.
WITHHELD = ("", "nan", "none", "null")

_OPTION = re.compile(r"([0-9]+)\s*\.\s*(\S.*)", re.DOTALL)
_NUMBER = re.compile(r"([0-9]+)(?:\.0*)?")


def metadata_name(split: str) -> str:
    """Path of a split's metadata file below the release's root."""
    return f"{split}/{split}_metadata.csv"


def read_choices(text: str) -> dict[str, str]:
    """The options of one question, written as `N. text|N. text`: number to text, in their order."""
    options: dict[str, str] = {}
    for part in text.split("|"):
        match = _OPTION.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"Expected options as `N. text|N. text`, but got {quote(part)}.")
        number = _plain(match[1])
        if number in options:
            raise ValueError(f"Expected each option number once, but got {number} twice.")
        options[number] = match[2]
    if not 2 <= len(options) <= len(ascii_uppercase):
        raise ValueError(f"Expected 2 to {len(ascii_uppercase)} options, but got {len(options)}.")
    return options


def read_items(split: str, content: bytes) -> tuple[list[dict[str, Any]], Problems]:
    """The items of a split: two per row of its metadata file, in the file's order."""
    file = metadata_name(split)
    problems = Problems()
    items: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    answered: dict[bool, int] = {}
    for number, row in enumerate(_read_rows(file, content, problems), 2):
        qid = row["qid"].strip()
        where = f"{file}, row {number} (qid {qid or 'missing'})"
        if not qid:
            problems.add(where, "Expected a qid, but got none.")
        elif qid in seen:
            problems.add(where, f"Expected each qid once, but row {seen[qid]} has it too.")
        seen.setdefault(qid, number)
        common = {"group_id": qid, **_read_common(split, row, where, problems)}
        for version, (choices, correct) in enumerate((("choices1", "correct1"), ("choices2", "correct2"))):
            try:
                options = read_choices(row[choices])
            except ValueError as error:
                problems.add(where, f"{choices}: {error}")
                continue
            if len(set(options.values())) < len(options):
                problems.warn(f"{file}: questions with two equal options", f"{qid} in {choices}")
            answer = _read_answer(row, correct, options, where, problems)
            answered.setdefault(answer is not None, number)
            items.append(
                {
                    "item_id": f"{qid}_{version}",
                    **common,
                    "options": list(options.values()),
                    "answer": answer,
                    "version": version,
                }
            )
    if len(answered) == 2 and not problems:
        rows = f"row {answered[True]} has one and row {answered[False]} lacks one"
        what = f"Expected answers to all questions or to none, but {rows}."
        problems.add(file, what, remedy="use the file as it was released.")
    return items, problems


def _read_rows(file: str, content: bytes, problems: Problems) -> list[dict[str, str]]:
    try:
        table = CsvTable(content)
        lines = [cells for _, cells in table]
    except ValueError as error:
        problems.add(file, str(error))
        return []
    header = table.columns
    for name in COLUMNS:
        if name not in header:
            problems.add(file, f"Expected a column {name}, but the columns are {table.named or 'missing'}.")
    if table.repeated:
        problems.add(file, f"Expected each column once, but got {table.repeated} again.")
    if sum(name in header for name in ANSWERS) == 1:
        problems.add(file, f"Expected both columns {' and '.join(ANSWERS)} or neither, but got one of them.")
    if not lines:
        problems.add(file, "Expected questions below the header, but got none.")
    rows = []
    for number, cells in enumerate(lines, 2):
        if len(cells) != len(header):
            problems.add(f"{file}, row {number}", f"Expected {len(header)} cells, but got {len(cells)}.")
        rows.append(dict(zip(header, cells, strict=False)))
    return [] if problems else rows


def _read_common(split: str, row: dict[str, str], where: str, problems: Problems) -> dict[str, Any]:
    kind, difficulty = row["type"].strip().lower(), row["difficulty"].strip().lower()
    difficulty = "medium" if difficulty == "med" else difficulty
    question, video = row["question"].strip(), row["renamed_video"].strip()
    if kind not in TYPES:
        problems.add(where, f"Expected type to be one of {', '.join(TYPES)}, but got {quote(row['type'])}.")
    if difficulty not in DIFFICULTIES:
        got = quote(row["difficulty"])
        problems.add(where, f"Expected difficulty to be one of easy, med, medium, hard, but got {got}.")
    if not question:
        problems.add(where, "Expected a question, but got none.")
    if not is_safe(video):
        problems.add(where, f"Expected renamed_video to name a file in {split}/videos, but got {quote(video)}.")
    scenario = row.get(SCENARIO, "").strip()
    clip = f"{split}/{PurePosixPath(video)}"
    return {"question": question, "clip": clip, "type": kind, "difficulty": difficulty, SCENARIO: scenario}


def _read_answer(
    row: dict[str, str], column: str, options: dict[str, str], where: str, problems: Problems
) -> str | None:
    text = row.get(column, "").strip()
    if text.lower() in WITHHELD:
        return None
    match = _NUMBER.fullmatch(text)
    numbers = list(options)
    if match is None or _plain(match[1]) not in options:
        counted = numbers == [str(number) for number in range(1, len(numbers) + 1)]
        options_text = f"1-{len(numbers)}" if counted else ", ".join(numbers)
        problems.add(where, f"Expected {column} to be one of the options {options_text}, but got {quote(text)}.")
        return None
    return ascii_uppercase[numbers.index(_plain(match[1]))]


def _plain(digits: str) -> str:
    return digits.lstrip("0") or "0"
