"""Runs beside people: the worked example of annotators' responses with two runs, and items made up without files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from logged_runs import TASK, write_records

from lmms_eval_tasks.utils.people.agreement import SharedItem
from lmms_eval_tasks.utils.people.responses import AskedQuestion
from lmms_eval_tasks.utils.scoring.record import Record

EXAMPLE = Path(__file__).parent.parent / "utils" / "people" / "human_example"
LETTERS = "ABCDE"
FIRST = "A B C D C B A E - A A A"
SECOND = "A C A C C D D E E A A A"
"""What each run answers to the items of the worked example, in their order; - cannot be read."""


def write_example_run(folder: Path, answers: str = FIRST) -> Path:
    """A run that answers the items of the worked example; the folder's name is the model's."""
    with (EXAMPLE / "items.csv").open(encoding="utf-8") as file:
        items = list(csv.DictReader(file))
    records = [
        make_record(row["item_id"], row["item"], row["answer"], None if answer == "-" else answer)
        for row, answer in zip(items, answers.split(), strict=True)
    ]
    return write_records(folder, {TASK: records})


def make_record(item_id: str, group: str, key: str, answered: str | None) -> Record:
    """The record of an answer."""
    fields = {"official_correct": answered == key}
    return Record.graded(item_id, group, {}, key, answered, asked=True, fields=fields)


def make_item(
    number: int, key: str, people: Sequence[str], runs: Sequence[str | None], choices: str = LETTERS, pairs: bool = True
) -> SharedItem:
    """An item that people and runs answered, each two of which are a group, unless each is one of its own."""
    group = str(number // 2 if pairs else number)
    records = tuple(make_record(str(number), group, key, answered) for answered in runs)
    judged = tuple((choice, float(choice == key)) for choice in people)
    return SharedItem(TASK, AskedQuestion(key, choices, item_id=str(number)), judged, records)
