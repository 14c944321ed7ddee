"""Running a pipeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.build.engine.attrition import StepCounts, attrition_table
from lmms_eval_tasks.build.engine.built_set import BuiltSet
from lmms_eval_tasks.build.engine.config import C
from lmms_eval_tasks.build.engine.models import Models
from lmms_eval_tasks.build.engine.picture import draw_attrition
from lmms_eval_tasks.build.engine.pipeline import Pipeline
from lmms_eval_tasks.build.engine.rows import PipelineRow
from lmms_eval_tasks.build.engine.running import HiddenLines, RowOutcome, run_steps
from lmms_eval_tasks.build.engine.steps import AnyStep, roles_of
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import FAILED, file_sha256, refuse_smaller, replacing_set, write_file
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.manifest import SetAttrition

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
    steps: Sequence[AnyStep],
    rows: Sequence[PipelineRow],
    out: Path,
    max_requests: int | None = None,
    replace: bool = False,
    progress: Progress = no_progress,
) -> BuiltSet:
    """Build a set."""
    models = Models(config, config.replies or out / REPLIES, max_requests)
    models.check(roles_of(steps))
    # Before anything is asked: by its end a build of hours may find other files in their place.
    sources = [{"file": path.name, "sha256": file_sha256(path)} for path in pipeline.source_files(config)]
    audits = {step: HiddenLines(out) for step in steps}

    def log(step: AnyStep, row: PipelineRow, outcome: RowOutcome) -> None:
        audits[step].add([_line(row, outcome)])

    runs = run_steps(steps, rows, models, log, progress)
    counts = [run.counts for run in runs]
    without_reply = sum(run.without_reply for run in runs)
    left = runs[-1].left if runs else rows
    facts = {"version": lmms_eval_tasks.__version__, "benchmark": pipeline.benchmark, "config": values}
    with replacing_set(out, SET) as folder:
        for number, (step, audit) in enumerate(audits.items(), start=1):
            audit.write(folder / STEPS / f"{number:02d}_{'_'.join(step.name.split())}.jsonl")
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
    made = SetAttrition(start=pipeline.first, rows=len(rows), steps=tuple(count.as_step() for count in counts))
    return BuiltSet(out / RELEASE, summary, [table], warnings, made)


def _rows_there(out: Path) -> int | None:
    """Return the number of rows of the existing set, or None if it does not say."""
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


def _line(row: PipelineRow, outcome: RowOutcome) -> dict[str, Any]:
    """Return the outcome of a row with its reason, and all that was asked about it."""
    return {
        "row": row.id,
        "removed": outcome.removed.reason if outcome.removed else None,
        "detail": outcome.removed.detail if outcome.removed else None,
        "became": [made.id for made in outcome.rows],
        "asked": [asked.facts() for asked in outcome.asked],
    }


def _write_json(path: Path, value: Any) -> None:
    write_file(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
