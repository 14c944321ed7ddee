"""What a report shows of Worlds: scores beside chance, the profile of a model, and evidence in clips."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import ascii_uppercase

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Column,
    Metric,
    Panel,
    Record,
    Row,
    RunRecords,
)
from lmms_eval_tasks.api.answers import SAYS_POSSIBLE, VERDICT_ACCURACY, YES_RATE
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.api.page import (
    AnswerView,
    ItemView,
    ReferencedMetric,
    evidence_answer_view,
    tracks_of,
    usual_panels,
)
from lmms_eval_tasks.worlds.card import FRAME
from lmms_eval_tasks.worlds.metrics import ACCURACY, FAITHFUL, IM_VIOU
from lmms_eval_tasks.worlds.profile_panels import profile_panels
from lmms_eval_tasks.worlds.profile_runs import profiles_of_section

FOLDER = Path(__file__).parent

CHANCE: Mapping[str, Sequence[tuple[Metric, float | None]]] = {
    "perception": ((SINGLE_ACCURACY, None),),
    "paired": ((PAIR_ACCURACY, None), (SINGLE_ACCURACY, None)),
    "minimal": ((PAIR_ACCURACY, 25.0), (SINGLE_ACCURACY, 50.0)),
    "counterfactual": ((VERDICT_ACCURACY, 50.0), (PAIR_ACCURACY, 25.0)),
    "evidence": ((ACCURACY, None), (FAITHFUL, None), (IM_VIOU, None)),
    "possible": ((SINGLE_ACCURACY, 50.0), (PAIR_ACCURACY, 25.0)),
    "reversal": ((PAIR_ACCURACY, 25.0), (SINGLE_ACCURACY, 50.0)),
}
"""The leading scores of each task, and what guessing scores; None where questions have two to four options."""

_COMMON = tuple(map(Column, COMMON_METRICS[:2]))
_OTHERS: Mapping[str, tuple[Metric, ...]] = {"counterfactual": (YES_RATE,), "possible": (SAYS_POSSIBLE,)}

OTHER_WORLDS = {"remove": "without the {}", "freeze": "with the {} held", "delay": "with the {} held for a time"}
"""Kind of intervention to the world that it makes."""


def references(subset: str) -> Callable[[str, int], tuple[ReferencedMetric, ...]]:
    """The leading scores of a task beside chance; nothing is published, and no people were asked."""
    return partial(_references, subset)


def _references(subset: str, task: str, items: int) -> tuple[ReferencedMetric, ...]:
    return tuple(ReferencedMetric(metric, chance) for metric, chance in CHANCE[subset])


def columns(subset: str) -> tuple[Column, ...]:
    """The columns of a task's table."""
    leading = [metric for metric, _ in CHANCE[subset]]
    pairs = (Column(PAIRS_SCORED),) if PAIR_ACCURACY in leading else ()
    return (
        *(Column(metric, interval=True) for metric in leading),
        *map(Column, _OTHERS.get(subset, ())),
        *_COMMON,
        *(pairs or (Column(title="items"),)),
    )


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Return the panels of item outcomes, with a run's profile at its first causal task, which needs its other
    tasks."""
    return [*profile_panels(profiles_of_section(task, runs)), *usual_panels(runs)]


def counterfactual_answer(record: Record, row: Row, response: str) -> AnswerView:
    """The verdict that was read, what happens in the other world, and what a graph of what was seen says of it."""
    other = OTHER_WORLDS[row["intervention"]].format(row["changed"].replace(" and ", " and the "))
    happens = "it happens" if row["answer"] == "yes" else "it does not happen"
    return AnswerView(
        {
            "verdict read": record.answered or "none",
            "other world": f"{other}, {happens}",
            "by what was seen alone": row["seen"],
        }
    )


def evidence_item_view(record: Record, row: Row) -> ItemView:
    """The clip and the true evidence."""
    return ItemView({"": row["clip"]}, frame=FRAME, tracks=tracks_of(read_truth(row["evidence"])))


def evidence_answer(record: Record, row: Row, response: str) -> AnswerView:
    """The evidence that was answered, read as it was when it was graded."""
    return evidence_answer_view(record, response, FRAME)


def evidence_guesses(row: Row) -> list[str]:
    """Every option as an answer without evidence."""
    letters = ascii_uppercase[: len(row["options"])]
    return [json.dumps({"instances": [], "answer_choice": letter}) for letter in letters]
