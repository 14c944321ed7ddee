"""`lmms-eval-tasks compare`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.cli.cards import print_differences
from lmms_eval_tasks.cli.options import FormatOption
from lmms_eval_tasks.cli.runs import ALLOW_INCOMPLETE, NAMES, open_runs
from lmms_eval_tasks.installed.parts import comparable_parts, groups_of, references_of
from lmms_eval_tasks.utils.core.cells import Cell, Mark, Number, points
from lmms_eval_tasks.utils.core.console import text_table
from lmms_eval_tasks.utils.core.output import Output, open_output
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.stats.comparison import (
    Comparison,
    Part,
    ScoreDifference,
    compare_records,
    holm,
    run_differences,
)
from lmms_eval_tasks.utils.stats.detectable import effect_above_chance, paired_effect, unpaired_effect
from lmms_eval_tasks.utils.stats.estimates import METHOD

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.core.tables import FittingTable

Pair = tuple[int, int]
LEVEL = 0.05


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of two runs or more; of each its latest run.")],
    names: Annotated[list[str] | None, typer.Option("--name", help=NAMES)] = None,
    task: Annotated[str, typer.Option(help="Only this task or group.")] = "",
    allow_incomplete: Annotated[bool, typer.Option("--allow-incomplete", help=ALLOW_INCOMPLETE)] = False,
    form: FormatOption = None,
) -> None:
    """Show whether one run beats another on the groups of items that both answered.

    Examples:
        lmms-eval-tasks compare out/first out/second
        lmms-eval-tasks compare out/first out/second out/third --task causalvqa_debug_paired
    """
    if len(runs) < 2:
        raise InputError(f"Expected two runs or more to compare, but got {len(runs)}.")
    with open_output("compare", form) as output:
        read = open_runs(output, runs, allow_incomplete, names=names or ())
        parts = [comparable_parts(run) for run in read]
        shared = _shared_names(read, parts, task)
        for number, (run, source) in enumerate(zip(read, runs, strict=True), start=1):
            output.note(f"run {number}: {run.title}, {source}", whole=True)
        for name in shared:
            _compare(output, name, read, parts)
        tasks = [one for part in parts for name in shared for one in part.get(name, ())]
        print_differences(output, read, tasks)
        output.note(
            "Each score on what counts in it in both runs, differences with 95% intervals (paired bootstrap over "
            "groups); 1st only, 2nd only: groups that one run alone gets wholly right, p the exact McNemar test of "
            "them, Holm the same adjusted for the table's comparisons. Formulas: docs/statistics.md."
        )


def _compare(output: Output, name: str, runs: Sequence[Run], parts: Sequence[Mapping[str, Part]]) -> None:
    """Compare the runs that hold a task or group, two by two."""
    holders = [index for index, part in enumerate(parts) if name in part]
    pairs = [pair for pair in combinations(holders, 2) if set(parts[pair[0]][name]) == set(parts[pair[1]][name])]
    records = parts[holders[0]][name]
    references = references_of(name, next(iter(records)), sum(map(len, records.values())))
    metrics = [one.metric for one in references]
    compared = {(one, two): compare_records(parts[one][name], parts[two][name], metrics) for one, two in pairs}
    _show(output, name, runs, compared, references)
    for one, two in pairs:
        for difference in run_differences(runs[one], runs[two], name):
            output.warn(f"runs {one + 1} and {two + 1} differ: {difference}")
    if missing := [str(index + 1) for index in range(len(runs)) if index not in holders]:
        output.note(f"not in run {', '.join(missing)}")


def _shared_names(runs: Sequence[Run], parts: Sequence[Mapping[str, Part]], task: str) -> list[str]:
    """Tasks and groups that at least two runs hold; a task of such a group only where it is asked for."""
    names = dict.fromkeys(name for part in parts for name in part)
    shared = [name for name in names if sum(name in part for part in parts) > 1]
    if not shared:
        tasks = "; ".join(", ".join(part) for part in parts)
        raise InputError(f"Expected runs that share a task, but they hold {tasks}.")
    if task and task not in shared:
        raise InputError(f"Expected a task or group of two of these runs, any of {', '.join(shared)}, but got {task}.")
    grouped = {name for run in runs for group, tasks in groups_of(run).items() if group in shared for name in tasks}
    return [task] if task else [name for name in shared if name not in grouped]


def _show(
    output: Output,
    name: str,
    runs: Sequence[Run],
    compared: dict[Pair, Comparison],
    references: Sequence[ReferencedMetric],
) -> None:
    holders = [runs[index] for index in dict.fromkeys(index for pair in compared for index in pair)]
    apart = sorted({run.apart(run.groups.get(name, (name,))) for run in holders} - {""})
    table = _difference_table(compared)
    table.title = "; ".join([name, *apart])
    versions = ", ".join(sorted({run.versions.get(name, "?") for run in holders}))
    named = ", ".join(f"run {number} {run.title}" for number, run in enumerate(runs, start=1))
    table.signature = (
        f"{named}; {name}, version {versions}; paired, {METHOD}; exact McNemar tests, adjusted by Holm's method"
    )
    bases = []
    for (one, two), comparison in compared.items():
        left = ", ".join(f"{_number(count, 'item')} {why}" for why, count in comparison.left_out.items())
        shared = f"{_number(comparison.items, 'item')} in {_number(comparison.groups, 'group')}"
        bases += [f"runs {one + 1} and {two + 1} share {shared}{f'; left out: {left}' if left else ''}"]
        bases += [f"  {line}" for line in _bases(comparison)]
    table.caption = "\n".join(bases)
    output.table(table, gap=True)
    effects = _detectable(compared, references)
    effects.title = f"{name}: smallest difference that is found in 80% of cases, in points"
    effects.signature = table.signature
    if effects.rows:
        output.table(effects)


def _difference_table(compared: dict[Pair, Comparison]) -> FittingTable:
    """Each score of two runs, their difference, and the test beside the score that it is of."""
    headings = ("runs", "score", "1st", "2nd", "2nd - 1st", "1st only", "2nd only", "p", "Holm")
    table = text_table(None, *headings, names=2, blank_repeats=True)
    table.padding = 0
    tests = {pair: comparison.test for pair, comparison in compared.items() if comparison.test}
    adjusted = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    for pair, comparison in compared.items():
        for difference in comparison.differences:
            unit, groups, test = difference.metric.unit, difference.groups, tests[pair]
            tested: list[Cell] = [""] * 4
            mark = None
            if test.metric == difference.metric:
                tested = [test.only_first, test.only_second, _p(test.p_value), _p(adjusted[pair])]
                mark = Mark.DIFFERS if adjusted[pair] < LEVEL else None
            table.add_row(
                f"{pair[0] + 1}, {pair[1] + 1}",
                difference.metric.title,
                Number(difference.first, n=groups, unit=unit),
                Number(difference.second, n=groups, unit=unit),
                Number(difference.change, *difference.interval, groups, points(unit), signed=True, mark=mark),
                *tested,
            )
    return table


def _bases(comparison: Comparison) -> Iterator[str]:
    """A line for each score, and the test, that does not stand on all that the runs share."""
    for one in comparison.differences:
        if (one.groups, one.items) != (comparison.groups, comparison.items):
            items, groups = _number(one.items, "item"), _number(one.groups, "group")
            yield f"{one.metric.title} stands on {items} in {groups}, which count in it in both runs"
        test = comparison.test
        if test and test.metric == one.metric and test.groups != one.groups:
            yield f"p stands on {_number(test.groups, 'group')}, which both runs have whole and scored"
    for metric in comparison.without:
        yield f"no {metric.title}: nothing that both runs have counts in it"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def _p(value: float) -> Number:
    return Number(value, digits=3, least=0.001)


def _detectable(compared: dict[Pair, Comparison], references: Sequence[ReferencedMetric]) -> FittingTable:
    """The smallest differences that show at this size: with these runs' pairing, without it, and from chance."""
    # Of proportions alone: the formulas know nothing of a mean over strata.
    chance = {
        one.metric: one.chance
        for one in references
        if one.chance is not None and not (one.metric.stratum or one.metric.contrast)
    }
    columns = ["runs", "same items", "other items", "pairing"]
    columns += [f"{metric.title} above {percent:g}" for metric, percent in chance.items()]
    table = text_table(None, *columns)
    for (one, two), comparison in compared.items():
        test = comparison.test
        tested = {difference.metric: difference for difference in comparison.differences}
        # Where groups hold several items that are not all needed, the formulas do not know how those hang together.
        if not test or not (test.metric.together or tested[test.metric].groups == tested[test.metric].items):
            continue
        apart = unpaired_effect(test.groups, sum(test.shares) / 2) if test.groups else 0.0
        together = paired_effect(test.groups, test.discordant) if test.groups else 0.0
        # Runs that agree on every group do not show how often such runs would differ, nor 0% and 100% how groups vary.
        known = bool(apart and together)
        table.add_row(
            f"{one + 1}, {two + 1}",
            Number(100 * together if known else None, unit="points"),
            Number(100 * apart if apart else None, unit="points"),
            Number(together / apart if known else None, digits=2, after=" ×"),
            *(_above_chance(tested.get(metric), percent) for metric, percent in chance.items()),
        )
    return table


def _above_chance(difference: ScoreDifference | None, percent: float) -> Number:
    """By how much a score has to exceed chance, on as many items or groups as count in it."""
    if difference is None:
        return Number(None)
    units = difference.groups if difference.metric.together else difference.items
    return Number(100 * effect_above_chance(units, percent / 100), unit="points", signed=True)
