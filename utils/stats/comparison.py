"""Whether one run beats another: the same groups of items, answered by both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.scoring.metrics import Counts, Metric, Stratum, mean_of_all
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.estimates import interval

Records = Sequence[Record]
Part = Mapping[str, Records]
"""Records by task, of the tasks that count equally."""
Group = dict[str, Record]
"""The members of a group by item id."""

ONLY_FIRST = "only in the first run"
ONLY_SECOND = "only in the second run"
OTHER_ITEMS = "with other items or keys"
INCOMPLETE = "incomplete or unscored in one of them"


@dataclass(frozen=True)
class ScoreDifference:
    """One score of both runs on the groups that they share, and the second less the first, in the score's unit.

    Attributes:
        metric: The score.
        first: The first run's score.
        second: The second run's.
        interval: 95% interval of the difference.
        groups: How many groups it stands on: those that have the score in both runs.
    """

    metric: Metric
    first: float
    second: float
    interval: tuple[float, float]
    groups: int

    @property
    def change(self) -> float:
        """The second score less the first."""
        return self.second - self.first


@dataclass(frozen=True)
class Comparison:
    """Two runs of one task, or of the tasks of one group.

    Attributes:
        groups: Groups that both runs answered and that are scored in both.
        items: Their items.
        left_out: Groups that are not compared, by reason.
        differences: Of each score, unweighted means over the tasks. Empty where a task shares no group.
        only_first: Shared groups that only the first run gets wholly right.
        only_second: The same for the second.
        p_value: Exact McNemar test of those two numbers, two-sided; groups of all tasks together.
        shares: Share of the groups that each run gets wholly right, 0-1; unweighted means over the tasks.
    """

    groups: int
    items: int
    left_out: Mapping[str, int]
    differences: tuple[ScoreDifference, ...]
    only_first: int
    only_second: int
    p_value: float
    shares: tuple[float, float] = (0.0, 0.0)

    @property
    def discordant(self) -> float:
        """Share of the shared groups that one run alone gets wholly right, 0-1."""
        return (self.only_first + self.only_second) / self.groups if self.groups else 0.0


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
    """Compare two runs on the groups that they share.

    The interval of a difference is BCa's over groups, each drawn with both runs' results (a paired bootstrap), within
    each task and stratum.

    Where one of the metrics counts members of a group together, a group with another number of members is incomplete.

    Raises:
        ValueError: where the tasks differ.
    """
    if set(first) != set(second):
        raise ValueError(f"Expected the same tasks, but got {sorted(first)} and {sorted(second)}.")
    left_out: Counter[str] = Counter()
    together = next((metric.together for metric in metrics if metric.together), None)
    shared = [_shared_groups(first[task], second[task], together, left_out) for task in first]
    flat = [pair for part in shared for pair in part]
    whole = Counter((_all_right(one), _all_right(other)) for one, other in flat)
    only_first, only_second = whole[True, False], whole[False, True]
    compared = [_difference(metric, shared) for metric in metrics] if shared and all(shared) else []
    return Comparison(
        groups=len(flat),
        items=sum(len(one) for one, _ in flat),
        left_out=dict(+left_out),
        differences=tuple(difference for difference in compared if difference),
        only_first=only_first,
        only_second=only_second,
        p_value=mcnemar(only_first, only_second),
        shares=_shares(shared),
    )


def _shares(shared: Sequence[Sequence[tuple[Group, Group]]]) -> tuple[float, float]:
    if not shared or not all(shared):
        return (0.0, 0.0)
    means = [[sum(_all_right(pair[run]) for pair in part) / len(part) for part in shared] for run in (0, 1)]
    return (sum(means[0]) / len(shared), sum(means[1]) / len(shared))


def _groups(records: Records) -> dict[str, Group]:
    groups: defaultdict[str, Group] = defaultdict(dict)
    for record in records:
        groups[record.group_id][record.item_id] = record
    return dict(groups)


def _shared_groups(
    first: Records, second: Records, together: int | None, left_out: Counter[str]
) -> list[tuple[Group, Group]]:
    """The groups to compare, in the order of their ids; those that cannot be compared are counted."""
    ones, others = _groups(first), _groups(second)
    left_out[ONLY_FIRST] += len(ones.keys() - others.keys())
    left_out[ONLY_SECOND] += len(others.keys() - ones.keys())
    shared = []
    for name in sorted(ones.keys() & others.keys()):
        one, other = ones[name], others[name]
        members = [*one.values(), *other.values()]
        partial = together is not None and {len(one), len(other)} != {together}
        if partial or any(record.correct is None for record in members):
            left_out[INCOMPLETE] += 1
        elif {key: record.expected for key, record in one.items()} != {
            key: record.expected for key, record in other.items()
        }:
            left_out[OTHER_ITEMS] += 1
        else:
            shared.append((one, other))
    return shared


def _all_right(group: Group) -> bool:
    return all(record.correct for record in group.values())


def _difference(metric: Metric, shared: Sequence[Sequence[tuple[Group, Group]]]) -> ScoreDifference | None:
    """One score of both runs on the groups that have it in both; None where a task has no such group."""
    scores: tuple[list[float | None], list[float | None]] = ([], [])
    changes: list[dict[Stratum, list[Counts]]] = []
    for part in shared:
        counts: tuple[dict[Stratum, list[Counts]], ...] = ({}, {}, {})
        for one, other in part:
            before, after = (metric.contributions(list(group.values())) for group in (one, other))
            for stratum in before.keys() & after.keys():
                for old, new in zip(before[stratum], after[stratum], strict=False):
                    if old[1] == new[1]:
                        change = (new[0] - old[0], new[1])
                        for strata, value in zip(counts, (old, new, change), strict=True):
                            strata.setdefault(stratum, []).append(value)
        for run, strata in zip(scores, counts, strict=False):
            run.append(metric.combine(dict(sorted(strata.items()))))
        changes.append(dict(sorted(counts[2].items())))
    first, second = map(mean_of_all, scores)
    if first is None or second is None:
        return None
    span = metric.value_bounds and metric.value_bounds[1] - metric.value_bounds[0]
    ends = interval(metric, changes, (-span, span) if span else None)
    groups = sum(len(values) for part in changes for values in part.values())
    return ScoreDifference(metric, first, second, ends, groups)


def run_parts(run: Run) -> dict[str, Part]:
    """What of a run can be compared: each of its groups with its tasks, and each of its tasks alone."""
    alone = {task: {task: records} for task, records in run.records.items()}
    grouped = {group: {task: run.records[task] for task in sorted(tasks)} for group, tasks in run.groups.items()}
    return {**alone, **grouped}


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
