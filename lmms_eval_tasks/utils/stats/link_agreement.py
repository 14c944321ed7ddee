"""How well the links of a graph agree with those of a reference.

Source: CounterVQA (arXiv 2511.19923), appendix D: precision, recall, F1 and accuracy of edges. Over which pairs the
accuracy is taken is not said there; here it is over every two actions in their order of time, and those links of either
graph that go against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, sqrt


@dataclass(frozen=True)
class LinkCounts:
    """Pairs of actions by what both graphs say of them; counts of several graphs add up."""

    hits: int = 0
    extra: int = 0
    missed: int = 0
    neither: int | None = 0

    def __add__(self, other: LinkCounts) -> LinkCounts:
        known = self.neither is not None and other.neither is not None
        return LinkCounts(
            self.hits + other.hits,
            self.extra + other.extra,
            self.missed + other.missed,
            (self.neither or 0) + (other.neither or 0) if known else None,
        )

    @property
    def precision(self) -> float | None:
        """Hits over predicted links; None without one."""
        return _ratio(self.hits, self.hits + self.extra)

    @property
    def recall(self) -> float | None:
        """Hits over links of the reference; None without one."""
        return _ratio(self.hits, self.hits + self.missed)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, from the counts; None where neither graph has a link."""
        return _ratio(2 * self.hits, 2 * self.hits + self.extra + self.missed)

    @property
    def accuracy(self) -> float | None:
        """Pairs of which both say the same over all pairs; None without a pair, or where the actions are not known."""
        if self.neither is None:
            return None
        return _ratio(self.hits + self.neither, self.hits + self.extra + self.missed + self.neither)

    @property
    def tau(self) -> float | None:
        """Kendall's tau-b of what both say of each pair; None where one says the same of all, as for accuracy else."""
        if self.neither is None:
            return None
        claimed, found = self.hits + self.extra, self.hits + self.missed
        others = (self.missed + self.neither) * (self.extra + self.neither)
        spread = sqrt(claimed * found * others)
        return (self.hits * self.neither - self.extra * self.missed) / spread if spread else None


def count_links(
    predicted: Iterable[tuple[str, str]], reference: Iterable[tuple[str, str]], actions: Sequence[str] | None
) -> LinkCounts:
    """Compare the links of two graphs of the same actions."""
    ours, true = set(predicted), set(reference)
    either = ours | true
    neither = None
    if actions is not None:
        place = {action: number for number, action in enumerate(actions)}
        forward = sum(place[cause] < place[effect] for cause, effect in either)
        neither = comb(len(place), 2) - forward
    return LinkCounts(len(ours & true), len(ours - true), len(true - ours), neither)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
