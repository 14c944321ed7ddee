"""YoCausal's scores: Reverse Surprise Index, Causality Cognition Index, and the ranking of models by both.

RSI is the percent of pairs whose forward clip is denoised with less loss than its reversal; a subset's RSI is over its
pairs, and the benchmark's is the unweighted mean over subsets. RSI(Dc) and RSI(Dnc) are the same over the pairs
labelled causal and not causal, each a mean over the subsets that have such pairs, and CCI = RSI(Dc) - RSI(Dnc).

Source: YoCausal paper, Tables 4 and 5; youzhe0305/YoCausal, evaluation/metrics.py and evaluate.py at f219ba6. Percents
are 0-100; `official_overall` and `official_per_dataset` give the fractions and the keys of the official functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

HUMAN_CCI = 8.67
"""Percentage points; YoCausal paper, Table 5."""
HUMAN_TIE = 0.5
"""What the paper's human study gives an *unknown*."""


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
class Verdict:
    """One pair's result.

    Attributes:
        item_id: The pair.
        subset: The part of the benchmark it belongs to.
        winner: A `Winner` or its value; any other text is no win. None where the pair is unscored.
        causal: True or False where the release labels it so; anything else is no label, as in the official code.
        discriminable: Whether people can tell its direction; read in the same way.
        reason: Why it is unscored.
    """

    item_id: str
    subset: str
    winner: str | None
    causal: object = None
    discriminable: object = None
    reason: str = ""


@dataclass(frozen=True)
class Counts:
    """Counts of scored pairs; adding two merges two shards."""

    forward: int = 0
    backward: int = 0
    tie: int = 0
    non_finite: int = 0
    other: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Sum field by field."""
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @property
    def total(self) -> int:
        """All scored pairs: the denominator."""
        return self.forward + self.backward + self.tie + self.non_finite + self.other

    def rate(self, tie_credit: float = 0.0) -> float | None:
        """Forward wins, and ties at `tie_credit` each, as a fraction of all scored pairs; None without any.

        Losses that are not finite never earn the credit of a tie; an answer that is no winner at all (*unknown* in the
        human study) does.
        """
        return (self.forward + tie_credit * (self.tie + self.other)) / self.total if self.total else None


def count_verdicts(verdicts: Iterable[Verdict]) -> Counts:
    """Count the scored pairs among some."""
    tally = dict.fromkeys(Counts.__dataclass_fields__, 0)
    for verdict in verdicts:
        if verdict.winner is not None:
            winner = str(getattr(verdict.winner, "value", verdict.winner))
            tally[winner if winner in tally else "other"] += 1
    return Counts(**tally)


@dataclass(frozen=True)
class SubsetCounts:
    """Counts of one subset, of all its pairs and of those with either label."""

    every: Counts = field(default_factory=Counts)
    causal: Counts = field(default_factory=Counts)
    non_causal: Counts = field(default_factory=Counts)
    discriminable: Counts = field(default_factory=Counts)
    non_discriminable: Counts = field(default_factory=Counts)


def count_subsets(verdicts: Iterable[Verdict]) -> dict[str, SubsetCounts]:
    """Counts of each subset, by name in order of first appearance; a subset may have no scored pair."""
    members: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        members.setdefault(verdict.subset, []).append(verdict)
    return {
        subset: SubsetCounts(
            every=count_verdicts(pairs),
            causal=count_verdicts(pair for pair in pairs if pair.causal is True),
            non_causal=count_verdicts(pair for pair in pairs if pair.causal is False),
            discriminable=count_verdicts(pair for pair in pairs if pair.discriminable is True),
            non_discriminable=count_verdicts(pair for pair in pairs if pair.discriminable is False),
        )
        for subset, pairs in members.items()
    }


def _macro(counts: Iterable[Counts], tie_credit: float) -> float | None:
    rates = [rate for part in counts if (rate := part.rate(tie_credit)) is not None]
    return sum(rates) / len(rates) if rates else None


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


@dataclass(frozen=True)
class RsiScores:
    """Scores in percent, 0-100, None where nothing enters them; CCI in percentage points, -100 to 100.

    Attributes:
        rsi: Over all scored pairs.
        rsi_causal: RSI(Dc).
        rsi_non_causal: RSI(Dnc).
        cci: Their difference.
        cci_normalised: CCI as a percent of the human CCI.
        rsi_discriminable: Over the pairs whose direction people can tell.
        rsi_non_discriminable: Over the pairs whose direction people cannot tell.
        counts: Of all scored pairs.
    """

    rsi: float | None
    rsi_causal: float | None
    rsi_non_causal: float | None
    cci: float | None
    cci_normalised: float | None
    rsi_discriminable: float | None
    rsi_non_discriminable: float | None
    counts: Counts


def score_subsets(subsets: Mapping[str, SubsetCounts], tie_credit: float = 0.0) -> RsiScores:
    """The benchmark's scores from the counts of its subsets; with one subset, that subset's scores.

    Args:
        subsets: As `count_subsets` gives them.
        tie_credit: 0 for the official rule (a tie is no win and stays in the denominator), 0.5 for the human study's.
    """
    parts = list(subsets.values())

    def percent(value: float | None) -> float | None:
        return None if value is None else 100.0 * value

    causal = _macro((part.causal for part in parts), tie_credit)
    non_causal = _macro((part.non_causal for part in parts), tie_credit)
    cci = percent(_difference(causal, non_causal))
    return RsiScores(
        rsi=percent(_macro((part.every for part in parts), tie_credit)),
        rsi_causal=percent(causal),
        rsi_non_causal=percent(non_causal),
        cci=cci,
        cci_normalised=None if cci is None else 100.0 * cci / HUMAN_CCI,
        rsi_discriminable=percent(_macro((part.discriminable for part in parts), tie_credit)),
        rsi_non_discriminable=percent(_macro((part.non_discriminable for part in parts), tie_credit)),
        counts=sum((part.every for part in parts), Counts()),
    )


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


def official_overall(
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    causal: Labels | None = None,
    discriminable: Labels | None = None,
    tie_credit: float = 0.0,
) -> dict[str, Any]:
    """What the official ``compute_overall_metrics`` returns: fractions, 0.0 for the RSI of no pairs at all.

    Args:
        results: Dataset to its pairs, each with ``id`` and ``winner``. Only scored pairs belong here.
        causal: Labels of the causality split; None or empty leaves its scores None.
        discriminable: Labels of the human split.
        tie_credit: 0 in the official code.
    """
    subsets = _official_counts(results, causal or {}, discriminable or {})
    parts = list(subsets.values())
    every = sum((part.every for part in parts), Counts())
    rsi_dc = _macro((part.causal for part in parts), tie_credit)
    rsi_dnc = _macro((part.non_causal for part in parts), tie_credit)
    return {
        **_official_wins(every),
        "rsi": _macro((part.every for part in parts), tie_credit) or 0.0,
        "rsi_dc": rsi_dc,
        "rsi_dnc": rsi_dnc,
        "cci": _difference(rsi_dc, rsi_dnc),
        "rsi_hd": _macro((part.discriminable for part in parts), tie_credit),
        "rsi_hnd": _macro((part.non_discriminable for part in parts), tie_credit),
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
    for dataset, part in _official_counts(results, causal or {}, discriminable or {}).items():
        if not part.every.total:
            continue
        labelled, judged = dataset in (causal or {}), dataset in (discriminable or {})
        metrics[dataset] = {
            **_official_wins(part.every),
            "rsi": part.every.rate(),
            "num_causal": part.causal.total if labelled else None,
            "num_non_causal": part.non_causal.total if labelled else None,
            "rsi_dc": part.causal.rate(),
            "rsi_dnc": part.non_causal.rate(),
            "cci": _difference(part.causal.rate(), part.non_causal.rate()),
            "num_human_disc": part.discriminable.total if judged else None,
            "num_human_non_disc": part.non_discriminable.total if judged else None,
            "rsi_hd": part.discriminable.rate(),
            "rsi_hnd": part.non_discriminable.rate(),
        }
    return metrics


def _official_counts(
    results: Mapping[str, Sequence[Mapping[str, Any]]], causal: Labels, discriminable: Labels
) -> dict[str, SubsetCounts]:
    return count_subsets(
        Verdict(
            item_id=str(pair.get("id")),
            subset=dataset,
            winner=str(pair.get("winner", "")),
            causal=causal.get(dataset, {}).get(pair.get("id")),
            discriminable=discriminable.get(dataset, {}).get(pair.get("id")),
        )
        for dataset, pairs in results.items()
        for pair in pairs
    )


def _official_wins(counts: Counts) -> dict[str, int]:
    decided = counts.forward + counts.backward
    return {
        "forward_wins": counts.forward,
        "backward_wins": counts.backward,
        "ties": counts.total - decided,
        "total": counts.total,
    }


def official_dataset(source: str) -> str:
    """The name under which the official code files a pair's ``dataset_source``; unknown sources keep theirs.

    It looks for parts of words, so that *limits* is Moments in Time.
    """
    lowered = source.lower()
    parts = {"animal": "animal", "kinetic": "kinetics", "mit": "mit", "moments": "mit", "physic": "physics"}
    return next((dataset for part, dataset in parts.items() if part in lowered), source)
