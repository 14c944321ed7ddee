"""Whether one run beats another: the same groups of items, answered by both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.bootstrap import DRAWS, LEVEL, Contribution, macro_interval

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
class Difference:
    """One score of both runs on the groups that they share, in percent, and the second less the first.

    Attributes:
        name: The score.
        first: The first run's score, 0-100.
        second: The second run's.
        interval: 95% interval of the difference, in percentage points.
    """

    name: str
    first: float
    second: float
    interval: tuple[float, float]

    @property
    def points(self) -> float:
        """The difference in percentage points, -100 to 100."""
        return self.second - self.first


@dataclass(frozen=True)
class Comparison:
    """Two runs of one task, or of the tasks of one group.

    Attributes:
        groups: Groups that both runs answered and that are scored in both.
        items: Their items.
        left_out: Groups that are not compared, by reason.
        differences: Of benchmarks whose items count in pairs, pair accuracy and single accuracy; of others, accuracy.
            Means over the tasks, unweighted. Empty where a task shares no group.
        only_first: Shared groups that only the first run gets wholly right.
        only_second: The same for the second.
        p_value: Exact McNemar test of those two numbers, two-sided; groups of all tasks together.
    """

    groups: int
    items: int
    left_out: Mapping[str, int]
    differences: tuple[Difference, ...]
    only_first: int
    only_second: int
    p_value: float

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


def compare_records(first: Part, second: Part, paired: bool, seed: int = 0, draws: int = DRAWS) -> Comparison:
    """Compare two runs on the groups that they share.

    The interval of a difference is BCa's over groups, each drawn with both runs' results (a paired bootstrap), within
    each task.

    Args:
        first: Task to records, of the tasks that count equally.
        second: The same tasks of the other run.
        paired: Whether items count in pairs; then a group with another number of members than 2 is incomplete.
        seed: Seed of the bootstrap.
        draws: Number of draws.

    Raises:
        ValueError: where the tasks differ.
    """
    if set(first) != set(second):
        raise ValueError(f"Expected the same tasks, but got {sorted(first)} and {sorted(second)}.")
    left_out: Counter[str] = Counter()
    shared = [_shared_groups(first[task], second[task], paired, left_out) for task in first]
    flat = [pair for part in shared for pair in part]
    whole = Counter((_all_right(one), _all_right(other)) for one, other in flat)
    only_first, only_second = whole[True, False], whole[False, True]
    differences = []
    if shared and all(shared):
        if paired:
            parts = [[(float(_all_right(one)), float(_all_right(other)), 1) for one, other in part] for part in shared]
            differences.append(_difference("pair accuracy", parts, seed, draws))
        parts = [[(_right(one), _right(other), len(one)) for one, other in part] for part in shared]
        differences.append(_difference("single accuracy" if paired else "accuracy", parts, seed, draws))
    return Comparison(
        groups=len(flat),
        items=sum(len(one) for one, _ in flat),
        left_out=dict(left_out),
        differences=tuple(differences),
        only_first=only_first,
        only_second=only_second,
        p_value=mcnemar(only_first, only_second),
    )


def _groups(records: Records) -> dict[str, Group]:
    found: defaultdict[str, Group] = defaultdict(dict)
    for record in records:
        found[record.group_id][record.item_id] = record
    return dict(found)


def _shared_groups(first: Records, second: Records, paired: bool, left_out: Counter[str]) -> list[tuple[Group, Group]]:
    """The groups to compare, in the order of their ids; those that cannot be compared are counted."""
    ones, others = _groups(first), _groups(second)
    left_out[ONLY_FIRST] += len(ones.keys() - others.keys())
    left_out[ONLY_SECOND] += len(others.keys() - ones.keys())
    shared = []
    for name in sorted(ones.keys() & others.keys()):
        one, other = ones[name], others[name]
        members = [*one.values(), *other.values()]
        partial = paired and {len(one), len(other)} != {2}
        if partial or any(record.correct is None for record in members):
            left_out[INCOMPLETE] += 1
        elif {key: record.expected for key, record in one.items()} != {
            key: record.expected for key, record in other.items()
        }:
            left_out[OTHER_ITEMS] += 1
        else:
            shared.append((one, other))
    for reason in [reason for reason, count in left_out.items() if not count]:
        del left_out[reason]
    return shared


def _all_right(group: Group) -> bool:
    return all(record.correct for record in group.values())


def _right(group: Group) -> float:
    return float(sum(bool(record.correct) for record in group.values()))


def _difference(name: str, parts: list[list[tuple[float, float, int]]], seed: int, draws: int) -> Difference:
    """From each group's credit in the first run and the second, and the most that it could get."""

    def mean(run: int) -> float:
        return sum(100.0 * sum(row[run] for row in part) / sum(row[2] for row in part) for part in parts) / len(parts)

    contributions: list[list[Contribution]] = [
        [(100.0 * (row[1] - row[0]), float(row[2])) for row in part] for part in parts
    ]
    interval = macro_interval(contributions, seed, draws, LEVEL, bounds=(-100.0, 100.0))
    assert interval is not None
    return Difference(name, mean(0), mean(1), interval)


def run_parts(run: Run) -> dict[str, Part]:
    """What of a run can be compared: each of its groups with its tasks, and each of its tasks alone."""
    found: dict[str, Part] = {task: {task: records} for task, records in run.records.items()}
    for group, tasks in run.groups.items():
        found[group] = {task: run.records[task] for task in sorted(tasks)}
    return found


def run_differences(first: Run, second: Run, name: str) -> list[str]:
    """What makes two runs of a task or group differ in more than the model, as sentences."""
    told = []
    versions = first.versions.get(name), second.versions.get(name)
    if versions[0] != versions[1]:
        told.append(f"task version {versions[0] or 'unknown'} against {versions[1] or 'unknown'}")
    if first.sample != second.sample:
        told.append("one is of sample data, the other of the benchmark")
    return told
