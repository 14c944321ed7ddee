"""YoCausal's scores as functions of what a run recorded, for lmms-eval's aggregations and for reports alike.

An *item* is one pair's share of a score: ``item_id``, ``subset``, ``winner``, ``causal``, ``discriminable``,
``reason``, as `utils.rsi.Verdict` has them. All scores are percent, None where nothing enters them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmms_eval_tasks.utils.columns import PAIR_COLUMNS, Column, Records, interval_text
from lmms_eval_tasks.utils.records import Record
from lmms_eval_tasks.utils.rsi import (
    HUMAN_CCI,
    Counts,
    RsiScores,
    Verdict,
    cci_interval,
    count_subsets,
    count_verdicts,
    rsi_interval,
    score_subsets,
)

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
        Column("RSI", _rsi_cell),
        Column("vs 50", _against_chance),
        Column("CCI", _cci_cell),
        Column("% of human", _cci_normalised_cell),
        *(
            Column(heading, _score_cell(name))
            for heading, name in {"Dc": "rsi_causal", "Dnc": "rsi_non_causal"}.items()
        ),
        Column("ties", lambda parts: _number(tie_rate(_items(parts)))),
        Column("non-finite", lambda parts: _number(non_finite_rate(_items(parts)))),
        Column("unscored", _unscored),
        Column("pairs", lambda parts: f"{count_verdicts(verdicts(_items(parts))).total:,}"),
    )


def human_item(record: Record) -> dict[str, Any]:
    """A clip's share of `rsi_human_protocol`."""
    return {"subset": record.stratum["subset"], "credit": record.fields["human_credit"]}


def _items(parts: Sequence[Records]) -> list[dict[str, Any]]:
    return [item_of(record) for part in parts for record in part]


def _number(score: float | None) -> str:
    return "N/A" if score is None else f"{score:.1f}"


def _score_cell(name: str) -> Any:
    return lambda parts: _number(getattr(scores(_items(parts)), name))


def _rsi_cell(parts: Sequence[Records]) -> str:
    items = _items(parts)
    return interval_text(rsi(items), rsi_interval(verdicts(items)), stacked=True)


def _cci_cell(parts: Sequence[Records]) -> str:
    items = _items(parts)
    return interval_text(cci(items), cci_interval(verdicts(items)), stacked=True)


def _cci_normalised_cell(parts: Sequence[Records]) -> str:
    """CCI as a percent of people's, which is taken as known."""
    items = _items(parts)
    interval = cci_interval(verdicts(items))
    ends = None if interval is None else (100.0 * interval[0] / HUMAN_CCI, 100.0 * interval[1] / HUMAN_CCI)
    return interval_text(cci_normalised(items), ends, stacked=True)


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
