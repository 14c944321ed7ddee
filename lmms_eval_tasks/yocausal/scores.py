"""YoCausal's scores as functions of what a run recorded, for lmms-eval's aggregations and for reports alike.

An *item* is one pair's share of a score: ``item_id``, ``subset``, ``winner``, ``causal``, ``discriminable``,
``reason``, as `utils.rsi.Verdict` has them. All scores are percent, None where nothing enters them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmms_eval_tasks.utils.reporting.columns import (
    PAIR_COLUMNS,
    Column,
    Estimate,
    Records,
    by_group,
    estimate,
    estimate_text,
)
from lmms_eval_tasks.utils.reporting.references import Measure, pair_measures, published_models
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.bootstrap import Contribution
from lmms_eval_tasks.yocausal.card import CARD
from lmms_eval_tasks.yocausal.rsi import (
    HUMAN_CCI,
    Counts,
    RsiScores,
    Verdict,
    count_subsets,
    count_verdicts,
    score_subsets,
)
from lmms_eval_tasks.yocausal.rsi_intervals import cci_interval, rsi_interval

Items = Iterable[Mapping[str, Any]]
CHANCE = 50.0


def item_of(record: Record) -> dict[str, Any]:
    """A pair's share of every score."""
    return {
        "item_id": record.item_id,
        "subset": record.stratum["subset"],
        "winner": record.answered,
        "causal": record.fields["vlm_causality"],
        "discriminable": record.fields["human_discriminable"],
        "reason": record.fields.get("reason") or "",
    }


def verdicts(items: Items) -> list[Verdict]:
    """The verdicts that items stand for."""
    return [Verdict(**item) for item in items]


def scores(items: Items) -> RsiScores:
    """All scores at once, under the official rule for ties."""
    return score_subsets(count_subsets(verdicts(items)))


def rsi(items: Items) -> float | None:
    """RSI: unweighted mean over subsets."""
    return scores(items).rsi


def rsi_causal(items: Items) -> float | None:
    """RSI(Dc)."""
    return scores(items).rsi_causal


def rsi_non_causal(items: Items) -> float | None:
    """RSI(Dnc)."""
    return scores(items).rsi_non_causal


def cci(items: Items) -> float | None:
    """CCI, in percentage points."""
    return scores(items).cci


def cci_normalised(items: Items) -> float | None:
    """CCI as a percent of the human CCI."""
    return scores(items).cci_normalised


def rsi_discriminable(items: Items) -> float | None:
    """RSI over the pairs whose direction people can tell."""
    return scores(items).rsi_discriminable


def rsi_non_discriminable(items: Items) -> float | None:
    """RSI over the pairs whose direction people cannot tell."""
    return scores(items).rsi_non_discriminable


def tie_rate(items: Items) -> float | None:
    """Percent of scored pairs whose two losses are equal."""
    return _share(count_verdicts(verdicts(items)), "tie")


def non_finite_rate(items: Items) -> float | None:
    """Percent of scored pairs with a loss that is not finite."""
    return _share(count_verdicts(verdicts(items)), "non_finite")


def rsi_human_protocol(items: Items) -> float | None:
    """The human study's score: mean credit of each subset's clips, averaged over subsets.

    Args:
        items: ``subset`` and ``credit`` (100 for the right direction, 50 for *cannot be told*, 0 else, None where the
            clip was not asked about) per clip.
    """
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for item in items:
        if item["credit"] is not None:
            parts[item["subset"]].append(item["credit"])
    means = [sum(part) / len(part) for part in parts.values()]
    return sum(means) / len(means) if means else None


def _share(counts: Counts, name: str) -> float | None:
    return 100.0 * int(getattr(counts, name)) / counts.total if counts.total else None


def columns(task: str) -> tuple[Column, ...]:
    """What a report shows of one of its tasks."""
    if task == "yocausal_vlm":
        shown = tuple(column for column in PAIR_COLUMNS if column.heading != "official")
        return (*shown[:2], Column("human protocol", _human_cell), *shown[2:])
    return (
        Column("RSI", lambda parts: estimate_text(_rsi_estimate(parts), stacked=True)),
        Column("vs 50", _against_chance),
        Column("CCI", lambda parts: estimate_text(cci_estimate(parts), stacked=True)),
        Column("% of human", lambda parts: estimate_text(_normalised_estimate(parts), stacked=True)),
        *(
            Column(heading, _score_cell(name))
            for heading, name in {"Dc": "rsi_causal", "Dnc": "rsi_non_causal"}.items()
        ),
        Column("ties", lambda parts: _number(tie_rate(_items(parts)))),
        Column("non-finite", lambda parts: _number(non_finite_rate(_items(parts)))),
        Column("unscored", _unscored),
        Column("pairs", lambda parts: f"{count_verdicts(verdicts(_items(parts))).total:,}"),
    )


def measures(task: str, items: int) -> tuple[Measure, ...]:
    """Its scores beside what is known of them: paper, Tables 4 (RSI) and 5 (CCI)."""
    people = {metric: tuple(human for human in CARD.human if human.metric == metric) for metric in ("rsi", "cci")}
    if task == "yocausal_vlm":
        protocol = Measure(
            "rsi_human_protocol",
            "human protocol",
            _human_estimate,
            chance=CARD.chance["rsi"],
            people=people["rsi"],
            note="Scored as the paper's study of people was: an answer that it cannot be told counts half.",
        )
        return (protocol, *pair_measures())
    return (
        Measure(
            "rsi",
            "RSI",
            _rsi_estimate,
            chance=CARD.chance["rsi"],
            people=people["rsi"],
            published=published_models(
                CARD.name, source="YoCausal Table 4", without=("Human",), metric="RSI", split="all (RSI(D))"
            ),
        ),
        Measure(
            "cci",
            "CCI",
            cci_estimate,
            bounds=(-100.0, 100.0),
            unit="points",
            chance=CARD.chance["cci"],
            people=people["cci"],
            published=published_models(CARD.name, source="YoCausal Table 5", without=("Human",), metric="CCI(D)"),
        ),
    )


def _rsi_estimate(parts: Sequence[Records]) -> Estimate | None:
    items = _items(parts)
    score, interval = rsi(items), rsi_interval(verdicts(items))
    groups = count_verdicts(verdicts(items)).total
    return None if score is None or interval is None else Estimate(score, *interval, groups)


def cci_estimate(parts: Sequence[Records]) -> Estimate | None:
    """CCI with its bootstrap interval, pairs drawn within each half of each subset (10,000 draws, seed 0).

    Returns:
        Percentage points; None where either half has no scored pair.
    """
    items = _items(parts)
    score, interval = cci(items), cci_interval(verdicts(items))
    groups = sum(item["winner"] is not None and isinstance(item["causal"], bool) for item in items)
    return None if score is None or interval is None else Estimate(score, *interval, groups)


def _normalised_estimate(parts: Sequence[Records]) -> Estimate | None:
    """CCI as a percent of people's, which is taken as known."""
    found = cci_estimate(parts)
    if found is None:
        return None
    value, low, high = (100.0 * end / HUMAN_CCI for end in (found.value, found.low, found.high))
    return Estimate(value, low, high, found.groups)


def _human_estimate(parts: Sequence[Records]) -> Estimate | None:
    """The human study's score; pairs are drawn within each subset, as their two clips are not independent."""
    subsets: defaultdict[str, list[Record]] = defaultdict(list)
    for part in parts:
        for record in part:
            if record.fields["human_credit"] is not None:
                subsets[record.stratum["subset"]].append(record)
    return estimate([subsets[name] for name in sorted(subsets)], _human_contributions)


def _human_contributions(records: Records) -> list[Contribution]:
    return [(sum(record.fields["human_credit"] for record in pair), float(len(pair))) for pair in by_group(records)]


def human_item(record: Record) -> dict[str, Any]:
    """A clip's share of `rsi_human_protocol`."""
    return {"subset": record.stratum["subset"], "credit": record.fields["human_credit"]}


def _items(parts: Sequence[Records]) -> list[dict[str, Any]]:
    return [item_of(record) for part in parts for record in part]


def _number(score: float | None) -> str:
    return "N/A" if score is None else f"{score:.1f}"


def _score_cell(name: str) -> Any:
    return lambda parts: _number(getattr(scores(_items(parts)), name))


def _against_chance(parts: Sequence[Records]) -> str:
    """Whether the 95% interval of RSI excludes 50%, and on which side."""
    interval = rsi_interval(verdicts(_items(parts)))
    if interval is None:
        return "N/A"
    return "above" if interval[0] > CHANCE else "below" if interval[1] < CHANCE else "open"


def _unscored(parts: Sequence[Records]) -> str:
    items = _items(parts)
    return _number(100.0 * sum(item["winner"] is None for item in items) / len(items) if items else None)


def _human_cell(parts: Sequence[Records]) -> str:
    return _number(rsi_human_protocol(human_item(record) for part in parts for record in part))
