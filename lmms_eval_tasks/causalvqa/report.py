"""What a report shows of CausalVQA beside its scores: published figures, and panels of its page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from lmms_eval_tasks.causalvqa.card import CARD
from lmms_eval_tasks.utils.reporting.panels import Panel, RunRecords, answer_panels, consistency_panel, outcome_panel
from lmms_eval_tasks.utils.reporting.references import (
    Control,
    PublishedControl,
    ReferencedMetric,
    pair_references,
    published_models,
)

OTHER_QUESTIONS = "Published scores of people and models are of the test split; the debug split has other questions."
BLIND_REMOVED = 39.0
"""Percent of questions, as the paper's text has it."""
FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them: paper, Tables 6 (pairs) and 12 (single questions).

    People answered one version of each question, so their score stands beside single accuracy alone.
    """
    pair, single = ({"chance": CARD.chance[metric]} for metric in ("pair_accuracy", "single_accuracy"))
    if task.startswith("causalvqa_debug"):
        return pair_references({**pair, "note": OTHER_QUESTIONS}, {**single, "note": OTHER_QUESTIONS})
    models = partial(published_models, FOLDER, without=("Human",), category="all", difficulty="all")
    return pair_references(
        {
            **pair,
            "note": "No paired score of people is published: nobody answered both versions of a question.",
            "published": models(source="CausalVQA paper Table 6", metric="paired_accuracy"),
        },
        {
            **single,
            "people": CARD.human,
            "published": models(source="CausalVQA paper Table 12", metric="unpaired_accuracy"),
        },
    )


def controls(task: str) -> tuple[PublishedControl, ...]:
    """What its filters removed as the set was made, from far more questions than the test split has."""
    removed = (
        "percent of questions that a text model got right in both versions, of those that were left as the set was made"
    )
    return (PublishedControl(Control.BLIND, removed, BLIND_REMOVED, "CausalVQA paper"),)


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Consistency between the two versions of a question, outcomes, and letters."""
    return [consistency_panel(runs, "versions"), outcome_panel(runs), *answer_panels(runs)]
