"""A small pipeline: numbers are described, the descriptions checked, and the even ones removed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.construct.engine.config import BuildConfig
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.running import Pipeline
from lmms_eval_tasks.construct.engine.steps import (
    Asking,
    PaperCount,
    PipelineRow,
    Remove,
    Removed,
    keep_each,
    step,
)
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.judge.client import UnreadableReply

PROMPTS = {
    "describe": Prompt("describe", "You describe a number.\n{case}"),
    "check": Prompt("check", "You check a description.\n{case}"),
}


class ToyConfig(BuildConfig):
    numbers: int = 6
    check: bool = True


class NumberRow(PipelineRow):
    number: int


class DescribedRow(PipelineRow):
    number: int
    text: str


class Description(Form):
    text: str


def read_end(text: str) -> str:
    if not text.endswith("END"):
        raise UnreadableReply("missing END: cut off")
    return text.removesuffix("END").strip()


@step("descriptions", asks=("writer",), requests=1, characters=400, reply_tokens=50, passes=0.5)
def describe(row: NumberRow, asking: Asking) -> DescribedRow:
    reply = asking.ask("writer", "describe", Description, images=(b"picture",), number=row.number)
    if not reply.text:
        raise Removed("an empty description", f"number {row.number}")
    return DescribedRow(id=row.id, number=row.number, text=reply.text)


@step("blind check", asks=("checker",), paper="61%", section="2.2", requests=1, characters=200, reply_tokens=10)
def check(row: DescribedRow, asking: Asking) -> DescribedRow:
    if asking.ask_text("checker", "check", read_end, text=row.text) != "good":
        raise Removed("answered without a look")
    return row


def refuse_even(row: DescribedRow) -> DescribedRow:
    if row.number % 2 == 0:
        raise Removed("even")
    return row


@step("odd numbers")
def odd(rows: Sequence[DescribedRow], remove: Remove) -> list[DescribedRow]:
    return keep_each(rows, remove, refuse_even)


def write(rows: Sequence[DescribedRow], folder: Path, config: ToyConfig) -> Sequence[str]:
    lines: list[dict[str, Any]] = [{"number": row.number, "text": row.text} for row in rows]
    (folder / "set.json").write_text(json.dumps(lines))
    return [] if config.check else ["Nothing was checked."]


PIPELINE = Pipeline(
    benchmark="toy",
    config=ToyConfig,
    read=lambda config: [NumberRow(id=f"n{number}", number=number) for number in range(config.numbers)],
    source_files=lambda config: [],
    steps=lambda config: [describe, *([check] if config.check else []), odd],
    write=write,
    first="numbers",
    paper=PaperCount("3,764", "2.2"),
)
