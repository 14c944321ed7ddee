"""Runs beside people: two runs on the worked example of annotators' responses."""

from __future__ import annotations

import csv
from pathlib import Path

from logged_runs import TASK, write_records

from lmms_eval_tasks.utils.scoring.record import Record

EXAMPLE = Path(__file__).parent.parent / "utils" / "people" / "human_example"
FIRST = "A B C D C B A E - A A A"
SECOND = "A C A C C D D E E A A A"
"""What each run answers to the items of the worked example, in their order; - cannot be read."""


def write_example_run(folder: Path, answers: str = FIRST) -> Path:
    with (EXAMPLE / "items.csv").open(encoding="utf-8") as file:
        items = zip(csv.DictReader(file), answers.split(), strict=True)
        records = [
            make_record(row["item_id"], row["item"], row["answer"], None if answer == "-" else answer)
            for row, answer in items
        ]
    return write_records(folder, {TASK: records})


def make_record(item_id: str, group: str, key: str, answered: str | None) -> Record:
    fields = {"official_correct": answered == key}
    return Record.graded(item_id, group, {}, key, answered, fields=fields)
