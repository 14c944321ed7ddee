"""What a run scored, with intervals and counts, as tables for the terminal."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.reporting.columns import PAIR_COLUMNS, Column, Estimate
from lmms_eval_tasks.utils.reporting.references import benchmark_of, measures_of, side, standing_notes
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.scoring.records import Record


def columns_of(task: str) -> tuple[Column, ...]:
    """What a report shows of a task: the columns that its benchmark, with whose name its own begins, says in `scores`.

    Those of pairs for a task of no benchmark of ours.
    """
    benchmark = benchmark_of(task)
    if not benchmark:
        return PAIR_COLUMNS
    scores = importlib.import_module(f"lmms_eval_tasks.{benchmark}.scores")
    found: tuple[Column, ...] = scores.columns(task)
    return found


def parts_of(run: Run) -> Iterator[tuple[str, Sequence[str]]]:
    """The run's groups with their tasks, then its tasks that are in none of them.

    A group of tasks of several benchmarks has no columns in common: its tasks are shown one by one.
    """
    groups = {group: tasks for group, tasks in run.groups.items() if len(set(map(benchmark_of, tasks))) == 1}
    yield from groups.items()
    grouped = {task for tasks in groups.values() for task in tasks}
    yield from ((task, [task]) for task in run.records if task not in grouped)


def entries_of(runs: Sequence[Run], only: str = "") -> dict[str, list[tuple[Run, Sequence[str]]]]:
    """For each task or group that runs hold: the runs that hold it, each with its tasks.

    Args:
        runs: The runs, in their order.
        only: The one task or group wanted; all of them if empty.

    Raises:
        InputError: where no run holds `only`.
    """
    entries: defaultdict[str, list[tuple[Run, Sequence[str]]]] = defaultdict(list)
    for run in runs:
        for name, tasks in parts_of(run):
            entries[name].append((run, tasks))
    if only and only not in entries:
        raise InputError(f"Expected a task or group of these runs, any of {', '.join(entries)}, but got {only}.")
    return {only: entries[only]} if only else dict(entries)


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
    tables = []
    for name, entries in entries_of(runs, only).items():
        columns = columns_of(entries[0][1][0])
        table = _new_table(name, [run for run, _ in entries], "model", columns)
        for run, tasks in entries:
            parts = [run.records[task] for task in tasks]
            table.add_row(run.name, *(column.cell(parts) for column in columns))
        tables.append(table)
    return tables


def standing_tables(runs: Sequence[Run], only: str = "") -> list[Table]:
    """How scores stand to chance, people and the best published model: a table for each task or group with such facts.

    A row per score that something is known about, and run. Beside a fact stands whether the score's 95% interval lies
    ``above`` or ``below`` it, or leaves it ``open``. Below the table stands where each fact comes from, and its caveat.

    Args:
        runs: The runs, in the order of the rows.
        only: The one task or group to show; all of them if empty.

    Raises:
        InputError: where no run holds `only`.
    """
    tables = []
    for name, entries in entries_of(runs, only).items():
        items = len([record for task in entries[0][1] for record in entries[0][0].records[task]])
        measures = [measure for measure in measures_of(name, items) if measure.has_facts]
        if not measures:
            continue
        sample = "; SAMPLE DATA, the facts are of the benchmark" if any(run.sample for run, _ in entries) else ""
        table = Table(title=f"{name}: how it stands{sample}", title_justify="left", box=box.SIMPLE_HEAD, padding=0)
        table.add_column("score", no_wrap=True)
        table.add_column("model", overflow="fold")
        for heading in ("value", "chance", "people"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("best published", justify="right", overflow="fold")
        for measure in measures:
            for run, tasks in entries:
                found = measure.estimate([run.records[task] for task in tasks])
                best = measure.best
                table.add_row(
                    measure.heading,
                    run.name,
                    f"{found.value:.1f}" if found else "N/A",
                    _fact(found, measure.chance),
                    _fact(found, measure.people[0].percent if measure.people else None),
                    f"{best.model} {_fact(found, best.value)}" if best else "",
                )
        table.caption = "\n".join(standing_notes(measures))
        table.caption_justify = "left"
        tables.append(table)
    return tables


def _fact(found: Estimate | None, fact: float | None) -> str:
    """A fact and on which side of it a score lies; empty where there is none."""
    return "" if fact is None else f"{fact:.1f} {side(found, fact)}" if found else f"{fact:.1f}"


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
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    return table
