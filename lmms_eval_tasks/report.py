"""What a run scored, with intervals and counts, as tables for the terminal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.table import Table

from lmms_eval_tasks.utils.bootstrap import Contribution, macro_interval
from lmms_eval_tasks.utils.groups import count_groups, macro_mean
from lmms_eval_tasks.utils.problems import InputError
from lmms_eval_tasks.utils.records import Outcome, Record
from lmms_eval_tasks.utils.runs import Run

Records = Sequence[Record]


def _credits(records: Iterable[Record]) -> list[dict[str, object]]:
    return [{"group_id": record.group_id, "correct": record.correct} for record in records]


def _official(records: Iterable[Record]) -> list[dict[str, object]]:
    return [{"group_id": record.group_id, "correct": record.fields["official_correct"]} for record in records]


def _contributions(records: Records, whole: bool) -> list[Contribution]:
    """Each group's part in pair accuracy (`whole`: complete groups only) or in single accuracy, in percent."""
    members: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        members[record.group_id].append(record)
    found = []
    for group in members.values():
        counts = count_groups(_credits(group))
        right, all_ = (counts.groups_right, counts.groups) if whole else (counts.items_right, counts.items)
        if all_:
            found.append((100.0 * right, float(all_)))
    return found


def _cell(score: float | None, interval: tuple[float, float] | None) -> str:
    if score is None or interval is None:
        return "N/A"
    return f"{score:.1f} [{interval[0]:.1f}, {interval[1]:.1f}]"


def _share(records: Iterable[Record], outcome: Outcome) -> str:
    counts = Counter(record.outcome for record in records)
    return f"{100.0 * counts[outcome] / counts.total():.1f}"


def _row(parts: Sequence[Records]) -> list[str]:
    """Cells of one run: scores as the unweighted mean over the parts, counts over all of them."""
    together = [record for part in parts for record in part]
    counts = [count_groups(_credits(part)) for part in parts]
    official = macro_mean(count_groups(_official(part)).pair_accuracy for part in parts)
    pair_parts = [_contributions(part, whole=True) for part in parts]
    single_parts = [_contributions(part, whole=False) for part in parts]
    return [
        _cell(macro_mean(count.pair_accuracy for count in counts), macro_interval(pair_parts)),
        _cell(macro_mean(count.single_accuracy for count in counts), macro_interval(single_parts)),
        "N/A" if official is None else f"{official:.1f}",
        _share(together, Outcome.UNPARSED),
        _share(together, Outcome.UNSCORED),
        f"{sum(count.groups for count in counts):,}",
    ]


def _parts(run: Run) -> Iterator[tuple[str, list[Records]]]:
    """The run's groups with the records of their tasks, then its tasks that are in none of its groups."""
    grouped = {task for tasks in run.groups.values() for task in tasks}
    for group, tasks in run.groups.items():
        yield group, [run.records[task] for task in tasks]
    for task, records in run.records.items():
        if task not in grouped:
            yield task, [records]


def score_tables(runs: Sequence[Run], only: str = "") -> list[Table]:
    """One table per task or group that a run holds: a row per run.

    Pair and single accuracy in percent with their 95% bootstrap interval over pairs (10,000 draws, seed 0), pair
    accuracy under the official reading of answers, percent of unparsed and unscored items, and the number of pairs
    scored. A group's scores are the unweighted mean over its tasks.

    Args:
        runs: The runs, in the order of the rows.
        only: The one task or group to show; all of them if empty.

    Raises:
        InputError: where no run holds `only`.
    """
    rows: defaultdict[str, list[tuple[Run, list[Records]]]] = defaultdict(list)
    for run in runs:
        for name, parts in _parts(run):
            rows[name].append((run, parts))
    if only:
        if only not in rows:
            raise InputError(f"Expected a task or group of these runs, any of {', '.join(rows)}, but got {only}.")
        rows = defaultdict(list, {only: rows[only]})
    tables = []
    for name, entries in rows.items():
        table = _new_table(name, [run for run, _ in entries], "model")
        for run, parts in entries:
            table.add_row(run.name, *_row(parts))
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
        table = _new_table(task, [run], " × ".join(columns))
        for values in sorted(strata):
            table.add_row(" ".join(values), *_row([strata[values]]))
        table.add_row("all", *_row([records]))
        tables.append(table)
    return tables


def _new_table(name: str, runs: Sequence[Run], first: str) -> Table:
    versions = sorted({run.versions.get(name, "?") for run in runs})
    sample = "; SAMPLE DATA, not the benchmark" if any(run.sample for run in runs) else ""
    title = f"{name} (version {', '.join(versions)}{sample})"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold")
    for heading in ("pair accuracy", "single accuracy", "official", "unparsed", "unscored", "pairs"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table
