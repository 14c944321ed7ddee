"""Whether a run and people who err on an item choose the same wrong option, beyond what options' frequencies give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.utils.stats.bootstrap import DRAWS, LEVEL, Counts, Floats, Strata
from lmms_eval_tasks.utils.stats.shared_items import SharedItem, sum_groups

Kind = tuple[str | None, int]
"""The key of an item, and how many choices it has: between such items, letters stand for the same places."""


@dataclass(frozen=True)
class SharedOptions:
    """Shared errors: a run and a person drawn from those who answered an item both choose a wrong option."""

    errors: int
    alone: int
    same: float
    expected: float
    interval: tuple[float, float] | None

    @property
    def beyond(self) -> float:
        """By how many points the share is above the expected one."""
        return self.same - self.expected


def share_options(items: Sequence[SharedItem], run: int, seed: int = 0, draws: int = DRAWS) -> SharedOptions | None:
    """Compare the wrong options that a run and people choose."""
    erring = [(item, option) for item in items if (option := item.wrong_option(run)) and item.wrong_options]
    erring = [(item, option) for item, option in erring if len(item.question.choices) != 2]
    kinds: dict[Kind, list[tuple[SharedItem, str]]] = {}
    for item, option in erring:
        kinds.setdefault((item.question.answer, len(item.question.choices)), []).append((item, option))
    several = {kind: found for kind, found in kinds.items() if len(found) > 1}
    if not several:
        return None
    options = sorted({one for item, option in erring for one in (option, *item.wrong_options)})
    places = {kind: place for place, kind in enumerate(several)}
    width = 2 + 2 * len(options)

    def count(kind: Kind, item: SharedItem, chosen: str) -> Counts:
        shares = [item.wrong_options.count(option) / len(item.people) for option in options]
        counts = [0.0] * (width * len(places))
        own = [1.0, shares[options.index(chosen)], *(float(chosen == option) for option in options), *shares]
        counts[places[kind] * width : (places[kind] + 1) * width] = own
        return tuple(counts)

    counted = ((item, count(kind, item, option)) for kind, found in several.items() for item, option in found)
    strata = Strata.of(sum_groups(counted))
    same, expected = map(float, _same_and_expected(strata.sums(), width))
    drawn = _same_and_expected(strata.draw(np.random.default_rng(seed), draws), width, drawn=True)
    beyond = drawn[:, 0] - drawn[:, 1]
    tail = (1 - LEVEL / 100) / 2
    low, high = map(float, np.quantile(beyond[~np.isnan(beyond)], [tail, 1 - tail]))
    return SharedOptions(
        errors=sum(map(len, several.values())),
        alone=len(erring) - sum(map(len, several.values())),
        same=same,
        expected=expected,
        interval=(low, high) if low < high else None,
    )


def _same_and_expected(sums: Floats, width: int, drawn: bool = False) -> Floats:
    """Percent of shared errors with the same option, and what is expected; (…, strata, counts) to (…, 2)."""
    kinds = sums.sum(axis=-2)
    kinds = kinds.reshape(*kinds.shape[:-1], -1, width)
    number, same = kinds[..., 0], kinds[..., 1]
    run, people = np.split(kinds[..., 2:], 2, axis=-1)
    together = (run * people).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # An item that is drawn twice would be its own other item: with this the mean over draws is what is expected.
        repeated = (number * together - (2 * number - 1) * same) / (number - 1) ** 2
        other = repeated if drawn else (together - same) / (number - 1)
        totals = [np.where(number > 1, one, 0.0).sum(axis=-1) for one in (same, other, people.sum(axis=-1))]
        return np.asarray(100 * np.stack(totals[:2], axis=-1) / totals[2][..., None])
