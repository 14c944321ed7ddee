"""Comparison of runs on the same groups of items, ranks of runs by their intervals, and minimal detectable effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from lmms_eval_tasks.utils.scoring.bootstrap import interval, refuse_counts
from lmms_eval_tasks.utils.scoring.metrics import (
    Metric,
    Units,
    aggregate_tasks,
    count_groups,
    count_items,
    settle,
)
from lmms_eval_tasks.utils.scoring.record import Record

Records = Sequence[Record]
Part = Mapping[str, Records]
"""Records by task, of the tasks that count equally."""

ONLY_FIRST = "only in the first run"
ONLY_SECOND = "only in the second run"
OTHER_KEY = "with another key"


@dataclass(frozen=True)
class ScoreDifference:
    """One score of both runs on what counts in it in both, and the second less the first, in the score's unit."""

    metric: Metric
    first: float
    second: float
    interval: tuple[float, float]
    groups: int
    items: int

    @property
    def change(self) -> float:
        return self.second - self.first


@dataclass(frozen=True)
class GroupTest:
    """Test of which of two runs gets more groups wholly right, among those scored on all their items in both.

    Of several samples an item the majority's answer counts.
    """

    metric: Metric
    groups: int
    only_first: int
    only_second: int
    shares: tuple[float, float]

    @property
    def p_value(self) -> float:
        """Exact McNemar test of the two numbers, two-sided; groups of all tasks together."""
        return mcnemar(self.only_first, self.only_second)

    @property
    def discordant(self) -> float:
        """Share of the groups that one run alone gets wholly right, 0-1."""
        return (self.only_first + self.only_second) / self.groups if self.groups else 0.0


@dataclass(frozen=True)
class Comparison:
    groups: int
    items: int
    left_out: Mapping[str, int]
    differences: tuple[ScoreDifference, ...]
    without: tuple[Metric, ...]
    test: GroupTest | None


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided exact McNemar test: whether either run is the more likely to be the only one that is right.

    Source: McNemar 1947; exact as a sign test with chance 1/2 over the groups on which the runs differ.
    """
    from scipy.stats import binomtest

    together = only_first + only_second
    return float(binomtest(only_first, together).pvalue) if together else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number, in their order: Holm's step-down procedure (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = list(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def compare_records(first: Part, second: Part, metrics: Sequence[Metric]) -> Comparison:
    """Compare two runs on what they share.

    A score of both runs stands on what counts in it in both: items, or groups whose members count only together. The
    interval of a difference is BCa's over groups, each drawn with both runs' results (a paired bootstrap), within each
    task and stratum.

    Args:
        first: The first run's records, by task. Tasks count equally.
        second: The second run's, of the same tasks.
        metrics: The scores, no counts.

    Returns:
        The comparison. Of each score it has both values, their difference (the second less the first) and its 95%
        interval, in the score's unit; and for one of them an exact McNemar test of the groups that one run alone gets
        wholly right. Items that one run lacks, or has with another key, are counted and left out.

    Raises:
        ValueError: where the tasks differ, or a score is a count.
    """
    if set(first) != set(second):
        raise ValueError(f"Expected the same tasks, but got {sorted(first)} and {sorted(second)}.")
    first, second = _drawn_alike(first, second)
    left_out: Counter[str] = Counter()
    items = [_shared_items(first[task], second[task], left_out) for task in first]
    found = {metric: _difference(metric, first, second) for metric in metrics}
    differences = tuple(difference for difference in found.values() if difference)
    return Comparison(
        groups=sum(len({group for group, _ in part}) for part in items),
        items=sum(map(len, items)),
        left_out=dict(+left_out),
        differences=differences,
        without=tuple(metric for metric, difference in found.items() if difference is None),
        test=_test(differences, first, second),
    )


def _drawn_alike(first: Part, second: Part) -> tuple[Part, Part]:
    """Return two runs as of the sample that they share, where one of them or both asked one: each group then counts as
    often as it stands for among those that both have."""
    alike: tuple[dict[str, Records], dict[str, Records]] = {}, {}
    for task, runs in ((task, (first[task], second[task])) for task in first):
        drawn = [{record.group_id: record.drawn for record in run if record.drawn} for run in runs]
        shared = {record.group_id for record in runs[0]} & {record.group_id for record in runs[1]}
        known = {group: one for group, one in (drawn[0] or drawn[1]).items() if group in shared}
        asked = Counter(one.stratum for one in known.values())
        counted = {group: one.model_copy(update={"asked": asked[one.stratum]}) for group, one in known.items()}
        for run, records in zip(alike, runs, strict=True):
            run[task] = [replace(one, drawn=counted.get(one.group_id)) for one in records] if any(drawn) else records
    return alike


def _shared_items(first: Records, second: Records, left_out: Counter[str]) -> set[tuple[str, str]]:
    """The items of both runs, each by its group and id; the others are counted."""
    ones, others = (
        {(record.group_id, record.item_id): record.expected for record in records} for records in (first, second)
    )
    both = ones.keys() & others.keys()
    shared = {item for item in both if ones[item] == others[item]}
    left_out[ONLY_FIRST] += len(ones.keys() - both)
    left_out[ONLY_SECOND] += len(others.keys() - both)
    left_out[OTHER_KEY] += len(both - shared)
    return shared


def _shared_units(metric: Metric, first: Part, second: Part) -> list[tuple[Units, ...]]:
    """Of each task to which a score applies, what counts in it in both runs: in the first one, and in the second."""
    shared: list[tuple[Units, ...]] = []
    for task in first:
        runs = metric.units(first[task]), metric.units(second[task])
        keys = [{(place, unit.key) for place, units in run.items() for unit in units} for run in runs]
        both = keys[0] & keys[1]
        if any(runs):
            kept = (
                {place: [unit for unit in units if (place, unit.key) in both] for place, units in run.items()}
                for run in runs
            )
            shared.append(tuple(kept))
    return shared


def _difference(metric: Metric, first: Part, second: Part) -> ScoreDifference | None:
    """One score of both runs on what counts in it in both; None where a task has nothing that does."""
    refuse_counts(metric)
    shared = _shared_units(metric, first, second)
    before, after = (aggregate_tasks(metric, [metric.combine(pair[run]) for pair in shared]) for run in (0, 1))
    if before is None or after is None:
        return None
    span = metric.value_bounds and metric.value_bounds[1] - metric.value_bounds[0]
    ends = interval(metric, [_changes(*pair) for pair in shared], (-span, span) if span else None)
    groups, items = (sum(count(pair[0]) for pair in shared) for count in (count_groups, count_items))
    return ScoreDifference(metric, before, after, ends, groups, items)


def _changes(before: Units, after: Units) -> Units:
    """Return the units that count in both runs, valued by the second run's value less the first's."""
    changes = {}
    for place, units in before.items():
        values = {unit.key: unit.value for unit in after.get(place, ())}
        changes[place] = [unit._replace(value=values[unit.key] - unit.value) for unit in units]
    return changes


def _test(differences: Sequence[ScoreDifference], first: Part, second: Part) -> GroupTest | None:
    """The test beside the first score in which a group is right or wrong as a whole, else beside the first score."""
    if not differences:
        return None
    whole = (one.metric for one in differences if one.metric.together or one.groups == one.items)
    metric = next(whole, differences[0].metric)
    groups = [_whole_groups(first[task], second[task], metric) for task in first]
    right = Counter(pair for part in groups for pair in part)
    shares = [[sum(pair[run] for pair in part) / len(part) for part in groups if part] for run in (0, 1)]
    known = all(groups)
    return GroupTest(
        metric=metric,
        groups=right.total(),
        only_first=right[True, False],
        only_second=right[False, True],
        shares=(sum(shares[0]) / len(groups), sum(shares[1]) / len(groups)) if known else (0.0, 0.0),
    )


def _whole_groups(first: Records, second: Records, metric: Metric) -> list[tuple[bool, bool]]:
    """Whether each run gets a group wholly right, of the groups that count in a score and are scored in all items."""
    ones, others = _groups(first), _groups(second)
    counted = [{unit.group for units in metric.units(run).values() for unit in units} for run in (first, second)]
    right = []
    for name in sorted(counted[0] & counted[1]):
        keys = [{item: record.expected for item, record in run[name].items()} for run in (ones, others)]
        correct = [[record.correct for record in run[name].values()] for run in (ones, others)]
        if keys[0] == keys[1] and None not in (*correct[0], *correct[1]):
            right.append((all(correct[0]), all(correct[1])))
    return right


def _groups(records: Records) -> dict[str, dict[str, Record]]:
    groups: dict[str, dict[str, Record]] = {}
    for record in map(settle, records):
        groups.setdefault(record.group_id, {})[record.item_id] = record
    return groups


LEVEL = 0.05
POWER = 0.8


def _quantiles() -> tuple[float, float]:
    from scipy.special import ndtri

    return float(ndtri(1 - LEVEL / 2)), float(ndtri(POWER))


def unpaired_effect(groups: int, share: float) -> float:
    """Smallest difference between two runs that share no items: ``(z + z') sqrt(2 p (1 - p) / n)``."""
    return float(sum(_quantiles()) * (2 * share * (1 - share) / groups) ** 0.5)


def paired_effect(groups: int, discordant: float) -> float:
    """Smallest difference between two runs over the same items: ``(z + z') sqrt(d / n)``."""
    return float(sum(_quantiles()) * (discordant / groups) ** 0.5)


def effect_above_chance(units: int, chance: float) -> float:
    """By how much a score has to exceed chance: d with ``n d² = (z sqrt(c (1 - c)) + z' sqrt(s (1 - s)))²``, s = c +
    d."""
    from scipy.optimize import brentq

    z, z_power = _quantiles()

    def surplus(effect: float) -> float:
        score = chance + effect
        needed = z * (chance * (1 - chance)) ** 0.5 + z_power * max(score * (1 - score), 0.0) ** 0.5
        return float(units**0.5 * effect - needed)

    return float(brentq(surplus, 0.0, 1 - chance)) if surplus(1 - chance) > 0 else 1 - chance


SIGNIFICANT = 0.05
"""Two runs are told apart where their p-value, adjusted for all pairs, is below this."""


@dataclass(frozen=True)
class Scored:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Standing:
    rank: int
    alike: tuple[int, ...]


def interval_p_value(one: Scored, other: Scored) -> float:
    """Two-sided p-value of no difference between two scores, from their 95% intervals, as of independent runs."""
    from scipy.special import ndtr, ndtri

    higher, lower = (one, other) if one.value >= other.value else (other, one)
    difference = higher.value - lower.value
    if difference == 0.0:
        return 1.0
    squares = max(0.0, higher.value - higher.low) ** 2 + max(0.0, lower.high - lower.value) ** 2
    if squares == 0.0:
        return 0.0
    return float(2 * ndtr(-difference / squares**0.5 * ndtri(1 - SIGNIFICANT / 2)))


def rank_scores(scores: Sequence[Scored], higher_is_better: bool = True) -> list[Standing]:
    """Rank runs: 1 and the number of runs that are told apart from a run as better (Chiang et al. 2024, section 5)."""
    pairs = list(combinations(range(len(scores)), 2))
    adjusted = holm([interval_p_value(scores[one], scores[other]) for one, other in pairs])
    better: list[set[int]] = [set() for _ in scores]
    apart: list[set[int]] = [{place} for place in range(len(scores))]
    for (one, other), p_value in zip(pairs, adjusted, strict=True):
        if p_value < SIGNIFICANT:
            one_is_better = (scores[one].value > scores[other].value) == higher_is_better
            better[other if one_is_better else one].add(one if one_is_better else other)
            apart[one].add(other)
            apart[other].add(one)
    every = range(len(scores))
    return [Standing(1 + len(better[place]), tuple(one for one in every if one not in apart[place])) for place in every]
