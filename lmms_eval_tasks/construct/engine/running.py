"""A benchmark's pipeline and its run: steps one after the other, with the outcome of each row kept."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Generic

import lmms_eval_tasks
from lmms_eval_tasks.construct.engine.attrition import BuiltSet, StepRun, attrition_table, draw_attrition
from lmms_eval_tasks.construct.engine.config import C
from lmms_eval_tasks.construct.engine.roles import Models
from lmms_eval_tasks.construct.engine.set_folder import FAILED, number_in, refuse_smaller, replacing_set
from lmms_eval_tasks.construct.engine.steps import (
    AskedReply,
    Asking,
    PaperCount,
    PipelineRow,
    Removed,
    Step,
    check_ids,
    roles_of,
)
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import file_sha256, replacing, write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.manifest import SetAttrition


@dataclass(frozen=True)
class Pipeline(Generic[C]):
    benchmark: str
    config: type[C]
    read: Callable[[C], Sequence[PipelineRow]]
    source_files: Callable[[C], Sequence[Path]]
    steps: Callable[[C], Sequence[Step]]
    first: str
    write: Callable[[Sequence[Any], Path, C], Sequence[str]] | None = None
    """Writes the rows that are left into the folder of the release, and returns warnings."""
    paper: PaperCount = field(default_factory=PaperCount)
    write_set: Callable[[PipelineRun[C], Path, bool], BuiltSet] | None = None
    """Writes all files of a set in place of `write_release`, for a benchmark whose sets have another layout."""
    lines: Callable[[Step, PipelineRow, RowOutcome], Sequence[Mapping[str, Any]]] | None = None
    """Lines that are kept of the outcome of a row in a step, in place of those of `audit_lines`."""


@dataclass(frozen=True)
class RowOutcome:
    rows: Sequence[PipelineRow] = ()
    removed: Removed | None = None
    asked: Sequence[AskedReply] = ()
    without_reply: bool = False


@dataclass(frozen=True)
class PipelineRun(Generic[C]):
    pipeline: Pipeline[C]
    config: C
    values: Mapping[str, Any]
    sources: Sequence[Mapping[str, str]]
    rows: Sequence[Any]
    runs: Sequence[StepRun]
    audits: Mapping[Step, HiddenLines]
    sent: int
    progress: Progress

    @property
    def left(self) -> Sequence[Any]:
        return self.runs[-1].left if self.runs else self.rows


Log = Callable[[Step, PipelineRow, RowOutcome], None]
"""Keeps the outcome of a row in a step; called in the order of the steps and of their rows."""


class HiddenLines:
    """JSON lines in a file without a name, which a killed build does not leave behind."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None

    def add(self, lines: Iterable[Mapping[str, Any]]) -> None:
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115, open until the lines are written
        self._file.write(as_lines(lines).encode("utf-8"))

    def copy_to(self, file: IO[bytes]) -> None:
        if self._file is not None:
            self._file.seek(0)
            shutil.copyfileobj(self._file, file)
            self._file.close()


def write_lines(path: Path, *audits: HiddenLines) -> None:
    with replacing(path) as beside, beside.open("wb") as file:
        for audit in audits:
            audit.copy_to(file)


def run_steps(
    steps: Sequence[Step],
    rows: Sequence[PipelineRow],
    models: Models,
    log: Log,
    progress: Progress = no_progress,
) -> list[StepRun]:
    runs: list[StepRun] = []
    for step in steps:
        left: list[PipelineRow] = []
        outcomes = (_look_at_all if step.of_all else _look_at_each)(step, rows, models, left, progress)
        removed, asked_again = Counter[str](), Counter[str]()
        asked_for = unanswered = without_reply = 0
        with closing(outcomes):
            for row, outcome in outcomes:
                log(step, row, outcome)
                without_reply += outcome.without_reply
                if outcome.removed:
                    removed[outcome.removed.reason] += 1
                asked_for += len(outcome.asked)
                unanswered += sum(asked.reply is None for asked in outcome.asked)
                for asked in outcome.asked:
                    asked_again.update(asked.unreadable if asked.reason is None else ())
        check_ids(left, f"the rows of the step {step.name!r}")
        counts = (removed, asked_again, models.take_server_faults(), asked_for, unanswered, without_reply)
        runs.append(StepRun(step, len(rows), left, *counts))
        rows = left
    return runs


Outcomes = Generator[tuple[PipelineRow, RowOutcome]]


def _look_at_all(
    step: Step, rows: Sequence[PipelineRow], models: Models, left: list[PipelineRow], progress: Progress
) -> Outcomes:
    removed: dict[str, Removed] = {}
    left += step.run(rows, removed.__setitem__)
    progress(step.name, len(rows), len(rows))
    if step.takes is step.gives and {row.id for row in left} != {row.id for row in rows} - removed.keys():
        raise RuntimeError(f"The step {step.name!r} lost rows without a reason.")
    for row in rows:
        yield row, RowOutcome(removed=removed.get(row.id))


def _look_at_each(
    step: Step, rows: Sequence[PipelineRow], models: Models, left: list[PipelineRow], progress: Progress
) -> Outcomes:
    threads = models.threads(step.roles) if step.roles else os.cpu_count()
    with ThreadPoolExecutor(threads, thread_name_prefix="build") as pool:
        waiting = deque((row, pool.submit(_look_at_row, step, row, models)) for row in rows)
        try:
            for done, future in enumerate(as_completed([future for _, future in waiting]), start=1):
                future.result()
                # What was asked is let go of as soon as those before it are done.
                while waiting and waiting[0][1].done():
                    row, first = waiting.popleft()
                    outcome = first.result()
                    left += outcome.rows
                    yield row, outcome
                progress(step.name, done, len(rows))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _look_at_row(step: Step, row: PipelineRow, models: Models) -> RowOutcome:
    asking = Asking(models)
    try:
        made = step.run(row, asking)
    except Removed as removed:
        # Its traceback would hold what the step had in hand.
        return RowOutcome((), removed.with_traceback(None), asking.asked, asking.without_reply)
    rows = [made] if isinstance(made, PipelineRow) else made
    if not rows or not all(isinstance(one, step.gives) for one in rows):
        raise RuntimeError(f"The step {step.name!r} made no {step.gives.__name__} of the row {row.id!r}.")
    return RowOutcome(rows, None, asking.asked, asking.without_reply)


REPLIES = "replies"
STEPS = "steps"
RELEASE = "release"
ATTRITION = "attrition.json"
PICTURE = "attrition.png"
FACTS = "build.json"
SET = (STEPS, ATTRITION, PICTURE, FACTS, RELEASE)
"""The parts of a set."""


def run_pipeline(
    pipeline: Pipeline[C],
    config: C,
    values: dict[str, Any],
    steps: Sequence[Step],
    rows: Sequence[PipelineRow],
    out: Path,
    max_requests: int | None = None,
    replace: bool = False,
    progress: Progress = no_progress,
) -> BuiltSet:
    models = Models(config, config.replies or out / REPLIES, max_requests)
    models.check(roles_of(steps))
    # Before anything is asked: by its end a build of hours may find other files in their place.
    sources = [{"file": path.name, "sha256": file_sha256(path)} for path in pipeline.source_files(config)]
    audits = {step: HiddenLines(out) for step in steps}

    def log(step: Step, row: PipelineRow, outcome: RowOutcome) -> None:
        if lines := (pipeline.lines or audit_lines)(step, row, outcome):
            audits[step].add(lines)

    runs = run_steps(steps, rows, models, log, progress)
    run = PipelineRun(pipeline, config, values, sources, rows, runs, audits, models.sent, progress)
    return (pipeline.write_set or write_release)(run, out, replace)


def write_release(run: PipelineRun[C], out: Path, replace: bool) -> BuiltSet:
    pipeline, left = run.pipeline, run.left
    assert pipeline.write is not None
    without_reply = sum(one.without_reply for one in run.runs)
    facts = {
        "version": lmms_eval_tasks.__version__,
        "benchmark": pipeline.benchmark,
        "config": run.values,
        "sources": run.sources,
    }
    with replacing_set(out, SET) as folder:
        for number, (step, audit) in enumerate(run.audits.items(), start=1):
            write_lines(folder / STEPS / f"{number:02d}_{'_'.join(step.name.split())}.jsonl", audit)
        attrition = {"start": {pipeline.first: len(run.rows)}, "steps": [one.facts() for one in run.runs]}
        write_file(folder / ATTRITION, json.dumps(attrition, ensure_ascii=False, indent=1) + "\n")
        draw_attrition(pipeline.first, len(run.rows), run.runs, folder / PICTURE)
        if not left:
            raise InputError(_nothing_left(run.runs, out))
        if (out / RELEASE).exists() and not replace:
            hint = f"{without_reply:,} rows went because a server gave no reply; " if without_reply else ""
            refuse_smaller(
                out, number_in(out / ATTRITION, _rows_of), len(left), f"{hint}{out / FAILED / STEPS} has each row."
            )
        write_file(folder / FACTS, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
        (folder / RELEASE).mkdir()
        warnings = list(pipeline.write(left, folder / RELEASE, run.config))
    if without_reply:
        warnings.append(
            f"{without_reply:,} rows went because a server gave no reply; the same command asks for them again."
        )
    table = attrition_table(pipeline.first, len(run.rows), pipeline.paper, run.runs)
    summary = f"{len(left):,} of {len(run.rows):,} {pipeline.first}; {run.sent:,} requests were sent"
    made = SetAttrition(start=pipeline.first, rows=len(run.rows), steps=tuple(one.as_step() for one in run.runs))
    return BuiltSet(out / RELEASE, summary, [table], warnings, made)


def _rows_of(attrition: Mapping[str, Any]) -> Any:
    """How many rows a set has, by its file of counts."""
    return attrition["steps"][-1]["out"] if attrition["steps"] else next(iter(attrition["start"].values()))


def _nothing_left(runs: Sequence[StepRun], out: Path) -> str:
    last = next((run for run in runs if not run.left), None)
    if last is None or not last.came:
        return "There was no row to begin with, and no set was written."
    reasons = ", ".join(f"{reason} ({number:,})" for reason, number in last.removed.most_common())
    audits = out / FAILED / STEPS
    return f"No row was left after the step {last.step.name!r}: {reasons}.\nNo set was written; {audits} has each row."


def audit_lines(step: Step, row: PipelineRow, outcome: RowOutcome) -> list[dict[str, Any]]:
    line = {
        "row": row.id,
        "removed": outcome.removed.reason if outcome.removed else None,
        "detail": outcome.removed.detail if outcome.removed else None,
        "became": [made.id for made in outcome.rows],
        "asked": [asked.facts() for asked in outcome.asked],
    }
    return [line]
