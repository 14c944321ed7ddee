"""What `humans` shows of runs beside people: on which items both err, and what they choose there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from lmms_eval_tasks.report.runs import entries_of, versions_of
from lmms_eval_tasks.utils.core.cells import Cell, Number
from lmms_eval_tasks.utils.core.console import text_table
from lmms_eval_tasks.utils.core.output import Output
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import summarize_names
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
from lmms_eval_tasks.utils.stats.shared_difficulty import correlate_difficulty, find_opposed
from lmms_eval_tasks.utils.stats.shared_items import SharedItem, SharedItems, share_items
from lmms_eval_tasks.utils.stats.shared_options import SharedOptions, share_options

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.core.tables import FittingTable

Asked = Mapping[Key, AskedQuestion]
NONE = "–"


def require_item_ids(asked: Asked | None) -> Asked:
    """The questions, each of which says which item of a run it is.

    Raises:
        InputError: there are no questions, or some do not say it.
    """
    if asked is None:
        raise InputError("Expected --items with --run, so that responses can be matched to the run's items.")
    if lacking := [" ".join(filter(None, key)) for key, question in asked.items() if not question.item_id]:
        raise InputError(
            f"Expected --items with a column item_id, which has the ids of the run's items, but {len(lacking):,} lack "
            f"one: {summarize_names(lacking)}. A prepared split, as BENCHMARK:SPLIT, has them."
        )
    return asked


def show_shared(
    output: Output, responses: Sequence[Response], asked: Asked, runs: Sequence[Run], task: str = ""
) -> None:
    """Show what people and runs share, for each task or group of the runs.

    Args:
        output: Where it is shown.
        responses: People's.
        asked: The questions, with the ids of the runs' items.
        runs: The runs.
        task: Only this task or group.

    Raises:
        InputError: no run has the task, or none an item that people answered.
    """
    numbers = {id(run): number for number, run in enumerate(runs, start=1)}
    found, signatures = {}, {}
    for name, entries in entries_of(runs, task).items():
        named = ", ".join(f"run {numbers[id(run)]} {run.title}" for run, _ in entries)
        signatures[name] = f"{named}; {name}, version {versions_of(name, entries)}; {METHOD}"
        parts = [{one: run.records[one] for one in tasks} for run, tasks in entries]
        found[name] = share_items(responses, asked, parts), [f"run {numbers[id(run)]}" for run, _ in entries]
    if not any(shared.items for shared, _ in found.values()):
        reasons = [
            f"\n  {name}, {label}, {why}: {len(ids):,} ({summarize_names(ids, 2)})"
            for name, (shared, labels) in found.items()
            for label, left in zip(labels, shared.left_out, strict=True)
            for why, ids in left.items()
        ]
        raise InputError(
            f"Expected runs with scores on items that people answered, but there are none.{''.join(reasons)}"
        )
    for run in runs:
        output.note(f"run {numbers[id(run)]}: {run.title}, {run.path}", whole=True)
    for name, (shared, labels) in found.items():
        if shared.items:
            _show_entry(output, name, shared, labels, signatures[name])
        else:
            output.note(f"\n{name}: no item of {', '.join(labels)} that people answered and that has a score")
    output.note(
        "Unparsed and unknown count as wrong. Alike: both right or both wrong; by chance: the same for independent "
        "observers with these accuracies; kappa: 0 by chance, 1 if they err on the same items; least and "
        "greatest: what kappa can be with these accuracies. rho: Spearman's, of the share of people and of runs that "
        "are right. Both err: items on which the run and some people choose a wrong option; expected: the same option, "
        "had they answered different questions. Intervals are 95%, over groups. Formulas: docs/statistics.md."
    )


def outcomes_by_question(runs: Sequence[Run], asked: Asked, task: str = "") -> dict[str, dict[Key, str]]:
    """What became of each question in each task of each run that has some of them; of one task or group, or of all."""
    found = {}
    for number, run in enumerate(runs, start=1):
        for name in run.groups.get(task, (task,)) if task else run.records:
            outcomes = {record.item_id: record.outcome.value for record in run.records.get(name, ())}
            known = {key: outcomes[one.item_id] for key, one in asked.items() if one.item_id in outcomes}
            if known:
                found[f"run {number}, {name}"] = known
    return found


def _show_entry(output: Output, name: str, shared: SharedItems, labels: Sequence[str], signature: str) -> None:
    items = shared.items
    least, most = (pick(len(item.people) for item in items) for pick in (min, max))
    people = f"{least}" if least == most else f"{least} to {most}"
    groups = len({(item.task, item.record.group_id) for item in items})
    consistency = _consistency_table(items, labels)
    consistency.title = f"{name}: {len(items):,} items in {groups:,} groups, {people} people each"
    consistency.caption = "\n".join(
        f"{label}, left out, {why}: {len(ids):,} ({summarize_names(ids)})"
        for label, left in zip(labels, shared.left_out, strict=True)
        for why, ids in left.items()
    )
    consistency.signature = signature
    output.table(consistency, gap=True)
    options = [share_options(items, run) for run in range(len(labels))]
    difficulty = _difficulty_table(items, labels, options)
    difficulty.title = f"{name}: what is difficult, and what is chosen where both err"
    below = [
        f"{label}, both err, left out, alone with their key: {found.alone:,} items"
        for label, found in zip(labels, options, strict=True)
        if found is not None and found.alone
    ]
    both = [(find_opposed(items, False), "wrong", "every person"), (find_opposed(items, True), "right", "no person")]
    for opposed, runs_are, people_are in both:
        if opposed is not None:
            low, high = opposed.interval
            named = f" ({summarize_names(opposed.ids)})" if opposed.ids else ""
            below.append(
                f"every run {runs_are}, {people_are} right: {len(opposed.ids):,} of {opposed.items:,} items, "
                f"{opposed.percent:.1f}% [{low:.1f}, {high:.1f}]{named}"
            )
    difficulty.caption = "\n".join(below)
    difficulty.signature = signature
    output.table(difficulty)


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
