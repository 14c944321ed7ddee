"""`lmms-eval-tasks compare`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.cli.cards import print_differences
from lmms_eval_tasks.cli.runs import ALLOW_INCOMPLETE, NAMES, open_runs
from lmms_eval_tasks.report.runs import comparable_parts, groups_of, references_of
from lmms_eval_tasks.utils.core.console import make_console, text_table
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

if TYPE_CHECKING:
    from rich.console import Console

    from lmms_eval_tasks.utils.core.tables import FittingTable

Pair = tuple[int, int]


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of two runs or more; of each its latest run.")],
    names: Annotated[list[str] | None, typer.Option("--name", help=NAMES)] = None,
    task: Annotated[str, typer.Option(help="Only this task or group.")] = "",
    allow_incomplete: Annotated[bool, typer.Option("--allow-incomplete", help=ALLOW_INCOMPLETE)] = False,
) -> None:
    """Show whether one run beats another on the groups of items that both answered.

    Examples:
        lmms-eval-tasks compare out/first out/second
        lmms-eval-tasks compare out/first out/second out/third --task causalvqa_debug_paired
    """
    if len(runs) < 2:
        raise InputError(f"Expected two runs or more to compare, but got {len(runs)}.")
    console = make_console()
    read = open_runs(console, runs, allow_incomplete, names=names or ())
    parts = [comparable_parts(run) for run in read]
    shared = _shared_names(read, parts, task)
    for number, (run, source) in enumerate(zip(read, runs, strict=True), start=1):
        console.print(f"run {number}: {run.title}, {source}", soft_wrap=True)
    for name in shared:
        holders = [index for index, part in enumerate(parts) if name in part]
        pairs = [pair for pair in combinations(holders, 2) if set(parts[pair[0]][name]) == set(parts[pair[1]][name])]
        records = parts[holders[0]][name]
        references = references_of(name, next(iter(records)), sum(map(len, records.values())))
        metrics = [one.metric for one in references]
        compared = {(one, two): compare_records(parts[one][name], parts[two][name], metrics) for one, two in pairs}
        _show(console, name, read, compared, references)
        for one, two in pairs:
            for difference in run_differences(read[one], read[two], name):
                console.print(f"runs {one + 1} and {two + 1} differ: {difference}", style="bold red")
        if missing := [str(index + 1) for index in range(len(read)) if index not in holders]:
            console.print(f"not in run {', '.join(missing)}")
    print_differences(console, read, [one for part in parts for name in shared for one in part.get(name, ())])
    console.print(
        "Each score on what counts in it in both runs, differences with 95% intervals (paired bootstrap over groups); "
        "1st only, 2nd only: groups that one run alone gets wholly right, p the exact McNemar test of them, Holm the "
        "same adjusted for the table's comparisons. Formulas: docs/statistics.md."
    )


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
    console: Console,
    name: str,
    runs: Sequence[Run],
    compared: dict[Pair, Comparison],
    references: Sequence[ReferencedMetric],
) -> None:
    holders = (runs[index] for index in dict.fromkeys(index for pair in compared for index in pair))
    apart = sorted({run.apart(run.groups.get(name, (name,))) for run in holders} - {""})
    console.print("; ".join([f"\n{name}", *apart]), style="bold")
    table = text_table(None, "runs", "score", "1st", "2nd", "2nd - 1st", "1st only", "2nd only", "p", "Holm")
    table.padding = 0
    tests = {pair: comparison.test for pair, comparison in compared.items() if comparison.test}
    adjusted = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    for (one, two), comparison in compared.items():
        for index, difference in enumerate(comparison.differences):
            low, high = difference.interval
            test = tests[one, two]
            tested = [str(test.only_first), str(test.only_second), _p(test.p_value), _p(adjusted[one, two])]
            table.add_row(
                f"{one + 1}, {two + 1}" if not index else "",
                difference.metric.title,
                f"{difference.first:.1f}",
                f"{difference.second:.1f}",
                f"{difference.change:+.1f} [{low:+.1f}, {high:+.1f}]",
                *(tested if test.metric == difference.metric else [""] * 4),
            )
    if table.row_count:
        console.print(table)
    for (one, two), comparison in compared.items():
        left = ", ".join(f"{_number(count, 'item')} {why}" for why, count in comparison.left_out.items())
        shared = f"{_number(comparison.items, 'item')} in {_number(comparison.groups, 'group')}"
        console.print(f"runs {one + 1} and {two + 1} share {shared}{f'; left out: {left}' if left else ''}")
        for line in _bases(comparison):
            console.print(f"  {line}", soft_wrap=True)
    effects = _detectable(compared, references)
    if effects.row_count:
        console.print(effects)


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


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


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
    table.title = "smallest difference that is found in 80% of cases, in points"
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
            f"{100 * together:.1f}" if known else "N/A",
            f"{100 * apart:.1f}" if apart else "N/A",
            f"× {together / apart:.2f}" if known else "N/A",
            *(_above_chance(tested.get(metric), percent) for metric, percent in chance.items()),
        )
    return table


def _above_chance(difference: ScoreDifference | None, percent: float) -> str:
    """By how much a score has to exceed chance, on as many items or groups as count in it."""
    if difference is None:
        return "N/A"
    units = difference.groups if difference.metric.together else difference.items
    return f"+{100 * effect_above_chance(units, percent / 100):.1f}"
