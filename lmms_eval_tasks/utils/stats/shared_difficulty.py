"""Whether what is hard for people is hard for runs: a rank correlation, and questions that only one side gets right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lmms_eval_tasks.utils.stats.bootstrap import Counts, Floats, Strata, intervals, macro_interval
from lmms_eval_tasks.utils.stats.shared_items import SharedItem, sum_groups


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho of items' human accuracy with the share of runs that are right on them."""

    items: int
    rho: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Opposed:
    """Items that one side wholly gets right and the other wholly wrong."""

    ids: tuple[str, ...]
    items: int
    percent: float
    interval: tuple[float, float]


def correlate_difficulty(items: Sequence[SharedItem], runs: Sequence[int]) -> RankCorrelation | None:
    """Correlate the share of people who are right on an item with the share of runs that are, ties with mean ranks."""
    known = _with_shares(items, runs)
    if not known:
        return None
    people = sorted({item.share_right for item, _ in known})
    models = sorted({share for _, share in known})

    def cell(item: SharedItem, share: float) -> Counts:
        return tuple(float(pair == (item.share_right, share)) for pair in product(people, models))

    def rho(sums: Floats) -> Floats:
        return spearman(sums.sum(axis=-2).reshape(*sums.shape[:-2], len(people), len(models)))

    strata = Strata.of(sum_groups((item, cell(item, share)) for item, share in known))
    value = float(rho(strata.sums()))
    if np.isnan(value):
        return RankCorrelation(len(known), None, None)
    low, high = map(float, intervals(strata, rho, bounds=None))
    return RankCorrelation(len(known), value, (low, high) if low < high else None)


def spearman(counts: Floats) -> Floats:
    """Spearman's rho from how often each pair of values occurs, each axis in rising order of its values."""
    centred = []
    for axis in (-1, -2):
        marginal = counts.sum(axis=axis)
        ranks = marginal.cumsum(axis=-1) - marginal / 2
        centred.append((marginal, ranks - marginal.sum(axis=-1, keepdims=True) / 2))
    (rows, of_rows), (columns, of_columns) = centred
    together = (of_rows[..., :, None] * of_columns[..., None, :] * counts).sum(axis=(-2, -1))
    spread = (rows * of_rows**2).sum(axis=-1) * (columns * of_columns**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(spread > 0, together / np.sqrt(spread), np.nan))


def find_opposed(items: Sequence[SharedItem], runs_right: bool) -> Opposed | None:
    """Items on which all runs are right and no person, or all people and no run; None where there is no item."""
    known = _with_shares(items, range(len(items[0].records)) if items else ())
    if not known:
        return None
    wanted = (1.0, 0.0) if runs_right else (0.0, 1.0)
    found = [(item, (share, item.share_right) == wanted) for item, share in known]
    tasks = sum_groups((item, (100.0 * is_one, 1.0)) for item, is_one in found)
    ids = tuple(item.record.item_id for item, is_one in found if is_one)
    interval = macro_interval([[group for groups in tasks for group in groups]])
    return Opposed(ids, len(known), 100 * len(ids) / len(known), interval)


def _with_shares(items: Sequence[SharedItem], runs: Sequence[int]) -> list[tuple[SharedItem, float]]:
    """The items on which all of some runs have a score, with the share of these that are right, 0-1."""
    known = [(item, [right for run in runs if (right := item.right(run)) is not None]) for item in items]
    return [(item, sum(right) / len(right)) for item, right in known if right and len(right) == len(runs)]
