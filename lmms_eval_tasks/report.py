"""What a run scored, with intervals and counts, as tables for the terminal."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from lmms_eval_tasks.utils.card import benchmarks
from lmms_eval_tasks.utils.columns import PAIR_COLUMNS, Column
from lmms_eval_tasks.utils.problems import InputError
from lmms_eval_tasks.utils.records import Record
from lmms_eval_tasks.utils.runs import Run


def columns_of(task: str) -> tuple[Column, ...]:
    """What a report shows of a task: the columns that its benchmark, with whose name its own begins, says in `scores`.

    Those of pairs for a task of no benchmark of ours.
    """
    benchmark = _benchmark(task)
    if not benchmark:
        return PAIR_COLUMNS
    scores = importlib.import_module(f"lmms_eval_tasks.{benchmark}.scores")
    found: tuple[Column, ...] = scores.columns(task)
    return found


def _benchmark(task: str) -> str:
    named = [name for name in benchmarks() if task == name or task.startswith(f"{name}_")]
    return max(named, key=len, default="")


def _parts(run: Run) -> Iterator[tuple[str, Sequence[str]]]:
    """The run's groups with their tasks, then its tasks that are in none of them.

    A group of tasks of several benchmarks has no columns in common: its tasks are shown one by one.
    """
    groups = {group: tasks for group, tasks in run.groups.items() if len(set(map(_benchmark, tasks))) == 1}
    yield from groups.items()
    grouped = {task for tasks in groups.values() for task in tasks}
    yield from ((task, [task]) for task in run.records if task not in grouped)


def score_tables(runs: Sequence[Run], only: str = "") -> list[Table]:
    """One table per task or group that a run holds: a row per run.

    Scores in percent with their 95% bootstrap interval (10,000 draws, seed 0), percent of unparsed and unscored items,
    and how many are behind the scores; which scores, the benchmark says. A group's scores are the unweighted mean over
    its tasks.

    Args:
        runs: The runs, in the order of the rows.
        only: The one task or group to show; all of them if empty.

    Raises:
        InputError: where no run holds `only`.
    """
    rows: defaultdict[str, list[tuple[Run, Sequence[str]]]] = defaultdict(list)
    for run in runs:
        for name, tasks in _parts(run):
            rows[name].append((run, tasks))
    if only:
        if only not in rows:
            raise InputError(f"Expected a task or group of these runs, any of {', '.join(rows)}, but got {only}.")
        rows = defaultdict(list, {only: rows[only]})
    tables = []
    for name, entries in rows.items():
        columns = columns_of(entries[0][1][0])
        table = _new_table(name, [run for run, _ in entries], "model", columns)
        for run, tasks in entries:
            parts = [run.records[task] for task in tasks]
            table.add_row(run.name, *(column.cell(parts) for column in columns))
        tables.append(table)
    return tables


def stratum_tables(run: Run, columns: Sequence[str], only: str = "") -> list[Table]:
    """One table per task: a row per combination of the named stratum columns, in their alphabetical order.

    Args:
        run: The run.
        columns: Names in the records' strata.
        only: The one task to show; all of them if empty.

    Raises:
        InputError: where a task's records have no such column, or the run no task `only`; the message lists those
            there are.
    """
    if only and only not in run.records:
        raise InputError(f"Expected a task of this run, any of {', '.join(run.records)}, but got {only}.")
    tables = []
    for task, records in run.records.items():
        if only and task != only:
            continue
        known = records[0].stratum if records else {}
        if unknown := [column for column in columns if column not in known]:
            raise InputError(f"Expected strata of {task}, any of {', '.join(known)}, but got {', '.join(unknown)}.")
        strata: defaultdict[tuple[str, ...], list[Record]] = defaultdict(list)
        for record in records:
            strata[tuple(record.stratum[column] for column in columns)].append(record)
        shown = columns_of(task)
        table = _new_table(task, [run], " × ".join(columns), shown)
        for values in sorted(strata):
            table.add_row(" ".join(values).replace("_", " "), *(column.cell([strata[values]]) for column in shown))
        table.add_row("all", *(column.cell([records]) for column in shown))
        tables.append(table)
    return tables


def _new_table(name: str, runs: Sequence[Run], first: str, columns: Sequence[Column]) -> Table:
    versions = sorted({run.versions.get(name, "?") for run in runs})
    sample = "; SAMPLE DATA, not the benchmark" if any(run.sample for run in runs) else ""
    title = f"{name} (version {', '.join(versions)}{sample})"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    return table
