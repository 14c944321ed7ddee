"""Report of CausalVQA beside its scores: published figures, and the tables of the paper."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from lmms_eval_tasks.api import PAIR_ACCURACY, SINGLE_ACCURACY, Metric, Record
from lmms_eval_tasks.api.page import Layout, LayoutPlace, ReferencedMetric, published_models
from lmms_eval_tasks.causalvqa.card import CARD, DIFFICULTIES, TYPES
from lmms_eval_tasks.causalvqa.metrics import PAIR_ACCURACY_STRATA_MEAN

OTHER_QUESTIONS = "Published scores of people and models are of the test split; the debug split has other questions."
FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them: paper, Tables 6 (pairs) and 12 (single questions); and the
    leaderboard."""
    pair, single = (CARD.chance[metric] for metric in ("pair_accuracy", "single_accuracy"))
    if task.startswith("causalvqa_debug"):
        return (
            ReferencedMetric(PAIR_ACCURACY, pair, note=OTHER_QUESTIONS),
            ReferencedMetric(SINGLE_ACCURACY, single, note=OTHER_QUESTIONS),
        )
    models = partial(published_models, FOLDER, without=("Human",), category="all", difficulty="all")
    return (
        ReferencedMetric(
            PAIR_ACCURACY,
            pair,
            published=(
                *models(source="CausalVQA paper Table 6", metric="paired_accuracy"),
                *models(source="leaderboard", metric="paired_accuracy"),
            ),
            note="No paired score of people is published: nobody answered both versions of a question.",
        ),
        ReferencedMetric(
            SINGLE_ACCURACY,
            single,
            CARD.human,
            models(source="CausalVQA paper Table 12", metric="unpaired_accuracy"),
        ),
    )


ALL, REASONING = "all", "reasoning"
CALLED = {
    "paired_accuracy": PAIR_ACCURACY.title,
    "unpaired_accuracy": SINGLE_ACCURACY.title,
    "human_accuracy_bootstrap": SINGLE_ACCURACY.title,
    "human_single_frame_accuracy_bootstrap": SINGLE_ACCURACY.title,
}
PEOPLE = "People answered one version of each question, so that theirs is single accuracy in all three tables."
OF_TYPES = [(name, difficulty) for name in TYPES for difficulty in (*DIFFICULTIES, ALL)]
OF_ALL = [(REASONING, ALL), *((ALL, difficulty) for difficulty in (*DIFFICULTIES, ALL))]


def _counts(category: str, difficulty: str, record: Record) -> bool:
    own = record.stratum["type"]
    of_type = own != "descriptive" if category == REASONING else category in (ALL, own)
    return of_type and difficulty in (ALL, record.stratum["difficulty"])


def _places(task: str, metric: Metric) -> list[LayoutPlace]:
    places = [
        LayoutPlace(
            f"{category}, {difficulty}" if difficulty != ALL else category,
            task,
            metric,
            {"category": category, "difficulty": difficulty},
            partial(_counts, category, difficulty),
        )
        for category, difficulty in (*OF_TYPES, *OF_ALL)
    ]
    mean = [LayoutPlace("mean over strata", task, PAIR_ACCURACY_STRATA_MEAN, {"category": "mean over strata"})]
    return [*places, *(mean if metric is PAIR_ACCURACY else [])]


def _layout(number: str, metric: Metric, what: str, views: tuple[str, ...] = ("",)) -> tuple[Layout, Layout]:
    """A table of the test split, and of the debug split, of which nothing is published."""
    sources = (f"CausalVQA paper Table {number}",)
    test, debug = (_places(task, metric) for task in ("causalvqa_paired", "causalvqa_debug_paired"))
    table = Layout(f"Table {number}: {what}", sources, test, True, views, CALLED, digits=2, note=PEOPLE)
    return table, Layout(f"Table {number}, of the debug split: {what}", (), debug, True, views, digits=2)


LAYOUTS = (
    *_layout("6", PAIR_ACCURACY, "both versions right, by type and difficulty"),
    *_layout("12", SINGLE_ACCURACY, "single versions, by type and difficulty"),
    *_layout("13", PAIR_ACCURACY, "without the clip, and with its last frame", ("blind", "single_frame")),
)
