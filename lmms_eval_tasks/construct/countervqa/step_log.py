"""`steps.jsonl`: a row for everything that a model was asked, also where nothing came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmms_eval_tasks.construct.countervqa.rows import TakeRow
from lmms_eval_tasks.construct.engine.running import HiddenLines, RowOutcome
from lmms_eval_tasks.construct.engine.steps import AnyStep, AskedReply, PipelineRow

STEPS = "steps.jsonl"


class StepLog:
    """Keeps what models were asked, in an order that does not depend on who answers first."""

    def __init__(self, folder: Path) -> None:
        self._lines = HiddenLines(folder)
        self.done = 0
        """How many things were asked."""
        self.failed = 0
        """How many of them brought no reply that could be read."""

    def add(self, step: AnyStep, row: PipelineRow, outcome: RowOutcome) -> None:
        """Add what was asked about a row."""
        if outcome.asked and isinstance(row, TakeRow):
            self._lines.add(_log_row(row, row.about or step.name, asked) for asked in outcome.asked)
            self.done += len(outcome.asked)
            self.failed += sum(asked.reply is None for asked in outcome.asked)

    def write(self, path: Path) -> None:
        """Write all rows to a file."""
        self._lines.write(path)


def _log_row(row: TakeRow, about: str, asked: AskedReply) -> dict[str, Any]:
    return {
        "role": asked.role,
        "take": row.take.uid,
        "about": about,
        "reply": asked.reply,
        "reason": asked.reason,
        "model": asked.model,
        "prompt": asked.prompt,
        "problem": asked.problem,
    }
