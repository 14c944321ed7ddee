"""What a report shows of MVP beside its scores: published figures, and panels of its page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from lmms_eval_tasks.mvp.card import CARD, SUBSETS
from lmms_eval_tasks.utils.benchmark.card import Human
from lmms_eval_tasks.utils.reporting.panels import Panel, RunRecords, answer_panels, consistency_panel, outcome_panel
from lmms_eval_tasks.utils.reporting.references import (
    Control,
    PublishedControl,
    ReferencedMetric,
    pair_references,
    published_controls,
    published_models,
)

FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them: paper, Table 4; of a subset's task that subset's."""
    split = "mini" if task.startswith("mvp_mini") else "full"
    category = _category(task)
    table = partial(published_models, FOLDER, source="MVP paper Table 4", category=category)
    people = tuple(
        Human("pair_accuracy", split, human.value, human.source, CARD.human[0].caveat)
        for human in table(split="human subset")
    )
    models = table(metric="pair_accuracy", split=split, setting="video")
    return pair_references(
        {"chance": CARD.chance["pair_accuracy"], "people": people, "published": models},
        {"chance": CARD.chance["single_accuracy"]},
    )


def controls(task: str) -> tuple[PublishedControl, ...]:
    """Pair accuracy as pairs were made harder: paper, Table 5, on the mini split alone; of a subset's task that
    subset's. Two of its cells are printed as changes alone.
    """
    if not task.startswith("mvp_mini"):
        return ()
    stages = {
        "Pairing of random": Control.RANDOM_PAIRS,
        "+ minimally different": Control.MINIMAL_PAIRS,
        "+ remove single-frame": Control.SINGLE_FRAME,
    }
    return published_controls(FOLDER, stages, source="MVP paper Table 5", category=_category(task))


def _category(task: str) -> str:
    return next((name for name in SUBSETS if task.endswith(f"_{name}")), "macro_avg")


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Consistency between the two clips of a minimal pair, outcomes, and letters."""
    return [consistency_panel(runs, "clips"), outcome_panel(runs), *answer_panels(runs)]
