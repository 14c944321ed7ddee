"""What a report shows of CausalVQA beside its scores: published figures, and panels of its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.causalvqa.card import CARD
from lmms_eval_tasks.utils.reporting.panels import Panel, RunRecords, answer_panels, consistency_panel, outcome_panel
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, pair_references, published_models

OTHER_QUESTIONS = "Published scores of people and models are of the test split; the debug split has other questions."
FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them: paper, Tables 6 (pairs) and 12 (single questions).

    People answered one version of each question, so their score stands beside single accuracy alone.
    """
    chance = CARD.chance
    if task.startswith("causalvqa_debug"):
        note = {"note": OTHER_QUESTIONS}
        return pair_references(
            {"chance": chance["pair_accuracy"], **note}, {"chance": chance["single_accuracy"], **note}
        )

    def models(table: str, metric: str) -> dict[str, object]:
        source = f"CausalVQA paper {table}"
        return {
            "published": published_models(
                FOLDER, source=source, without=("Human",), metric=metric, category="all", difficulty="all"
            )
        }

    return pair_references(
        {
            "chance": chance["pair_accuracy"],
            "note": "No paired score of people is published: nobody answered both versions of a question.",
            **models("Table 6", "paired_accuracy"),
        },
        {
            "chance": chance["single_accuracy"],
            "people": tuple(human for human in CARD.human if human.metric == "single_accuracy"),
            **models("Table 12", "unpaired_accuracy"),
        },
    )


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Consistency between the two versions of a question, outcomes, and letters."""
    return [consistency_panel(runs, "versions"), outcome_panel(runs), *answer_panels(runs)]
