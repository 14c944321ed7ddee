"""Report of MVP beside its scores: published figures, and the tables of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api import PAIR_ACCURACY, SINGLE_ACCURACY, Human
from lmms_eval_tasks.api.page import Layout, LayoutPlace, ReferencedMetric, published_models
from lmms_eval_tasks.mvp.card import CARD, SUBSETS

FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside the paper's Table 4, of a subset's task that subset's, and the leaderboard's figures."""
    split = "mini" if task.startswith("mvp_mini") else "full"
    category = next((name for name in SUBSETS if task.endswith(f"_{name}")), "macro_avg")
    table = partial(published_models, FOLDER, source="MVP paper Table 4", category=category)
    people = tuple(
        Human("pair_accuracy", split, human.value, human.source, CARD.human[0].caveat)
        for human in table(split="human subset")
    )
    models = table(metric="pair_accuracy", split=split, setting="video")
    models += published_models(FOLDER, source="leaderboard", metric="pair_accuracy", split=split, category=category)
    return (
        ReferencedMetric(PAIR_ACCURACY, CARD.chance["pair_accuracy"], people, models),
        ReferencedMetric(SINGLE_ACCURACY, CARD.chance["single_accuracy"]),
    )


CATEGORIES = ("macro_avg", *SUBSETS)


def _task(group: str, category: str) -> str:
    return group if category == "macro_avg" else f"{group}_{category}"


def _name(entry: Mapping[str, Any]) -> str:
    return f"{entry['model']}, single frame" if entry["setting"] == "single-frame" else str(entry["model"])


def _step(entry: Mapping[str, Any]) -> str:
    return f"{entry['stage']}{', change' if 'change' in entry['metric'] else ''}"


LAYOUTS = (
    Layout(
        "Table 4: models by subset",
        ("MVP paper Table 4",),
        [
            LayoutPlace(
                f"{split}, {category.replace('_', ' ')}",
                _task(group, category),
                PAIR_ACCURACY,
                # The paper does not say of which split people's subset is.
                {"category": category, "split": (split, "human subset") if split == "mini" else split},
            )
            for split, group in (("full", "mvp"), ("mini", "mvp_mini"))
            for category in CATEGORIES
        ],
        views=("", "blind", "single_frame"),
        name=_name,
        note=f"People: {CARD.human[0].caveat}.",
    ),
    Layout(
        "Table 5: what pairing and the single-frame filter change",
        ("MVP paper Table 5",),
        [
            LayoutPlace(category.replace("_", " "), _task("mvp_mini", category), PAIR_ACCURACY, {"category": category})
            for category in CATEGORIES
        ],
        name=_step,
        of_sets=True,
        note="Steps are means of five models; the last one is the released set.",
    ),
)
