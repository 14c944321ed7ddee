"""Whether one run beats another: the same groups of items, answered by both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.scoring.metrics import (
    Metric,
    ScoreUnit,
    Stratum,
    Units,
    count_groups,
    count_items,
    mean_of_all,
)
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.estimates import interval, refuse_counts

Records = Sequence[Record]
Part = Mapping[str, Records]
"""Records by task, of the tasks that count equally."""
Groups = Mapping[str, Mapping[str, Record]]
"""Group to its records by item id."""

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
        """The second score less the first."""
        return self.second - self.first


@dataclass(frozen=True)
class GroupTest:
    """Which of two runs gets more groups wholly right, among those that both were scored on in all their items."""

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
    """Two runs of one task, or of the tasks of one group."""

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
    adjusted = [0.0] * len(p_values)
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


def _shared_units(metric: Metric, first: Part, second: Part) -> list[tuple[dict[Stratum, list[ScoreUnit]], ...]]:
    """Of each task to which a score applies, what counts in it in both runs: in the first one, and in the second."""
    shared = []
    for task in first:
        runs = metric.units(first[task]), metric.units(second[task])
        if any(runs):
            places = [{place: {unit.key for unit in units} for place, units in run.items()} for run in runs]
            both = {place: places[0][place] & places[1][place] for place in places[0].keys() & places[1].keys()}
            shared.append(
                tuple(
                    {place: [unit for unit in units if unit.key in both.get(place, ())] for place, units in run.items()}
                    for run in runs
                )
            )
    return shared


def _difference(metric: Metric, first: Part, second: Part) -> ScoreDifference | None:
    """One score of both runs on what counts in it in both; None where a task has nothing that does."""
    refuse_counts(metric)
    shared = _shared_units(metric, first, second)
    before, after = (mean_of_all(metric.combine(pair[run]) for pair in shared) for run in (0, 1))
    if before is None or after is None:
        return None
    span = metric.value_bounds and metric.value_bounds[1] - metric.value_bounds[0]
    ends = interval(metric, [_changes(*pair) for pair in shared], (-span, span) if span else None)
    groups, items = (sum(count(pair[0]) for pair in shared) for count in (count_groups, count_items))
    return ScoreDifference(metric, before, after, ends, groups, items)


def _changes(before: Units, after: Units) -> dict[Stratum, list[ScoreUnit]]:
    """What counts in both runs, with the second run's value less the first's."""
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
        one, other = ones[name], others[name]
        same = {key: record.expected for key, record in one.items()} == {
            key: record.expected for key, record in other.items()
        }
        if same and not any(record.correct is None for record in (*one.values(), *other.values())):
            right.append((_all_right(one), _all_right(other)))
    return right


def _groups(records: Records) -> Groups:
    groups: dict[str, dict[str, Record]] = {}
    for record in records:
        groups.setdefault(record.group_id, {})[record.item_id] = record
    return groups


def _all_right(group: Mapping[str, Record]) -> bool:
    return all(record.correct for record in group.values())


def run_differences(first: Run, second: Run, name: str) -> list[str]:
    """What makes two runs of a task or group differ in more than the model, as sentences."""
    sentences = []
    one, other = first.versions.get(name), second.versions.get(name)
    if one != other:
        sentences.append(f"task version {one or 'unknown'} against {other or 'unknown'}")
    for task in first.groups.get(name, (name,)):
        here, there = first.set_of(task), second.set_of(task)
        if here != there:
            sentences.append(f"one is of {here.text}, the other of {there.text}")
    return list(dict.fromkeys(sentences))
