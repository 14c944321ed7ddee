"""Winners of pairs, and the metrics of the official result file.

Source: YoCausal paper, Tables 4 and 5; youzhe0305/YoCausal, evaluation/metrics.py and evaluate.py at f219ba6. The
scores of a run, in percent, are in `metrics`; here are the fractions and the keys of the official functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any


class Winner(str, Enum):
    """Direction of a pair that has the lower loss."""

    FORWARD = "forward"
    BACKWARD = "backward"
    TIE = "tie"
    """The two losses are equal."""
    NON_FINITE = "non_finite"
    """A loss is NaN or infinite. The official code calls NaN a tie and lets a finite loss win against infinity."""


def compare_losses(forward: float, backward: float) -> Winner:
    """The winner of a pair by its two losses."""
    if not (math.isfinite(forward) and math.isfinite(backward)):
        return Winner.NON_FINITE
    if forward == backward:
        return Winner.TIE
    return Winner.FORWARD if forward < backward else Winner.BACKWARD


OfficialPair = tuple[str, str, object, object]
"""A pair's official dataset, winner, causality label and human label; labels other than True and False are none."""


def official_metrics(pairs: Iterable[OfficialPair]) -> dict[str, dict[str, Any]]:
    """The result file's ``per_dataset_metrics`` and ``overall_metrics``, as the official functions compute them.

    RSI is the share of pairs with a forward win, overall the unweighted mean over datasets (0.0 without pairs).
    CCI = RSI(Dc) - RSI(Dnc), each a mean over the datasets that have such pairs. Scores are fractions.

    Args:
        pairs: The scored pairs.
    """
    by_dataset: dict[str, list[OfficialPair]] = {}
    for pair in pairs:
        by_dataset.setdefault(pair[0], []).append(pair)
    per_dataset = {dataset: _dataset_metrics(members) for dataset, members in by_dataset.items()}
    counts = {name: sum(metrics[name] for metrics in per_dataset.values()) for name in _COUNTS}
    means = {name: _mean(metrics[name] for metrics in per_dataset.values()) for name in _SHARES}
    overall = {
        **counts,
        "rsi": means["rsi"] or 0.0,
        "rsi_dc": means["rsi_dc"],
        "rsi_dnc": means["rsi_dnc"],
        "cci": _difference(means["rsi_dc"], means["rsi_dnc"]),
        "rsi_hd": means["rsi_hd"],
        "rsi_hnd": means["rsi_hnd"],
    }
    return {"per_dataset_metrics": per_dataset, "overall_metrics": overall}


def _mean(shares: Iterable[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


_COUNTS = ("forward_wins", "backward_wins", "ties", "total")
_SHARES = ("rsi", "rsi_dc", "rsi_dnc", "rsi_hd", "rsi_hnd")


def _dataset_metrics(pairs: Sequence[OfficialPair]) -> dict[str, Any]:
    """One dataset's metrics; the numbers of a split's pairs are None where no pair has its label."""
    winners = [winner for _, winner, _, _ in pairs]
    forward, backward = winners.count("forward"), winners.count("backward")
    dc, dnc = ([winner for _, winner, causal, _ in pairs if causal is wanted] for wanted in (True, False))
    hd, hnd = ([winner for _, winner, _, human in pairs if human is wanted] for wanted in (True, False))
    labelled = any(causal is not None for _, _, causal, _ in pairs)
    judged = any(human is not None for _, _, _, human in pairs)
    return {
        "forward_wins": forward,
        "backward_wins": backward,
        "ties": len(winners) - forward - backward,
        "total": len(winners),
        "rsi": _forward_share(winners),
        "num_causal": len(dc) if labelled else None,
        "num_non_causal": len(dnc) if labelled else None,
        "rsi_dc": _forward_share(dc),
        "rsi_dnc": _forward_share(dnc),
        "cci": _difference(_forward_share(dc), _forward_share(dnc)),
        "num_human_disc": len(hd) if judged else None,
        "num_human_non_disc": len(hnd) if judged else None,
        "rsi_hd": _forward_share(hd),
        "rsi_hnd": _forward_share(hnd),
    }


def _forward_share(winners: Sequence[str]) -> float | None:
    return winners.count("forward") / len(winners) if winners else None


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def official_dataset(source: str) -> str:
    """The name under which the official code files a pair's ``dataset_source``; unknown sources keep theirs.

    It looks for parts of words, so that *limits* is Moments in Time.
    """
    lowered = source.lower()
    parts = {"animal": "animal", "kinetic": "kinetics", "mit": "mit", "moments": "mit", "physic": "physics"}
    return next((dataset for part, dataset in parts.items() if part in lowered), source)
