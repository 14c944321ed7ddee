"""What a report shows of CaST-Bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from lmms_eval_tasks.cast_bench import metrics, open_ended
from lmms_eval_tasks.utils.bootstrap import Contribution
from lmms_eval_tasks.utils.columns import Column, Records, by_group, count_column, score_column, share_column
from lmms_eval_tasks.utils.groups import macro_mean
from lmms_eval_tasks.utils.records import Outcome, Record

Scores = Callable[[Record], Mapping[str, float | None]]

OPEN_TASK = "cast_bench_open"
SHOWN = {"accuracy": "accuracy", "faithful": "faithful", "im_tiou": "IM-tIoU", "im_viou": "IM-vIoU"}
SHOWN_OPEN = {
    "answer_correctness": "answer",
    "causal_reasoning": "reasoning",
    "temporal_grounding": "times",
    "evidence_faithfulness": "evidence",
}


def columns(task: str) -> tuple[Column, ...]:
    """The columns of one of its tasks; intervals are over clips, as questions about one clip are not independent."""
    is_open = task == OPEN_TASK or task.startswith(f"{OPEN_TASK}_")
    return (
        *(_open_columns() if is_open else _evidence_columns()),
        share_column(Outcome.UNPARSED),
        share_column(Outcome.UNSCORED),
        count_column("questions", len),
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
