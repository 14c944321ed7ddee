"""What runs share with people: on which items both err, and what they choose there; for `humans` and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from lmms_eval_tasks.report.runs import entries_of, versions_of
from lmms_eval_tasks.utils.core.cells import Cell, Number
from lmms_eval_tasks.utils.core.console import text_table
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.stats.error_consistency import (
    Consistency,
    find_consistency,
    people_consistency,
    run_consistency,
    two_runs,
)
from lmms_eval_tasks.utils.stats.estimates import METHOD
from lmms_eval_tasks.utils.stats.human_responses import AskedQuestion, Key, Response
from lmms_eval_tasks.utils.stats.shared_difficulty import Opposed, correlate_difficulty, find_opposed
from lmms_eval_tasks.utils.stats.shared_items import SharedItem, SharedItems, share_items
from lmms_eval_tasks.utils.stats.shared_options import SharedOptions, share_options

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.core.tables import FittingTable

Asked = Mapping[Key, AskedQuestion]
NONE = "–"
OF_CONSISTENCY = (
    "Unparsed and unknown count as wrong. Alike: both right or both wrong; by chance: the same for independent "
    "observers with these accuracies; kappa: 0 by chance, 1 if they err on the same items; least and greatest: what "
    "kappa can be with these accuracies."
)
OF_DIFFICULTY = (
    "rho: Spearman's, of the share of people and of runs that are right. Both err: items on which the run and some "
    "people choose a wrong option; expected: the same option, had they answered different questions."
)
INTERVALS = "Intervals are 95%, over groups."


@dataclass(frozen=True)
class People:
    """What people answered: their responses, and the questions with the ids of the runs' items."""

    responses: Sequence[Response]
    asked: Asked


@dataclass(frozen=True)
class SharedTask:
    """What people and the runs of a task or group share."""

    name: str
    shared: SharedItems
    labels: Sequence[str]
    signature: str

    def tables(self) -> tuple[FittingTable, FittingTable]:
        """How far observers err on the same items; and what is difficult, and what is chosen where both err."""
        items, labels = self.shared.items, self.labels
        least, most = (pick(len(item.people) for item in items) for pick in (min, max))
        people = f"{least}" if least == most else f"{least} to {most}"
        groups = len({(item.task, item.record.group_id) for item in items})
        consistency = _consistency_table(items, labels)
        consistency.title = f"{self.name}: {len(items):,} items in {groups:,} groups, {people} people each"
        consistency.caption = "\n".join(
            f"{label}, left out, {why}: {len(ids):,} ({summarize_names(ids)})"
            for label, left in zip(labels, self.shared.left_out, strict=True)
            for why, ids in left.items()
        )
        options = [share_options(items, run) for run in range(len(labels))]
        difficulty = _difficulty_table(items, labels, options)
        difficulty.title = f"{self.name}: what is difficult, and what is chosen where both err"
        difficulty.caption = "\n".join(
            f"{label}, both err, left out, alone with their key: {found.alone:,} items"
            for label, found in zip(labels, options, strict=True)
            if found is not None and found.alone
        )
        consistency.signature = difficulty.signature = self.signature
        return consistency, difficulty

    def opposed(self) -> list[tuple[str, Opposed]]:
        """The items that all runs get wrong and all people right, and the reverse, each with how many these are."""
        items, described = self.shared.items, []
        both = [(False, "every run wrong, every person right"), (True, "every run right, no person right")]
        for runs_right, words in both:
            if found := find_opposed(items, runs_right):
                low, high = found.interval
                counted = f"{len(found.ids):,} of {found.items:,} items, {found.percent:.1f}% [{low:.1f}, {high:.1f}]"
                described.append((f"{words}: {counted}", found))
        return described


def share_tasks(
    responses: Sequence[Response], asked: Asked, runs: Mapping[int, Run], task: str = ""
) -> list[SharedTask]:
    """What people and runs share, for each task or group of the runs."""
    numbers = {id(run): number for number, run in runs.items()}
    found = []
    for name, entries in entries_of(list(runs.values()), task).items():
        named = ", ".join(f"run {numbers[id(run)]} {run.title}" for run, _ in entries)
        parts = [{one: run.records[one] for one in tasks} for run, tasks in entries]
        found.append(
            SharedTask(
                name,
                share_items(responses, asked, parts),
                [f"run {numbers[id(run)]}" for run, _ in entries],
                f"{named}; {name}, version {versions_of(name, entries)}; {METHOD}",
            )
        )
    if not any(one.shared.items for one in found):
        reasons = [
            f"\n  {one.name}, {label}, {why}: {len(ids):,} ({summarize_names(ids, 2)})"
            for one in found
            for label, left in zip(one.labels, one.shared.left_out, strict=True)
            for why, ids in left.items()
        ]
        raise InputError(
            f"Expected runs with scores on items that people answered, but there are none.{''.join(reasons)}"
        )
    return found


def shared_panels(found: SharedTask) -> list[Panel]:
    """What a page shows of it, with the items that only one side gets right."""
    if not found.shared.items:
        return []
    consistency, difficulty = found.tables()
    consistency.title = consistency.title.removeprefix(f"{found.name}: ")
    difficulty.title = ""
    return [
        Panel("Runs and people: errors", note=f"{OF_CONSISTENCY} {INTERVALS}", wide=True, table=consistency),
        Panel(
            "Runs and people: difficulty and wrong options",
            note=f"{OF_DIFFICULTY} {INTERVALS}",
            wide=True,
            table=difficulty,
            linked={words: one.ids for words, one in found.opposed()},
        ),
    ]


def _consistency_table(items: Sequence[SharedItem], labels: Sequence[str]) -> FittingTable:
    table = text_table(
        None, "observers", "items", "1st right", "2nd right", "alike", "by chance", "kappa", "least", "greatest"
    )
    table.padding = 0
    for observers, found in _pairs_of_observers(items, labels):
        cells: list[Cell] = [0, *[NONE] * 7]
        if found is not None:
            shares = (*found.right, found.agreement, found.expected)
            percents = [Number(100 * share, n=found.groups, unit="%") for share in shares]
            kappa = _coefficient(found.kappa, found.interval, found.groups)
            cells = [found.items, *percents, kappa, *map(_coefficient, found.bounds or (None, None))]
        table.add_row(observers, *cells)
    return table


def _pairs_of_observers(items: Sequence[SharedItem], labels: Sequence[str]) -> Iterator[tuple[str, Consistency | None]]:
    """Each run with people, people with one another, and every two runs."""
    for run, label in enumerate(labels):
        yield f"{label}, people", run_consistency(items, run)
    yield "people, people", people_consistency(items)
    for one, two in combinations(range(len(labels)), 2):
        yield f"{labels[one]}, {labels[two]}", find_consistency((item, two_runs(item, one, two)) for item in items)


def _difficulty_table(
    items: Sequence[SharedItem], labels: Sequence[str], options: Sequence[SharedOptions | None]
) -> FittingTable:
    table = text_table(None, "", "items", "difficulty, rho", "both err", "same option", "expected", "beyond, points")
    table.padding = 0
    for run, (label, same) in enumerate(zip(labels, options, strict=True)):
        table.add_row(label, *_difficulty_cells(items, [run]), *_option_cells(same))
    if len(labels) > 1:
        table.add_row("all runs", *_difficulty_cells(items, range(len(labels))), *[""] * 4)
    return table


def _difficulty_cells(items: Sequence[SharedItem], runs: Sequence[int]) -> list[Cell]:
    found = correlate_difficulty(items, runs)
    return [0, NONE] if found is None else [found.items, _coefficient(found.rho, found.interval)]


def _option_cells(found: SharedOptions | None) -> list[Cell]:
    if found is None:
        return [NONE] * 4
    low, high = found.interval or (None, None)
    same, expected = (Number(percent, unit="%", after="%") for percent in (found.same, found.expected))
    return [found.errors, same, expected, Number(found.beyond, low, high, unit="points", signed=True)]


def _coefficient(value: float | None, interval: tuple[float, float] | None = None, groups: int | None = None) -> Cell:
    """A kappa or rho, with two decimals."""
    low, high = interval or (None, None)
    return NONE if value is None else Number(value, low, high, groups, digits=2)
