"""YoCausal's tables as the paper prints them: models by subset and by causality, and what the ranking agrees with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lmms_eval_tasks.api import Record
from lmms_eval_tasks.api.page import Layout, LayoutPlace
from lmms_eval_tasks.yocausal import metrics

TASK = "yocausal"
PRINTED_ORDER = ("General", "Physics", "Human", "Animal")
OF_RUNS = "Of runs, `lmms-eval-tasks yocausal rank RUNS {}` has them."


def _compared(entry: Mapping[str, Any]) -> str:
    """What the ranking is compared with, and by how many models."""
    other = entry["metric"].removeprefix("correlation of aggregate ranking with ")
    return f"{other}, {entry['model']}" if other != entry["metric"] else str(entry["model"])


def _is_of(subset: str, record: Record) -> bool:
    return record.stratum["subset"] == subset.lower()


def _correlations(number: str, what: str, option: str) -> Layout:
    places: Sequence[LayoutPlace] = (
        LayoutPlace("Kendall tau", TASK, None, {}),
        LayoutPlace("p", TASK, None, {}, field="p_value"),
    )
    sources = (f"YoCausal Table {number}",)
    return Layout(f"Table {number}: {what}", sources, places, name=_compared, digits=4, note=OF_RUNS.format(option))


LAYOUTS = (
    _correlations("3", "the ranking by one judge's labels against another's", "--labels FILE"),
    Layout(
        "Table 4: models by subset",
        ("YoCausal Table 4",),
        [
            *(LayoutPlace(one, TASK, metrics.RSI, {"split": one}, partial(_is_of, one)) for one in PRINTED_ORDER),
            LayoutPlace("all, mean over subsets", TASK, metrics.RSI, {"split": "all (RSI(D))"}),
        ],
        digits=2,
    ),
    Layout(
        "Table 5: models on causal and other clips",
        ("YoCausal Table 5",),
        [
            LayoutPlace("causal", TASK, metrics.RSI_CAUSAL, {"metric": "RSI(Dc)"}),
            LayoutPlace("not causal", TASK, metrics.RSI_NON_CAUSAL, {"metric": "RSI(Dnc)"}),
            LayoutPlace("difference", TASK, metrics.CCI, {"metric": "CCI(D)"}),
            LayoutPlace("normalised", TASK, metrics.CCI_NORMALISED, {"metric": "Normalized CCI"}),
        ],
        digits=2,
    ),
    _correlations("6", "the ranking against other scores, dates and sizes", "--published --against FILE"),
)
