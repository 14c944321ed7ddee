"""Columns of a report: what a benchmark shows of a run, each a function of the run's records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.scoring.groups import GroupCounts, count_groups, macro_mean
from lmms_eval_tasks.utils.scoring.records import Outcome, Record
from lmms_eval_tasks.utils.stats.bootstrap import Contribution, macro_interval

Records = Sequence[Record]


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        heading: What it shows.
        cell: Its text for one run, from the records of each of the run's parts (the tasks of a group, or one task).
    """

    heading: str
    cell: Callable[[Sequence[Records]], str]


@dataclass(frozen=True)
class Estimate:
    """A score with its 95% interval, in the score's unit, and how many groups (pairs, clips) are behind it."""

    value: float
    low: float
    high: float
    groups: int


def estimate(parts: Sequence[Records], contributions: Callable[[Records], list[Contribution]]) -> Estimate | None:
    """A score over groups, with its bootstrap interval (10,000 draws, seed 0).

    Args:
        parts: The records of each of a run's parts (the tasks of a group, or one task).
        contributions: What each group of a part's records adds to the score's numerator and denominator.

    Returns:
        The unweighted mean over the parts; None where a part has no score.
    """
    found = [contributions(part) for part in parts]
    score = macro_mean(_ratio(part) for part in found)
    interval = macro_interval(found)
    if score is None or interval is None:
        return None
    return Estimate(score, *interval, sum(map(len, found)))


def score_column(heading: str, contributions: Callable[[Records], list[Contribution]], stacked: bool = False) -> Column:
    """A score with its 95% bootstrap interval over groups (10,000 draws, seed 0).

    Args:
        heading: What the column shows.
        contributions: What each group of a part's records adds to the score's numerator and denominator. The score is
            the unweighted mean over the parts, ``N/A`` where a part has none.
        stacked: Whether the interval stands below the score, for tables of many scores.
    """

    def cell(parts: Sequence[Records]) -> str:
        return estimate_text(estimate(parts, contributions), stacked)

    return Column(heading, cell)


def estimate_text(found: Estimate | None, stacked: bool = False) -> str:
    """A score with its interval, as ``12.3 [10.0, 15.0]`` or one above the other; ``N/A`` where there is none."""
    if found is None:
        return "N/A"
    return f"{found.value:.1f}{chr(10) if stacked else ' '}[{found.low:.1f}, {found.high:.1f}]"


def share_column(outcome: Outcome) -> Column:
    """Percent of a part's items that had an outcome; over several parts their unweighted mean, as with scores."""

    def cell(parts: Sequence[Records]) -> str:
        shares = [100.0 * sum(record.outcome is outcome for record in part) / len(part) for part in parts if part]
        return f"{sum(shares) / len(shares):.1f}" if shares else "N/A"

    return Column(outcome.value, cell)


def count_column(heading: str, count: Callable[[Records], int]) -> Column:
    """A number of things, over all parts."""
    return Column(heading, lambda parts: f"{sum(count(part) for part in parts):,}")


def by_group(records: Records) -> list[list[Record]]:
    """The records of each group, groups in the order of their first member."""
    members: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        members[record.group_id].append(record)
    return list(members.values())


def _ratio(contributions: Sequence[Contribution]) -> float | None:
    total = sum(part for _, part in contributions)
    return sum(part for part, _ in contributions) / total if total else None


def _counted(records: Records) -> GroupCounts:
    return count_groups({"group_id": record.group_id, "correct": record.correct} for record in records)


def pair_contributions(records: Records) -> list[Contribution]:
    """Each complete pair's part in pair accuracy, percent."""
    counts = [_counted(group) for group in by_group(records)]
    return [(100.0 * count.groups_right, float(count.groups)) for count in counts if count.groups]


def item_contributions(records: Records) -> list[Contribution]:
    """Each group's part in single accuracy, percent."""
    counts = [_counted(group) for group in by_group(records)]
    return [(100.0 * count.items_right, float(count.items)) for count in counts if count.items]


def _official_pairs(parts: Sequence[Records]) -> str:
    counts = [
        count_groups({"group_id": record.group_id, "correct": record.fields["official_correct"]} for record in part)
        for part in parts
    ]
    score = macro_mean(count.pair_accuracy for count in counts)
    return "N/A" if score is None else f"{score:.1f}"


PAIR_COLUMNS = (
    score_column("pair accuracy", pair_contributions),
    score_column("single accuracy", item_contributions),
    Column("official", _official_pairs),
    share_column(Outcome.UNPARSED),
    share_column(Outcome.UNSCORED),
    count_column("pairs", lambda records: _counted(records).groups),
)
"""Of a benchmark whose items count in pairs: accuracies, pair accuracy by the official reading, shares, and counts."""
