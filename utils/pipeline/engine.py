"""Running a pipeline.

A build that was killed is run again from the start: every step is a pure function of its rows, the configuration and
the replies, and every reply is kept, so that it asks only what was not answered and ends with the same bytes. Nothing
of its state is written but the replies, and two builds into one folder share them. What it made takes the place of an
earlier set as one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import lmms_eval_tasks
from lmms_eval_tasks.utils.benchmark.built_set import BuiltSet
from lmms_eval_tasks.utils.core.files import replacing, write_file
from lmms_eval_tasks.utils.core.json_rows import as_lines
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.data.set_folder import FAILED, refuse_smaller, replacing_set
from lmms_eval_tasks.utils.pipeline.asking import AskedReply, Asking
from lmms_eval_tasks.utils.pipeline.attrition import StepCounts, attrition_table, count_faults
from lmms_eval_tasks.utils.pipeline.config import C
from lmms_eval_tasks.utils.pipeline.models import Models
from lmms_eval_tasks.utils.pipeline.picture import draw_attrition
from lmms_eval_tasks.utils.pipeline.pipeline import Pipeline
from lmms_eval_tasks.utils.pipeline.rows import PipelineRow, check_ids
from lmms_eval_tasks.utils.pipeline.steps import AnyStep, Removed, RowStep, roles_of

REPLIES = "replies"
STEPS = "steps"
RELEASE = "release"
ATTRITION = "attrition.json"
PICTURE = "attrition.png"
FACTS = "build.json"
SET = (STEPS, ATTRITION, PICTURE, FACTS, RELEASE)
"""The parts of a set."""


@dataclass(frozen=True)
class _Outcome:
    """What became of a row in a step.

    Attributes:
        rows: What it became, where the step looks at one row at a time.
        removed: Why it does not go on; None where it does.
        asked: What was asked about it.
        without_reply: Whether a server gave no reply.
    """

    rows: Sequence[PipelineRow] = ()
    removed: Removed | None = None
    asked: Sequence[AskedReply] = ()
    without_reply: bool = False


def run_pipeline(
    pipeline: Pipeline[C],
    config: C,
    values: dict[str, Any],
    steps: Sequence[AnyStep],
    rows: Sequence[PipelineRow],
    out: Path,
    max_requests: int | None = None,
    replace: bool = False,
    progress: Progress = no_progress,
) -> BuiltSet:
    """Build a set.

    Args:
        pipeline: How.
        config: What was chosen.
        values: The same as it stands in its file, for `build.json`.
        steps: Those that the configuration asks for.
        rows: The rows at the start.
        out: Folder to write to; a build that was cut short there goes on.
        max_requests: Requests that may be sent; None for any number.
        replace: Whether a set with fewer rows may take the place of the one that is there.
        progress: Called after each row of a step.

    Raises:
        InputError: a role is missing, the budget is reached, a server does not answer, no row is left, or fewer than
            the set has that is there. That one is left as it was.
    """
    models = Models(config, config.replies or out / REPLIES, max_requests)
    models.check(roles_of(steps))
    # Before anything is asked: by its end a build of hours may find other files in their place.
    sources = [{"file": path.name, "sha256": file_sha256(path)} for path in pipeline.source_files(config)]
    out.mkdir(parents=True, exist_ok=True)
    audits: dict[str, IO[bytes]] = {}
    counts: list[StepCounts] = []
    without_reply = 0
    left = rows
    for number, step in enumerate(steps, start=1):
        came = left
        left, outcomes = _run_step(step, came, models, progress)
        check_ids(left, f"the rows of the step {step.name!r}")
        audits[f"{number:02d}_{'_'.join(step.name.split())}.jsonl"] = _audit(out, came, outcomes)
        counts.append(_count(step, len(left), outcomes, models))
        without_reply += sum(outcome.without_reply for outcome in outcomes)
    facts = {"version": lmms_eval_tasks.__version__, "benchmark": pipeline.benchmark, "config": values}
    with replacing_set(out, SET) as folder:
        for name, audit in audits.items():
            _write_audit(folder / STEPS / name, audit)
        attrition = {"start": {pipeline.first: len(rows)}, "steps": [count.facts() for count in counts]}
        _write_json(folder / ATTRITION, attrition)
        draw_attrition(pipeline.first, len(rows), counts, folder / PICTURE)
        if not left:
            raise InputError(_nothing_left(counts, out))
        if (out / RELEASE).exists() and not replace:
            hint = f"{without_reply:,} rows went because a server gave no reply; " if without_reply else ""
            refuse_smaller(out, _rows_there(out), len(left), f"{hint}{out / FAILED / STEPS} has each row.")
        _write_json(folder / FACTS, {**facts, "sources": sources})
        (folder / RELEASE).mkdir()
        warnings = list(pipeline.write(left, folder / RELEASE, config))
    if without_reply:
        warnings.append(
            f"{without_reply:,} rows went because a server gave no reply; the same command asks for them again."
        )
    table = attrition_table(pipeline.first, len(rows), pipeline.paper, counts)
    summary = f"{len(left):,} of {len(rows):,} {pipeline.first}; {models.sent:,} requests were sent"
    return BuiltSet(out / RELEASE, summary, [table], warnings)


def _rows_there(out: Path) -> int | None:
    """How many rows the set has that is there; None where it does not say."""
    try:
        attrition = json.loads((out / ATTRITION).read_text(encoding="utf-8"))
        last = attrition["steps"][-1]["out"] if attrition["steps"] else next(iter(attrition["start"].values()))
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, StopIteration):
        return None
    return last if isinstance(last, int) else None


def _nothing_left(counts: Sequence[StepCounts], out: Path) -> str:
    last = next((count for count in counts if not count.left), None)
    if last is None or not last.came:
        return "There was no row to begin with, and no set was written."
    reasons = ", ".join(f"{reason} ({number:,})" for reason, number in last.removed.most_common())
    audits = out / FAILED / STEPS
    return f"No row was left after the step {last.name!r}: {reasons}.\nNo set was written; {audits} has each row."


def _run_step(
    step: AnyStep, rows: Sequence[PipelineRow], models: Models, progress: Progress
) -> tuple[Sequence[PipelineRow], list[_Outcome]]:
    """The rows that a step leaves, and what became of each that came in, in their order."""
    if not isinstance(step, RowStep):
        removed: dict[str, Removed] = {}
        left = step.run(rows, removed.__setitem__)
        progress(step.name, len(rows), len(rows))
        if step.takes is step.gives and {row.id for row in left} != {row.id for row in rows} - removed.keys():
            raise RuntimeError(f"The step {step.name!r} lost rows without a reason.")
        return left, [_Outcome(removed=removed.get(row.id)) for row in rows]
    threads = models.threads(step.roles) if step.roles else os.cpu_count()
    with ThreadPoolExecutor(threads, thread_name_prefix="build") as pool:
        futures = [pool.submit(_run_row, step, row, models) for row in rows]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                progress(step.name, done, len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    outcomes = [future.result() for future in futures]
    return [row for outcome in outcomes for row in outcome.rows], outcomes


def _run_row(step: RowStep[Any, Any], row: PipelineRow, models: Models) -> _Outcome:
    asking = Asking(models)
    try:
        rows = step.run(row, asking)
    except Removed as removed:
        return _Outcome((), removed, asking.asked, asking.without_reply)
    if not rows or not all(isinstance(made, step.gives) for made in rows):
        raise RuntimeError(f"The step {step.name!r} made no {step.gives.__name__} of the row {row.id!r}.")
    return _Outcome(rows, None, asking.asked, asking.without_reply)


def _count(step: AnyStep, left: int, outcomes: Sequence[_Outcome], models: Models) -> StepCounts:
    return StepCounts(
        step.name,
        len(outcomes),
        left,
        Counter(outcome.removed.reason for outcome in outcomes if outcome.removed),
        count_faults(asked.unreadable for outcome in outcomes for asked in outcome.asked if asked.reason is None),
        models.take_server_faults(),
        step.paper,
    )


def _audit(folder: Path, rows: Sequence[PipelineRow], outcomes: Sequence[_Outcome]) -> IO[bytes]:
    """A line for each row that came in: what became of it and why, and all that was asked about it.

    They lie in a file without a name, so that not all replies of a build are in memory, and a kill leaves nothing.
    """
    file = TemporaryFile(dir=folder)  # noqa: SIM115, open until the build ends
    for row, outcome in zip(rows, outcomes, strict=True):
        line = {
            "row": row.id,
            "removed": outcome.removed.reason if outcome.removed else None,
            "detail": outcome.removed.detail if outcome.removed else None,
            "became": [made.id for made in outcome.rows],
            "asked": [asdict(asked) for asked in outcome.asked],
        }
        file.write(as_lines([line]).encode("utf-8"))
    return file


def _write_audit(path: Path, audit: IO[bytes]) -> None:
    audit.seek(0)
    with replacing(path) as beside, beside.open("wb") as file:
        shutil.copyfileobj(audit, file)
    audit.close()


def _write_json(path: Path, value: Any) -> None:
    write_file(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
