"""What a report shows of CausalVQA."""

from lmms_eval_tasks.causalvqa.card import CARD
from lmms_eval_tasks.utils.reporting.columns import PAIR_COLUMNS, Column
from lmms_eval_tasks.utils.reporting.references import Measure, pair_measures, published_models

OTHER_QUESTIONS = "Published scores of people and models are of the test split; the debug split has other questions."


def columns(task: str) -> tuple[Column, ...]:
    """The columns of one of its tasks."""
    return PAIR_COLUMNS


def measures(task: str, items: int) -> tuple[Measure, ...]:
    """Its scores beside what is known of them: paper, Tables 6 (pairs) and 12 (single questions).

    People answered one version of each question, so their score stands beside single accuracy alone.
    """
    chance = CARD.chance
    if split(task) == "debug":
        note = {"note": OTHER_QUESTIONS}
        return pair_measures({"chance": chance["pair_accuracy"], **note}, {"chance": chance["single_accuracy"], **note})

    def models(table: str, metric: str) -> dict[str, object]:
        source = f"CausalVQA paper {table}"
        return {
            "published": published_models(
                CARD.name, source=source, without=("Human",), metric=metric, category="all", difficulty="all"
            )
        }

    return pair_measures(
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


def split(task: str) -> str:
    """The split that a task asks."""
    return "debug" if task.startswith("causalvqa_debug") else "test"
