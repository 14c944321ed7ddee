"""What a report shows of CaST-Bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from lmms_eval_tasks.cast_bench import metrics, open_ended
from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.utils.reporting.columns import (
    Column,
    Records,
    by_group,
    count_column,
    estimate,
    score_column,
    share_column,
)
from lmms_eval_tasks.utils.reporting.references import Measure, published_models
from lmms_eval_tasks.utils.scoring.groups import macro_mean
from lmms_eval_tasks.utils.scoring.records import Outcome, Record
from lmms_eval_tasks.utils.stats.bootstrap import Contribution

Scores = Callable[[Record], Mapping[str, float | None]]

OPEN_TASK = "cast_bench_open"
SHOWN = {"accuracy": "accuracy", "faithful": "faithful", "im_tiou": "IM-tIoU", "im_viou": "IM-vIoU"}
PUBLIC_QUESTIONS = 80
PUBLISHED = {"accuracy": "qa_accuracy", "faithful": "faithful", "im_tiou": "IM-tIoU", "im_viou": "IM-vIoU"}
SHOWN_OPEN = {
    "answer_correctness": "answer",
    "causal_reasoning": "reasoning",
    "temporal_grounding": "times",
    "evidence_faithfulness": "evidence",
}


def columns(task: str) -> tuple[Column, ...]:
    """The columns of one of its tasks; intervals are over clips, as questions about one clip are not independent."""
    return (
        *(_open_columns() if is_open(task) else _evidence_columns()),
        share_column(Outcome.UNPARSED),
        share_column(Outcome.UNSCORED),
        count_column("questions", len),
    )


def is_open(task: str) -> bool:
    """Whether a task asks without options, for answers that a judge grades."""
    return task == OPEN_TASK or task.startswith(f"{OPEN_TASK}_")


def measures(task: str, items: int) -> tuple[Measure, ...]:
    """Its scores beside what is known of them: the project page's table of the full benchmark.

    A run of as many items as there are public questions stands beside the page's leaderboard of those.
    """
    if is_open(task):
        graded = partial(_contributions, open_ended.question_scores, "judge_score")
        return (
            Measure("judge_score", "judge 0-10", partial(estimate, contributions=graded), bounds=(0.0, 10.0), unit=""),
        )
    split = "80-QA public example set" if items == PUBLIC_QUESTIONS else "full"
    return tuple(
        Measure(
            name,
            heading,
            partial(estimate, contributions=partial(_contributions, metrics.question_scores, name)),
            chance=CARD.chance.get(name),
            people=tuple(human for human in CARD.human if human.metric == name and items != PUBLIC_QUESTIONS),
            published=published_models(
                CARD.name, source="cast-bench.github.io", metric=PUBLISHED[name], split=split, without=("Human",)
            ),
            note=f"Published scores are of the {PUBLIC_QUESTIONS} public questions." if split != "full" else "",
        )
        for name, heading in SHOWN.items()
    )


def _evidence_columns() -> list[Column]:
    return [
        score_column(heading, partial(_contributions, metrics.question_scores, name), stacked=True)
        for name, heading in SHOWN.items()
    ]


def _open_columns() -> list[Column]:
    """The judge's score with its interval, and the dimensions that it is the mean of; from 0 to 10."""
    score = partial(_contributions, open_ended.question_scores, "judge_score")
    parts = [Column(heading, partial(_mean, name)) for name, heading in SHOWN_OPEN.items()]
    return [score_column("judge 0-10", score, stacked=True), *parts]


def _mean(dimension: str, parts: Sequence[Records]) -> str:
    mean = macro_mean(open_ended.aggregate(part)[dimension] for part in parts)
    return "N/A" if mean is None else f"{mean:.1f}"


def _contributions(scores: Scores, metric: str, records: Records) -> list[Contribution]:
    """Each clip's part in a metric's mean over questions."""
    found = []
    for clip in by_group(records):
        values = [value for record in clip if (value := scores(record)[metric]) is not None]
        if values:
            found.append((sum(values), float(len(values))))
    return found
