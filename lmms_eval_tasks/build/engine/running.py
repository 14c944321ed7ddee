"""Running the steps of a build one after the other, and keeping what came of each row."""

from __future__ import annotations

import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from lmms_eval_tasks.build.engine.asking import AskedReply, Asking
from lmms_eval_tasks.build.engine.attrition import StepCounts, count_faults
from lmms_eval_tasks.build.engine.models import Models
from lmms_eval_tasks.build.engine.rows import PipelineRow, check_ids
from lmms_eval_tasks.build.engine.steps import AnyStep, Removed, RowStep
from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import Progress, no_progress


@dataclass(frozen=True)
class RowOutcome:
    """Outcome of a row in a step."""

    rows: Sequence[PipelineRow] = ()
    removed: Removed | None = None
    asked: Sequence[AskedReply] = ()
    without_reply: bool = False


@dataclass(frozen=True)
class StepRun:
    """Counts of one step."""

    step: AnyStep
    left: Sequence[Any]
    counts: StepCounts
    without_reply: int


Log = Callable[[AnyStep, PipelineRow, RowOutcome], None]
"""Keeps what became of a row in a step; called in the order of the steps and of their rows."""


class HiddenLines:
    """JSON lines that nobody sees until they are written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None

    def add(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Add lines."""
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115, open until the lines are written
        self._file.write(as_lines(lines).encode("utf-8"))

    def write(self, path: Path) -> None:
        """Write all lines to a file; none can be added any more."""
        with replacing(path) as beside, beside.open("wb") as file:
            if self._file is not None:
                self._file.seek(0)
                shutil.copyfileobj(self._file, file)
                self._file.close()


def run_steps(
    steps: Sequence[AnyStep],
    rows: Sequence[PipelineRow],
    models: Models,
    log: Log,
    progress: Progress = no_progress,
) -> list[StepRun]:
    """Run steps, each on the rows that the one before it left."""
    runs: list[StepRun] = []
    for step in steps:
        run = _run_rows if isinstance(step, RowStep) else _run_set
        runs.append(run(step, rows, models, log, progress))
        rows = runs[-1].left
        check_ids(rows, f"the rows of the step {step.name!r}")
    return runs


def _run_set(step: Any, rows: Sequence[PipelineRow], models: Models, log: Log, progress: Progress) -> StepRun:
    removed: dict[str, Removed] = {}
    left = step.run(rows, removed.__setitem__)
    progress(step.name, len(rows), len(rows))
    if step.takes is step.gives and {row.id for row in left} != {row.id for row in rows} - removed.keys():
        raise RuntimeError(f"The step {step.name!r} lost rows without a reason.")
    tally = _Tally(step, log)
    for row in rows:
        tally.add(row, RowOutcome(removed=removed.get(row.id)))
    return tally.as_run(left, models)


def _run_rows(step: Any, rows: Sequence[PipelineRow], models: Models, log: Log, progress: Progress) -> StepRun:
    tally = _Tally(step, log)
    left: list[PipelineRow] = []
    threads = models.threads(step.roles) if step.roles else os.cpu_count()
    with ThreadPoolExecutor(threads, thread_name_prefix="build") as pool:
        waiting: deque[tuple[PipelineRow, Future[RowOutcome]]] = deque(
            (row, pool.submit(_run_row, step, row, models)) for row in rows
        )
        try:
            for done, future in enumerate(as_completed([future for _, future in waiting]), start=1):
                future.result()
                # What was asked is let go of as soon as those before it are done.
                while waiting and waiting[0][1].done():
                    row, first = waiting.popleft()
                    outcome = first.result()
                    tally.add(row, outcome)
                    left += outcome.rows
                progress(step.name, done, len(rows))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return tally.as_run(left, models)


def _run_row(step: RowStep[Any, Any], row: PipelineRow, models: Models) -> RowOutcome:
    asking = Asking(models)
    try:
        rows = step.run(row, asking)
    except Removed as removed:
        # Its traceback would hold what the step had in hand.
        return RowOutcome((), removed.with_traceback(None), asking.asked, asking.without_reply)
    if not rows or not all(isinstance(made, step.gives) for made in rows):
        raise RuntimeError(f"The step {step.name!r} made no {step.gives.__name__} of the row {row.id!r}.")
    return RowOutcome(rows, None, asking.asked, asking.without_reply)


class _Tally:
    """Counts what became of the rows of a step, and has each logged."""

    def __init__(self, step: AnyStep, log: Log) -> None:
        self._step, self._log = step, log
        self._came = self._without_reply = 0
        self._removed: Counter[str] = Counter()
        self._asked_again: Counter[str] = Counter()

    def add(self, row: PipelineRow, outcome: RowOutcome) -> None:
        self._log(self._step, row, outcome)
        self._came += 1
        self._without_reply += outcome.without_reply
        if outcome.removed:
            self._removed[outcome.removed.reason] += 1
        self._asked_again += count_faults(asked.unreadable for asked in outcome.asked if asked.reason is None)

    def as_run(self, left: Sequence[PipelineRow], models: Models) -> StepRun:
        """Return the run of the step, given the rows that it left."""
        counts = StepCounts(
            self._step.name,
            self._came,
            len(left),
            self._removed,
            self._asked_again,
            models.take_server_faults(),
            self._step.paper,
        )
        return StepRun(self._step, left, counts, self._without_reply)
