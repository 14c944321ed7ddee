"""How much a prepared table holds, beside how much a complete release holds as the card states it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.benchmark.card import Card, SplitFacts

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Count:
    """One number of a split: as the card states it, and in the table."""

    what: str
    expected: int
    found: int

    def __str__(self) -> str:
        return f"Expected {self.expected} {self.what}, but got {self.found}."


def groups_of(card: Card, table: pyarrow.Table) -> set[tuple[str, tuple[str, ...]]]:
    """The groups of a table, each with its stratum: the same group id in two subsets names two groups."""
    columns = [table.column(name).to_pylist() for name in card.strata_columns]
    strata = zip(*columns, strict=True) if columns else [()] * table.num_rows
    return set(zip(table.column("group_id").to_pylist(), strata, strict=True))


def counts(card: Card, split: str, table: pyarrow.Table) -> list[Count]:
    """Items, groups, clips and groups per stratum of a table beside the card's; those that the card states."""
    facts = card.splits.get(split, SplitFacts())
    groups = groups_of(card, table)
    strata = Counter(stratum for _, stratum in groups)
    clips = {clip for name in card.clip_columns for clip in table.column(name).to_pylist()}
    stated = (
        ("items", facts.items, table.num_rows),
        ("groups", facts.groups, len(groups)),
        ("clips", facts.clips, len(clips)),
    )
    result = [Count(what, expected, found) for what, expected, found in stated if expected is not None]
    result += [Count(f"groups in {' / '.join(key)}", number, strata[key]) for key, number in facts.strata.items()]
    return result
