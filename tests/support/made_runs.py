"""Runs that lie in no folder, and tables as a terminal shows them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.core.output import FittingTable
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

CORRECT, WRONG, UNPARSED, UNSCORED = Outcome.CORRECT, Outcome.WRONG, Outcome.UNPARSED, Outcome.UNSCORED


def make_run(
    records: Mapping[str, Sequence[Record]],
    groups: Mapping[str, tuple[str, ...]] | None = None,
    kind: SetKind = SetKind.OFFICIAL,
    name: str = "replay",
    **fields: Any,
) -> Run:
    tasks = {task: tuple(found) for task, found in records.items()}
    versions = dict.fromkeys((*tasks, *(groups or {})), "1-A")
    sets = dict.fromkeys(tasks, DataSet(kind=kind))
    return Run(Path("x_results.json"), name, tasks, groups or {}, versions, **{"sets": sets, **fields})


def make_groups(outcomes: Iterable[Sequence[Outcome]], **stratum: str) -> list[Record]:
    """Groups of items with these outcomes, whose official reading is ours."""
    return [
        Record(
            f"{group}_{member}", str(group), stratum, "A", None if outcome is UNPARSED else "A", outcome,
            fields={"official_correct": None if outcome is UNSCORED else outcome is CORRECT},
        )
        for group, members in enumerate(outcomes)
        for member, outcome in enumerate(members)
    ]  # fmt: skip


def show(tables: Iterable[FittingTable], width: int = 100) -> str:
    """The tables on a terminal of a width, each with its signature below; no line ends in spaces."""
    console = Console(width=width, record=True, file=io.StringIO())
    for table in tables:
        console.print(table)
        console.print(f"({table.signature})\n", highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())
