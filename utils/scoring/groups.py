"""Items that count only together: MCQ/MCQ′ pairs, minimal video pairs, forward and reversed clips.

A *credit* is what one item brings to a score: ``{"group_id": str, "correct": bool | None}``, where None means unscored.
Credits are plain dictionaries because lmms-eval gathers them from all ranks and writes them to the sample log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Credit = Mapping[str, Any]


@dataclass(frozen=True)
class GroupCounts:
    """Counts from which every accuracy over groups is a ratio; adding two counts merges two shards of whole groups.

    Attributes:
        groups: Groups with all their members present and scored.
        groups_right: Those of them whose members are all right.
        items: Scored items, also those of incomplete groups.
        items_right: Right ones among them.
        unscored: Items that are not scored.
    """

    groups: int = 0
    groups_right: int = 0
    items: int = 0
    items_right: int = 0
    unscored: int = 0

    def __add__(self, other: GroupCounts) -> GroupCounts:
        """Sum field by field."""
        return GroupCounts(
            self.groups + other.groups,
            self.groups_right + other.groups_right,
            self.items + other.items,
            self.items_right + other.items_right,
            self.unscored + other.unscored,
        )

    @property
    def pair_accuracy(self) -> float | None:
        """Percent of complete groups that are all right, 0-100; None without a complete group."""
        return 100.0 * self.groups_right / self.groups if self.groups else None

    @property
    def single_accuracy(self) -> float | None:
        """Percent of scored items that are right, 0-100; None without a scored item."""
        return 100.0 * self.items_right / self.items if self.items else None


def count_groups(credits: Iterable[Credit], size: int = 2) -> GroupCounts:
    """Count groups and items.

    A group with an unscored member, or with another number of members than `size` (a run under ``--limit`` can cut a
    pair in two), is not a complete group: it leaves the group counts and stays in the item counts.

    Args:
        credits: One credit per item, in any order.
        size: How many members a complete group has.
    """
    members: defaultdict[str, list[bool | None]] = defaultdict(list)
    for credit in credits:
        members[credit["group_id"]].append(credit["correct"])
    complete = [flags for flags in members.values() if len(flags) == size and None not in flags]
    scored = [flag for flags in members.values() for flag in flags if flag is not None]
    return GroupCounts(
        groups=len(complete),
        groups_right=sum(all(flags) for flags in complete),
        items=len(scored),
        items_right=sum(scored),
        unscored=sum(len(flags) for flags in members.values()) - len(scored),
    )


def pair_accuracy(credits: Iterable[Credit]) -> float | None:
    """Percent of pairs with both members right, 0-100; None where no pair is complete and scored."""
    return count_groups(credits).pair_accuracy


def pairs_scored(credits: Iterable[Credit]) -> int:
    """Number of pairs that `pair_accuracy` stands on: complete and scored ones."""
    return count_groups(credits).groups


def single_accuracy(credits: Iterable[Credit]) -> float | None:
    """Percent of scored items that are right, 0-100; None where nothing is scored."""
    return count_groups(credits).single_accuracy


def pair_accuracy_strata_mean(credits: Iterable[Credit]) -> float | None:
    """Unweighted mean of `pair_accuracy` over the strata that have a complete pair, 0-100; None without one.

    Each credit names its stratum under ``"stratum"``.
    """
    strata: defaultdict[str, list[Credit]] = defaultdict(list)
    for credit in credits:
        strata[credit["stratum"]].append(credit)
    scores = [score for part in strata.values() if (score := pair_accuracy(part)) is not None]
    return sum(scores) / len(scores) if scores else None


def rate(items: Iterable[float | None]) -> float | None:
    """Mean of the items' values (0 or 100) that are not None, in percent; None where there is none."""
    values = [value for value in items if value is not None]
    return sum(values) / len(values) if values else None


def macro_mean(scores: Iterable[float | None], sizes: Iterable[int] = (), weight_by_size: bool = False) -> float | None:
    """Unweighted mean of subtask scores; None where one of them is None, for a mean of fewer would be another score.

    The signature is that of lmms-eval's group aggregations; the paper's macro average does not weigh by size.
    """
    values = list(scores)
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def total(counts: Iterable[int | None], sizes: Iterable[int] = (), weight_by_size: bool = False) -> int | None:
    """Sum of subtask counts, in the form of lmms-eval's group aggregations; None where one of them is None."""
    values = list(counts)
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
