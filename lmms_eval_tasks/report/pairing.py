"""What runs would score if their pairs had been made at random, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.report.runs import entries_of, versions_of
from lmms_eval_tasks.utils.core.cells import Number
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.tables import FittingTable
from lmms_eval_tasks.utils.reporting.references import published_controls
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.stats.bootstrap import DRAWS
from lmms_eval_tasks.utils.stats.pairing import AskedRecord, pair_at_random


def pairing_tables(runs: Sequence[Run], only: str = "", seed: int = 0) -> list[FittingTable]:
    """One table per task or group: a row per run, its pair accuracy with random partners beside that as paired.

    Below stand what was left out and, where every run is of the whole official release, what the benchmark's paper
    prints of its own pairs.

    Raises:
        InputError: where no run holds `only`, the one task or group to show, or a sample log has no prompts.
    """
    tables = []
    for name, entries in entries_of(runs, only).items():
        apart = "".join(f"; {why}" for why in sorted({run.apart(tasks) for run, tasks in entries} - {""}))
        headings = ("run", "random pairs", "as paired", "as paired - random", "pairs", "questions")
        table = FittingTable(f"{name}: paired at random (seed {seed}, {DRAWS:,} draws)", headings)
        method = f"95% intervals of a percentile bootstrap, {DRAWS:,} draws, seed {seed}"
        table.signature = f"{name}, version {versions_of(name, entries)}{apart}; {method}"
        notes = []
        for run, tasks in entries:
            pairing, left_out = pair_at_random([_asked(run, task) for task in tasks], seed)
            if left_out:
                reasons = ", ".join(f"{count:,} {why}" for why, count in left_out.items())
                notes.append(f"groups left out of {run.title}: {reasons}")
            if pairing is None:
                table.add_row(run.title, *[Number(None)] * 3, 0, 0)
                continue
            if pairing.random_interval == (None, None):
                notes.append(f"no interval of {run.title}: a part of it has one question alone, with few pairs")
            table.add_row(
                run.title,
                Number(pairing.random, *pairing.random_interval, n=pairing.pairs, unit="%"),
                Number(pairing.real, n=pairing.pairs, unit="%"),
                Number(pairing.difference, *pairing.difference_interval, n=pairing.pairs, unit="points", signed=True),
                pairing.pairs,
                pairing.questions,
            )
        run, tasks = entries[0]
        # What papers print is of the whole items.
        is_view = any(record.view for record in run.records[tasks[0]][:1])
        known = None if is_view or apart else registry().find_task(name)
        published = published_controls(known.benchmark.folder, name) if known else ()
        notes += [f"published: {one.value:.1f}, {one.what}; {one.source}" for one in published]
        table.caption = "\n".join(notes)
        tables.append(table)
    return tables


def _asked(run: Run, task: str) -> list[AskedRecord]:
    """A task's records with their prompts, as its sample log has them."""
    asked = []
    for item in run.items_of(task):
        prompt = item.values.get("input")
        if not isinstance(prompt, str):
            raise InputError(
                f"{run.path} cannot be paired at random: Expected the prompt of {item.where}, but got none."
            )
        asked.append((item.record, prompt))
    return asked
