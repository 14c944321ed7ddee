"""MVP's tables as the paper prints them: models, and steps of making the set, as rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmms_eval_tasks.api import PAIR_ACCURACY
from lmms_eval_tasks.api.page import Layout, LayoutPlace
from lmms_eval_tasks.mvp.card import CARD, SUBSETS

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
        note=(
            "Steps are means of five models. The last one is the released set, of which the runs are; "
            "`report --pairing random` has their scores with random partners."
        ),
    ),
)
