"""A benchmark's pipeline and its run: steps one after the other, and the set that is written with its attrition."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Generic

import lmms_eval_tasks
from lmms_eval_tasks.construct.engine.config import C
from lmms_eval_tasks.construct.engine.set_folder import FAILED, refuse_smaller, replacing_set
from lmms_eval_tasks.construct.engine.steps import (
    AskedReply,
    Asking,
    Models,
    PipelineRow,
    ReadyStep,
    Removed,
    check_ids,
    roles_of,
)
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import file_sha256, replacing, write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.manifest import AttritionStep, SetAttrition


@dataclass(frozen=True)
class BuiltTable:
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class BuiltSet:
    folder: Path | None
    summary: str
    tables: Sequence[BuiltTable] = ()
    warnings: Sequence[str] = ()
    attrition: SetAttrition | None = None


@dataclass(frozen=True)
class Findings:
    """Lines by the name of their file, beside those of the steps; facts of `build.json`; tables and warnings."""

    lines: Mapping[str, Iterable[Mapping[str, Any]]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    tables: Sequence[BuiltTable] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Pipeline(Generic[C]):
    benchmark: str
    config: type[C]
    read: Callable[[C], Sequence[PipelineRow]]
    source_files: Callable[[C], Sequence[Path]]
    steps: Callable[[C], Sequence[ReadyStep]]
    first: str
    write: Callable[[Sequence[Any], Path, C], Sequence[str]]
    """Writes the rows that are left into the folder of the release, and returns warnings."""
    paper: str = ""
    find: Callable[[PipelineRun[C]], Findings] | None = None
    """Says what a benchmark has to say of a build beside its attrition, also where no row is left."""


@dataclass(frozen=True)
class RowOutcome:
    rows: Sequence[PipelineRow] = ()
    removed: Removed | None = None
    asked: Sequence[AskedReply] = ()
    without_reply: bool = False


@dataclass
class StepRun:
    step: ReadyStep
    came: int
    left: list[Any] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)
    asked_again: Counter[str] = field(default_factory=Counter)
    server_faults: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    unusable: int = 0
    """How many things that were asked brought no usable reply."""
    without_reply: int = 0
    """How many rows a server gave no reply about."""

    def count(self, outcome: RowOutcome) -> None:
        self.without_reply += outcome.without_reply
        self.removed.update([outcome.removed.reason] if outcome.removed else ())
        self.asked += len(outcome.asked)
        for asked in outcome.asked:
            self.unusable += asked.reply is None
            self.asked_again.update(asked.unreadable if asked.reason is None else ())


@dataclass(frozen=True)
class PipelineRun(Generic[C]):
    pipeline: Pipeline[C]
    config: C
    values: Mapping[str, Any]
    sources: Sequence[Mapping[str, str]]
    rows: Sequence[Any]
    runs: Sequence[StepRun]
    audits: Mapping[ReadyStep, IO[bytes]]
    sent: int
    progress: Progress

    @property
    def left(self) -> Sequence[Any]:
        return self.runs[-1].left if self.runs else self.rows


Log = Callable[[ReadyStep, PipelineRow, RowOutcome], None]
"""Keeps the outcome of a row in a step; called in the order of the steps and of their rows."""


def run_steps(
    steps: Sequence[ReadyStep],
    rows: Sequence[PipelineRow],
    models: Models,
    log: Log,
    progress: Progress = no_progress,
) -> list[StepRun]:
    runs: list[StepRun] = []
    for step in steps:
        run = StepRun(step, len(rows))
        with closing((_look_at_all if step.of_all else _look_at_each)(run, rows, models, progress)) as outcomes:
            for row, outcome in outcomes:
                log(step, row, outcome)
                run.count(outcome)
        check_ids(run.left, f"the rows of the step {step.name!r}")
        run.server_faults = models.take_server_faults()
        runs.append(run)
        rows = run.left
    return runs


Outcomes = Generator[tuple[PipelineRow, RowOutcome]]


def _look_at_all(run: StepRun, rows: Sequence[PipelineRow], models: Models, progress: Progress) -> Outcomes:
    step, removed = run.step, dict[str, Removed]()
    run.left += step.run(rows, removed.__setitem__)
    progress(step.name, len(rows), len(rows))
    if step.takes is step.gives and {row.id for row in run.left} != {row.id for row in rows} - removed.keys():
        raise RuntimeError(f"The step {step.name!r} lost rows without a reason.")
    for row in rows:
        yield row, RowOutcome(removed=removed.get(row.id))


def _look_at_each(run: StepRun, rows: Sequence[PipelineRow], models: Models, progress: Progress) -> Outcomes:
    step = run.step
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
                    run.left += outcome.rows
                    yield row, outcome
                progress(step.name, done, len(rows))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _look_at_row(step: ReadyStep, row: PipelineRow, models: Models) -> RowOutcome:
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


@dataclass(frozen=True)
class PlannedRun(Generic[C]):
    """A pipeline with its configuration, as read and as written, the steps that this chooses, and the first rows."""

    pipeline: Pipeline[C]
    config: C
    values: Mapping[str, Any]
    steps: Sequence[ReadyStep]
    rows: Sequence[PipelineRow]


def run_pipeline(
    planned: PlannedRun[C],
    out: Path,
    max_requests: int | None = None,
    replace: bool = False,
    progress: Progress = no_progress,
) -> BuiltSet:
    pipeline, config, steps, rows = planned.pipeline, planned.config, planned.steps, planned.rows
    models = Models(config, config.replies or out / REPLIES, max_requests)
    models.check(roles_of(steps))
    # Before anything is asked: by its end a build of hours may find other files in their place.
    sources = [{"file": path.name, "sha256": file_sha256(path)} for path in pipeline.source_files(config)]
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        # Without a name, so that a killed build leaves none behind.
        audits = {step: files.enter_context(TemporaryFile(dir=out)) for step in steps}

        def log(step: ReadyStep, row: PipelineRow, outcome: RowOutcome) -> None:
            audits[step].write(as_lines([audit_line(row, outcome)]).encode("utf-8"))

        runs = run_steps(steps, rows, models, log, progress)
        run = PipelineRun(pipeline, config, planned.values, sources, rows, runs, audits, models.sent, progress)
        return write_set(run, out, replace)


def audit_line(row: PipelineRow, outcome: RowOutcome) -> dict[str, Any]:
    return {
        "row": row.id,
        "removed": outcome.removed.reason if outcome.removed else None,
        "detail": outcome.removed.detail if outcome.removed else None,
        "became": [made.id for made in outcome.rows],
        "asked": [asked.facts() for asked in outcome.asked],
    }


def write_audit(path: Path, audit: IO[bytes]) -> None:
    with replacing(path) as beside, beside.open("wb") as file:
        audit.seek(0)
        shutil.copyfileobj(audit, file)


def write_set(run: PipelineRun[C], out: Path, replace: bool) -> BuiltSet:
    pipeline, left = run.pipeline, run.left
    found = pipeline.find(run) if pipeline.find else Findings()
    without_reply = sum(one.without_reply for one in run.runs)
    made = SetAttrition(
        start=pipeline.first,
        rows=len(run.rows),
        steps=tuple(
            AttritionStep(step=one.step.name, came=one.came, left=len(one.left), removed=_by_number(one.removed))
            for one in run.runs
        ),
    )
    attrition = {
        "start": {pipeline.first: len(run.rows)},
        "steps": [
            {
                "step": one.step.name,
                "in": one.came,
                "out": len(one.left),
                "removed": _by_number(one.removed),
                "asked again": _by_number(one.asked_again),
                "paper": one.step.paper or None,
            }
            for one in run.runs
        ],
    }
    facts = {
        "version": lmms_eval_tasks.__version__,
        "benchmark": pipeline.benchmark,
        "config": run.values,
        "sources": run.sources,
        **found.facts,
    }
    with replacing_set(out, SET) as folder:
        for number, (step, audit) in enumerate(run.audits.items(), start=1):
            write_audit(folder / STEPS / f"{number:02d}_{'_'.join(step.name.split())}.jsonl", audit)
        for name, lines in found.lines.items():
            write_file(folder / STEPS / name, as_lines(lines))
        write_file(folder / ATTRITION, json.dumps(attrition, ensure_ascii=False, indent=1) + "\n")
        draw_attrition(run, folder / PICTURE)
        if not left:
            raise InputError(_nothing_left(run.runs, out))
        if (out / RELEASE).exists() and not replace:
            hint = f"A server gave no reply about {without_reply:,} rows; " if without_reply else ""
            refuse_smaller(out, ATTRITION, _rows_of, len(left), f"{hint}{out / FAILED / STEPS} has each row.")
        write_file(folder / FACTS, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
        (folder / RELEASE).mkdir()
        warnings = [*found.warnings, *pipeline.write(left, folder / RELEASE, run.config)]
    if without_reply:
        warnings.append(f"A server gave no reply about {without_reply:,} rows; the same command asks again.")
    summary = f"{len(left):,} rows from {len(run.rows):,} {pipeline.first}; {run.sent:,} requests were sent"
    return BuiltSet(out / RELEASE, summary, [attrition_table(run), *found.tables], warnings, made)


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


def _by_number(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def attrition_table(run: PipelineRun[C]) -> BuiltTable:
    """A line for what a build began with, one for each step, and below it one for each reason."""
    lines = [(run.pipeline.first, f"{len(run.rows):,}", "", run.pipeline.paper)]
    for one in run.runs:
        share = f"{100 * len(one.left) / one.came:.0f}%" if one.came else "N/A"
        lines.append((one.step.name, f"{len(one.left):,}", share, one.step.paper))
        lines += [(f"  {reason}", f"-{number:,}", "", "") for reason, number in _by_number(one.removed).items()]
        again = _by_number(one.asked_again + one.server_faults)
        lines += [(f"  asked again: {fault}", f"({number:,})", "", "") for fault, number in again.items()]
    return BuiltTable("Attrition", ("step", "rows", "kept", "paper"), lines)


NAMED = 3
"""Reasons that are written beside a bar."""


def draw_attrition(run: PipelineRun[C], path: Path) -> None:
    from matplotlib.figure import Figure

    started = len(run.rows)
    bars = [(run.pipeline.first, started, started), *((one.step.name, one.came, len(one.left)) for one in run.runs)]
    names, came, left = zip(*bars, strict=True)
    figure = Figure(figsize=(9.0, 0.4 + 0.6 * len(bars)), layout="constrained")
    axes, beside_axes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    places = range(len(bars))
    axes.barh(places, came, color="#d9d9d9", height=0.7)
    axes.barh(places, left, color="#3b75af", height=0.7)
    most = max(*came, *left, 1)
    for place, number in enumerate(left):
        axes.text(max(came[place], number) + 0.01 * most, place, f"{number:,}", va="center", fontsize=9)
    for place, one in enumerate(run.runs, start=1):
        lines = [f"{count:,}  {reason}" for reason, count in one.removed.most_common(NAMED)]
        lines += ["…"] if len(one.removed) > NAMED else []
        beside_axes.text(0, place, "\n".join(lines), va="center", fontsize=7, color="#555555")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * most)
    axes.set_xticks([])
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    beside_axes.axis("off")
    figure.savefig(path, format="png", dpi=120)
