"""Comparisons of runs two by two on the items that they share, as tables for `compare` and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.scores import comparable_parts, references_of, samples_of
from lmms_eval_tasks.utils.core.output import Cell, FittingTable, Mark, Number
from lmms_eval_tasks.utils.reporting.columns import LEVEL, decision, difference_numbers, p_number
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
from lmms_eval_tasks.utils.scoring import compare
from lmms_eval_tasks.utils.scoring.bootstrap import BY_STRATA, METHOD
from lmms_eval_tasks.utils.scoring.metrics import over_samples

Pair = tuple[int, int]
"""The numbers of two runs."""
MOST_RUNS = 4
"""With more runs than these a page compares each with the first alone: tests of all pairs would hide what differs."""
READING = (
    "Each score on what counts in it in both runs, differences with 95% intervals (paired bootstrap over groups); 1st "
    "only, 2nd only: groups that one run alone gets wholly right, p the exact McNemar test of them, Holm the same "
    "adjusted for the table's comparisons."
)

OF_EFFECTS = (
    "How far two scores have to lie from each other, in points, for a test at 5% to find it in 80 of 100 such "
    "comparisons. same items: both runs answer these; other items: each run answers as many of its own; pairing: the "
    "first over the second; above: how far a score has to lie above chance; near: two runs near chance, on other "
    "items. A smaller difference can be real and not be found."
)


def compare_runs(name: str, runs: Mapping[int, Run], most: int | None = None) -> tuple[list[FittingTable], list[str]]:
    """Each score's differences and tests, and the smallest differences that show where the formulas hold, as tables;
    and in what the runs differ besides the model, as sentences."""
    parts: dict[int, compare.Part] = {
        number: part for number, run in runs.items() if (part := comparable_parts(run).get(name)) is not None
    }
    first = next(iter(parts))
    pairs = list(combinations(parts, 2)) if most is None or len(parts) <= most else [(first, one) for one in parts][1:]
    references = references_of(name, next(iter(parts[first])), sum(map(len, parts[first].values())))
    metrics = [one.metric for one in references]
    samples = {samples_of(records) for part in parts.values() for records in part.values()}
    if len(samples) == 1 and samples != {0}:
        metrics = [one for metric in metrics for one in (metric, *over_samples(metric))]
    compared = {
        (one, two): compare.compare_records(parts[one], parts[two], metrics)
        for one, two in pairs
        if set(parts[one]) == set(parts[two])
    }
    shown = {number: runs[number] for number in sorted({number for pair in compared for number in pair})}
    table, decided = _difference_table(compared)
    apart = {run.apart(run.tasks_of(name)) for run in shown.values()} - {""}
    table.title = "; ".join([name, *sorted(apart)])
    versions = ", ".join(sorted({run.versions.get(name, "?") for run in shown.values()}))
    named = ", ".join(f"run {number} {run.title}" for number, run in runs.items())
    tests = "exact McNemar tests, adjusted by Holm's method"
    drawn = {number: found for number, run in shown.items() if (found := run.sampled(run.tasks_of(name)))}
    method = BY_STRATA if drawn else METHOD
    table.signature = f"{named}; {name}, version {versions}; paired, {method}; {tests}"
    lines = list(_stands_on(compared))
    answers = {
        number: samples_of(record for task in run.tasks_of(name) for record in run.records[task])
        for number, run in shown.items()
    }
    if any(answers.values()):
        numbers = ", ".join(f"{max(1, count)} of run {number}" for number, count in answers.items())
        lines.append(f"samples an item: {numbers}; scores are their means, and p is of the majority's answers")
    for number, sampled in drawn.items():
        lines.append(f"run {number} is a sample, {sampled}; scores are of common groups, weighted to the whole set")
    table.caption = "\n".join([*lines, *decided])
    effects = _detectable(compared, references)
    effects.title = f"{name}: smallest difference that is found in 80% of cases, in points"
    effects.signature, effects.caption = table.signature, OF_EFFECTS
    others = [line for one, two in compared for line in _differences(name, {one: runs[one], two: runs[two]})]
    return [table, effects] if effects.rows else [table], list(dict.fromkeys(others))


def _differences(name: str, pair: Mapping[int, Run]) -> Iterator[str]:
    (first, second), numbers = pair.values(), " and ".join(map(str, pair))
    before, after = (run.versions.get(name, "") for run in (first, second))
    if before != after:
        yield f"runs {numbers} differ: task version {before or 'unknown'} against {after or 'unknown'}"
    for here, there in ((first.set_of(task), second.set_of(task)) for task in first.tasks_of(name)):
        if here != there:
            yield f"runs {numbers} differ: one is of {here.text}, the other of {there.text}"


def comparison_panels(name: str, runs: Mapping[int, Run]) -> list[Panel]:
    """The differences and tests of a page's runs of a task or group; none of a single run."""
    holders = {number: run for number, run in runs.items() if name in comparable_parts(run)}
    if len(holders) < 2:
        return []
    (table, *effects), differences = compare_runs(name, holders, MOST_RUNS)
    if not table.rows:
        return []
    only = f" Of {len(holders)} runs each is compared with run {min(holders)} alone; `compare` has all."
    table.warnings += differences
    return [
        Panel(
            "Differences between runs",
            note=f"{READING}{only if len(holders) > MOST_RUNS else ''}",
            wide=True,
            table=table,
        ),
        *(Panel("Smallest difference that is found in 80% of cases", table=one) for one in effects),
    ]


def _stands_on(compared: Mapping[Pair, compare.Comparison]) -> Iterator[str]:
    """Say how much runs share, once for all pairs that share as much, and which scores, or the test, use only a part of
    it."""
    pairs: dict[tuple[str, ...], list[str]] = {}
    for (one, two), comparison in compared.items():
        pairs.setdefault(tuple(_shared(comparison)), []).append(f"{one} and {two}")
    for (first, *others), named in pairs.items():
        yield f"runs {', '.join(named)} share {first}"
        yield from others


def _shared(comparison: compare.Comparison) -> Iterator[str]:
    left = ", ".join(f"{_number(count, 'item')} {why}" for why, count in comparison.left_out.items())
    shared = f"{_number(comparison.items, 'item')} in {_number(comparison.groups, 'group')}"
    yield f"{shared}{f'; left out: {left}' if left else ''}"
    for one in comparison.differences:
        if (one.groups, one.items) != (comparison.groups, comparison.items):
            items, groups = _number(one.items, "item"), _number(one.groups, "group")
            yield f"  {one.metric.title}: from {items} in {groups} that count in both runs"
        test = comparison.test
        if test and test.metric == one.metric and test.groups != one.groups:
            yield f"  p: from {_number(test.groups, 'group')} that both runs have whole and scored"
    for metric in comparison.without:
        yield f"  no {metric.title}: no item of both runs counts in it"


def _difference_table(compared: Mapping[Pair, compare.Comparison]) -> tuple[FittingTable, list[str]]:
    """The differences with their tests, and a sentence on each where interval and test disagree."""
    decided = []
    headings = ("runs", "score", "1st", "2nd", "2nd - 1st", "1st only", "2nd only", "p", "Holm")
    table = FittingTable("", headings, names=2, blank_repeats=True)
    tests = {pair: comparison.test for pair, comparison in compared.items() if comparison.test}
    adjusted = dict(zip(tests, compare.holm([test.p_value for test in tests.values()]), strict=True))
    for pair, comparison in compared.items():
        for difference in comparison.differences:
            test, mark, title = tests[pair], None, difference.metric.title
            is_tested = test.metric == difference.metric
            tested: list[Cell] = [""] * 4
            if is_tested:
                tested = [test.only_first, test.only_second, p_number(test.p_value), p_number(adjusted[pair])]
                mark = Mark.DIFFERS if adjusted[pair] < LEVEL else None
            numbers = difference_numbers(difference, mark)
            if is_tested and (text := decision(numbers[2], adjusted[pair], "p by Holm" if len(tests) > 1 else "p")):
                decided.append(f"runs {pair[0]} and {pair[1]}, {title}: {text}")
            table.add_row(f"{pair[0]}, {pair[1]}", title, *numbers, *tested)
    return table, decided


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def _detectable(compared: Mapping[Pair, compare.Comparison], references: Sequence[ReferencedMetric]) -> FittingTable:
    """The smallest differences that show at this size: with these runs' pairing, without it, and from chance."""
    # Of proportions alone: the formulas know nothing of a mean over strata.
    chance = {
        one.metric: one.chance
        for one in references
        if one.chance is not None and not (one.metric.stratum or one.metric.contrast)
    }
    columns = ["runs", "same items", "other items", "pairing"]
    columns += [f"{metric.title} above {percent:g}" for metric, percent in chance.items()]
    columns += [f"{metric.title} near {percent:g}" for metric, percent in chance.items()]
    table = FittingTable("", columns, padding=1)
    for (one, two), comparison in compared.items():
        test = comparison.test
        tested = {difference.metric: difference for difference in comparison.differences}
        # Where groups hold several items that are not all needed, the formulas do not know how those hang together.
        if not test or not (test.metric.together or tested[test.metric].groups == tested[test.metric].items):
            continue
        apart = compare.unpaired_effect(test.groups, sum(test.shares) / 2) if test.groups else 0.0
        together = compare.paired_effect(test.groups, test.discordant) if test.groups else 0.0
        # Runs that agree on every group do not show how often such runs would differ, nor 0% and 100% how groups vary.
        known = bool(apart and together)
        table.add_row(
            f"{one}, {two}",
            Number(100 * together if known else None, unit="points"),
            Number(100 * apart if apart else None, unit="points"),
            Number(together / apart if known else None, digits=2, after=" ×"),
            *(_above_chance(tested.get(metric), percent) for metric, percent in chance.items()),
            # By how much two runs near chance have to differ that were asked so many other questions each.
            *(
                Number(
                    100 * compare.unpaired_effect(test.groups, percent / 100) if test.groups else None, unit="points"
                )
                for percent in chance.values()
            ),
        )
    return table


def _above_chance(difference: compare.ScoreDifference | None, percent: float) -> Number:
    if difference is None:
        return Number(None)
    units = difference.groups if difference.metric.together else difference.items
    return Number(100 * compare.effect_above_chance(units, percent / 100), unit="points", signed=True)
