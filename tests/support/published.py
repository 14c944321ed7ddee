"""Item-level answers rebuilt from the exact counts behind the papers' tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

TABLE_6 = "CausalVQA paper Table 6 (paired)"
TABLE_12 = "CausalVQA paper Table 12 (unpaired)"
LEADERBOARD = "cast-bench.github.io index.html (commit b8ea9efb57d82900903d82f5979bd897f77c1c99) leaderboard"
REPRODUCIBILITY = "minimal_video_pairs reproducibility.md"
# Pairs per subset of MVP-mini: the smallest numbers of which all four-decimal accuracies are exact ratios.
MVP_MINI_PAIRS = {
    "human_object_interactions": 2862,
    "robot_object_interactions": 1000,
    "intuitive_physics": 4340,
    "temporal_reasoning": 1006,
}


def records(benchmark: str, source: str) -> list[dict[str, Any]]:
    """The benchmark's published numbers that come from one source."""
    text = (resources.files("lmms_eval_tasks") / benchmark / "published.json").read_text(encoding="utf-8")
    published = json.loads(text)
    rows = published["records"] if isinstance(published, dict) else published
    return [row for row in rows if row["source"] == source]


@dataclass(frozen=True)
class PairPattern:
    """How many pairs of a stratum have both, one or none of their members right."""

    both: int
    one: int
    none: int

    def members(self) -> Iterator[tuple[bool, bool]]:
        """Each pair's two members; of the pairs with one right, every second has its first right."""
        yield from [(True, True)] * self.both
        yield from ((index % 2 == 0, index % 2 == 1) for index in range(self.one))
        yield from [(False, False)] * self.none


def pattern(pairs: int, pair_percent: float, single_percent: float) -> PairPattern:
    """The only pattern of `pairs` pairs that prints these two percentages."""
    both, right = round(pairs * pair_percent / 100), round(2 * pairs * single_percent / 100)
    found = PairPattern(both, right - 2 * both, pairs - right + both)
    assert min(found.both, found.one, found.none) >= 0, (pairs, pair_percent, single_percent)
    return found
