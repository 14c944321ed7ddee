"""Reading the metadata files of the official CausalVQA release into items."""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo

from lmms_eval_tasks.api import Problems
from lmms_eval_tasks.api.forms import (
    Cell,
    ClipName,
    Key,
    NumberedOptions,
    OneOf,
    ReleaseRow,
    Text,
    mismatch,
    read_csv_form,
)
from lmms_eval_tasks.causalvqa.card import DIFFICULTIES, TYPES

ANSWERS = ("correct1", "correct2")
SCENARIO = "scenario"
"""A column that a release may have (Table 5 of the paper); scores can then be broken down by it."""
# Empty, and what the usual writers of tables put for an empty cell.
WITHHELD = ("", "nan", "none", "null")
_NUMBER = re.compile(r"0*([0-9]+?)(?:\.0*)?")


def metadata_name(split: str) -> str:
    """Path of a split's metadata file below the release's root."""
    return f"{split}/{split}_metadata.csv"


def _read_answer(value: str, info: ValidationInfo) -> str | None:
    """The letter of the option whose number a cell has, by its place; None where it is withheld."""
    numbers = list(info.data.get(str(info.field_name).replace("correct", "choices"), ()))
    if value.strip().lower() in WITHHELD or not numbers:
        return None
    match = _NUMBER.fullmatch(value.strip())
    if match is None or match[1] not in numbers:
        counted = numbers == [str(number) for number in range(1, len(numbers) + 1)]
        raise mismatch(f"one of the options {f'1-{len(numbers)}' if counted else ', '.join(numbers)}", value)
    return ascii_uppercase[numbers.index(match[1])]


Answer = Annotated[str | None, BeforeValidator(_read_answer)]


class ReleasedQuestion(ReleaseRow):
    """A row of a metadata file."""

    qid: Annotated[Text, Key]
    type: Annotated[str, OneOf(TYPES)]
    difficulty: Annotated[str, OneOf(DIFFICULTIES, {"med": "medium"})]
    question: Text
    renamed_video: ClipName
    choices1: NumberedOptions
    choices2: NumberedOptions
    correct1: Answer = None
    correct2: Answer = None
    scenario: Cell = ""


def read_items(split: str, content: bytes) -> tuple[list[dict[str, Any]], Problems]:
    """The items of a split: two per row of its metadata file, in the file's order."""
    file, problems = metadata_name(split), Problems()
    items: list[dict[str, Any]] = []
    answered: dict[bool, str] = {}
    for row in read_csv_form(ReleasedQuestion, content, file, problems, together=ANSWERS):
        for version, (options, answer) in enumerate(((row.choices1, row.correct1), (row.choices2, row.correct2))):
            if len(set(options.values())) < len(options):
                problems.warn(f"{file}: questions with two equal options", f"{row.qid} in choices{version + 1}")
            answered.setdefault(answer is not None, row.place)
            items.append(
                {
                    "item_id": f"{row.qid}_{version}",
                    "group_id": row.qid,
                    "question": row.question,
                    "clip": f"{split}/{row.renamed_video}",
                    "type": row.type,
                    "difficulty": row.difficulty,
                    SCENARIO: row.scenario,
                    "options": list(options.values()),
                    "answer": answer,
                    "version": version,
                }
            )
    if len(answered) == 2 and not problems:
        rows = f"{answered[True]} has one and {answered[False]} lacks one"
        what = f"Expected answers to all questions or to none, but {rows}."
        problems.add(file, what, remedy="use the file as it was released.")
    return items, problems
