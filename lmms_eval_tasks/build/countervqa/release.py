"""The files of a built set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.build.countervqa.assemble import KeptQuestions
from lmms_eval_tasks.build.countervqa.attrition import Attrition
from lmms_eval_tasks.build.countervqa.given_links import Pair, TakeLinks
from lmms_eval_tasks.build.countervqa.rows import MeasuredTake
from lmms_eval_tasks.build.countervqa.step_log import STEPS, StepLog
from lmms_eval_tasks.build.graphs.measures import Thresholds
from lmms_eval_tasks.countervqa.released import CLIPS, GRAPHS, QUESTIONS
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import FAILED, refuse_smaller, replacing, replacing_set, write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.prepare import link

FACTS = "build.json"
MEASURES = "takes.jsonl"
SET = (STEPS, MEASURES, GRAPHS, FACTS, QUESTIONS)
"""The files of a set that a build writes anew."""


def write_set(
    out: Path,
    measured: Sequence[MeasuredTake],
    thresholds: Thresholds,
    kept: KeptQuestions,
    attrition: Attrition,
    facts: Mapping[str, Any],
    clips: Path | None,
    log: StepLog,
    replace: bool = False,
) -> int:
    """Write a set, which takes the place of an earlier one whole."""
    by_uid = {row.id: row for row in measured}
    missing = 0
    with replacing_set(out, SET) as folder:
        if log.done:
            log.write(folder / STEPS)
        write_file(folder / MEASURES, as_lines(_measure_rows(measured, thresholds)))
        with replacing(folder / GRAPHS) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
            for uid in kept:
                file.write(as_lines([_graph_row(by_uid[uid].take, by_uid[uid].links)]))
        counts = {**asdict(attrition), "kept": attrition.kept}
        whole = {"version": lmms_eval_tasks.__version__, **facts, "counts": counts}
        write_file(folder / FACTS, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
        write_file(folder / QUESTIONS, as_lines(question.model_dump() for here in kept.values() for question in here))
        if not kept:
            raise InputError(
                "Expected at least one question to be kept, but got none; no set was written.\n"
                f"Clips: {attrition.annotated:,} annotated, {attrition.linked:,} with causal links, "
                f"{attrition.filtered:,} that pass the filters; {attrition.candidates:,} candidate questions."
            )
        if (out / QUESTIONS).exists() and not replace:
            failed = f"{log.failed:,} of {log.done:,} steps of models brought no usable reply; "
            hint = f"{failed if log.failed else ''}{out / FAILED} has what was made."
            refuse_smaller(out, _questions_there(out), attrition.kept, hint)
        if clips is not None:
            for uid in kept:
                name = by_uid[uid].take.clip
                if (clips / name).is_file():
                    (out / CLIPS / name).parent.mkdir(parents=True, exist_ok=True)
                    link((clips / name).absolute(), out / CLIPS / name)
                else:
                    missing += 1
    return missing


def _questions_there(out: Path) -> int | None:
    """Return the number of questions of the existing set, or None if it does not say."""
    try:
        kept = json.loads((out / FACTS).read_text(encoding="utf-8"))["counts"]["kept"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return kept if isinstance(kept, int) else None


def _measure_rows(measured: Iterable[MeasuredTake], thresholds: Thresholds) -> Iterator[dict[str, Any]]:
    """One row per take with a graph: its measures, and the filters that it fails."""
    for row in measured:
        values = row.measures
        yield {
            "take": row.id,
            "ancd": values.ancd,
            "depth": values.depth.edges,
            "depth_bound": values.depth.bound,
            "cnda": values.cnda,
            "removed_by": list(values.failed(thresholds)),
        }


def _graph_row(take: Take, known: TakeLinks) -> dict[str, Any]:
    row = {
        "clip": take.clip,
        "task": take.task,
        "actions": [asdict(action) for action in take.actions],
        "links": _link_rows(known.links),
    }
    return row if known.unlinked is None else {**row, "unlinked": _link_rows(sorted(known.unlinked))}


def _link_rows(pairs: Iterable[Pair]) -> list[dict[str, str]]:
    return [{"cause": cause, "effect": effect} for cause, effect in pairs]
