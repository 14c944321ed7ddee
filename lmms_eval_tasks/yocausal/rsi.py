"""Winners of pairs, the official result's metrics, and the ranking of models by RSI and CCI.

Source: YoCausal paper, Tables 4 and 5; youzhe0305/YoCausal, evaluation/metrics.py and evaluate.py at f219ba6. The
scores of a run, in percent, are in `metrics`; `official_overall` and `official_per_dataset` give the fractions and the
keys of the official functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lmms_eval_tasks.utils.scoring.metrics import mean_of_known

HUMAN_CCI = 8.67
"""Percentage points; YoCausal paper, Table 5."""


class Winner(str, Enum):
    """Which direction of a pair has the lower loss."""

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


@dataclass(frozen=True)
class Ranked:
    """A model's place: the sum of its RSI rank and its CCI rank, lower being better, ties ordered by RSI rank."""

    model: str
    rank: int
    rsi_rank: int
    cci_rank: int

    @property
    def score(self) -> int:
        """Sum of the two ranks."""
        return self.rsi_rank + self.cci_rank


def rank_models(scores: Mapping[str, tuple[float, float]]) -> list[Ranked]:
    """Order models by RSI rank + CCI rank, then RSI rank, then name; those equal in the first two share a rank.

    Args:
        scores: Model to its RSI and its CCI. Equal values share the better rank, and the next rank is left out.
    """

    def places(values: Mapping[str, float]) -> dict[str, int]:
        return {model: 1 + sum(other > value for other in values.values()) for model, value in values.items()}

    by_rsi = places({model: rsi for model, (rsi, _) in scores.items()})
    by_cci = places({model: cci for model, (_, cci) in scores.items()})
    keys = {model: (by_rsi[model] + by_cci[model], by_rsi[model]) for model in scores}
    return [
        Ranked(model, 1 + sum(key < keys[model] for key in keys.values()), by_rsi[model], by_cci[model])
        for model in sorted(scores, key=lambda name: (keys[name], name))
    ]


Labels = Mapping[str, Mapping[Any, object]]
"""Dataset to pair's id to its label."""


Winners = Mapping[str, Sequence[str]]
"""Part of a dataset to the winners of its pairs."""


def official_overall(
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    causal: Labels | None = None,
    discriminable: Labels | None = None,
) -> dict[str, Any]:
    """What the official ``compute_overall_metrics`` returns: fractions, 0.0 for the RSI of no pairs at all.

    RSI is the unweighted mean over datasets, and CCI = RSI(Dc) - RSI(Dnc), each a mean over the datasets that have such
    pairs.

    Args:
        results: Dataset to its pairs, each with ``id`` and ``winner``. Only scored pairs belong here.
        causal: Labels of the causality split; None or empty leaves its scores None.
        discriminable: Labels of the human split.
    """
    parts = _official_parts(results, causal or {}, discriminable or {})
    rsi = {name: mean_of_known(_forward_share(part[name]) for part in parts.values()) for name in _PARTS}
    return {
        **_official_wins([winner for part in parts.values() for winner in part["all"]]),
        "rsi": rsi["all"] or 0.0,
        "rsi_dc": rsi["dc"],
        "rsi_dnc": rsi["dnc"],
        "cci": _difference(rsi["dc"], rsi["dnc"]),
        "rsi_hd": rsi["hd"],
        "rsi_hnd": rsi["hnd"],
    }


def official_per_dataset(
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    causal: Labels | None = None,
    discriminable: Labels | None = None,
) -> dict[str, dict[str, Any]]:
    """What the official ``compute_per_dataset_metrics`` returns; arguments as in `official_overall`.

    A dataset without pairs is left out. Its split counts are None, not 0, where the labels do not name the dataset.
    """
    metrics = {}
    for dataset, part in _official_parts(results, causal or {}, discriminable or {}).items():
        if not part["all"]:
            continue
        labelled, judged = dataset in (causal or {}), dataset in (discriminable or {})
        rsi = {name: _forward_share(part[name]) for name in _PARTS}
        metrics[dataset] = {
            **_official_wins(part["all"]),
            "rsi": rsi["all"],
            "num_causal": len(part["dc"]) if labelled else None,
            "num_non_causal": len(part["dnc"]) if labelled else None,
            "rsi_dc": rsi["dc"],
            "rsi_dnc": rsi["dnc"],
            "cci": _difference(rsi["dc"], rsi["dnc"]),
            "num_human_disc": len(part["hd"]) if judged else None,
            "num_human_non_disc": len(part["hnd"]) if judged else None,
            "rsi_hd": rsi["hd"],
            "rsi_hnd": rsi["hnd"],
        }
    return metrics


_PARTS = ("all", "dc", "dnc", "hd", "hnd")


def _official_parts(
    results: Mapping[str, Sequence[Mapping[str, Any]]], causal: Labels, discriminable: Labels
) -> dict[str, Winners]:
    """Of each dataset the winners of all its pairs, and of those with either label; other labels are none."""

    def winners(dataset: str, labels: Labels | None = None, wanted: bool = True) -> list[str]:
        named = None if labels is None else labels.get(dataset, {})
        return [
            str(pair.get("winner", ""))
            for pair in results[dataset]
            if named is None or named.get(pair.get("id")) is wanted
        ]

    return {
        dataset: {
            "all": winners(dataset),
            "dc": winners(dataset, causal),
            "dnc": winners(dataset, causal, False),
            "hd": winners(dataset, discriminable),
            "hnd": winners(dataset, discriminable, False),
        }
        for dataset in results
    }


def _forward_share(winners: Sequence[str]) -> float | None:
    return winners.count("forward") / len(winners) if winners else None


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _official_wins(winners: Sequence[str]) -> dict[str, int]:
    forward, backward = winners.count("forward"), winners.count("backward")
    return {
        "forward_wins": forward,
        "backward_wins": backward,
        "ties": len(winners) - forward - backward,
        "total": len(winners),
    }


def official_dataset(source: str) -> str:
    """The name under which the official code files a pair's ``dataset_source``; unknown sources keep theirs.

    It looks for parts of words, so that *limits* is Moments in Time.
    """
    lowered = source.lower()
    parts = {"animal": "animal", "kinetic": "kinetics", "mit": "mit", "moments": "mit", "physic": "physics"}
    return next((dataset for part, dataset in parts.items() if part in lowered), source)
