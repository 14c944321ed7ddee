"""What a report shows of MVP."""

from lmms_eval_tasks.mvp.card import CARD, SUBSETS
from lmms_eval_tasks.utils.benchmark.card import Human
from lmms_eval_tasks.utils.reporting.columns import PAIR_COLUMNS, Column
from lmms_eval_tasks.utils.reporting.references import Measure, pair_measures, published_models


def columns(task: str) -> tuple[Column, ...]:
    """The columns of one of its tasks."""
    return PAIR_COLUMNS


def measures(task: str, items: int) -> tuple[Measure, ...]:
    """Its scores beside what is known of them: paper, Table 4; of a subset's task that subset's."""
    part = subset(task)
    people = published_models(CARD.name, source="MVP paper Table 4", split="human subset", category=part)
    return pair_measures(
        {
            "chance": CARD.chance["pair_accuracy"],
            "people": tuple(
                Human("pair_accuracy", split(task), human.value, human.source, CARD.human[0].caveat) for human in people
            ),
            "published": published_models(
                CARD.name,
                source="MVP paper Table 4",
                metric="pair_accuracy",
                split=split(task),
                category=part,
                setting="video",
            ),
        },
        {"chance": CARD.chance["single_accuracy"]},
    )


def split(task: str) -> str:
    """The split that a task asks."""
    return "mini" if task.startswith("mvp_mini") else "full"


def subset(task: str) -> str:
    """The subset that a task asks, ``macro_avg`` for the four together."""
    return next((name for name in SUBSETS if task.endswith(f"_{name}")), "macro_avg")
