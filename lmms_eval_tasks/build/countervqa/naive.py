"""The naive baseline: questions that a model writes from the annotations alone, without a graph.

Source: CounterVQA (arXiv 2511.19923), appendix C.3, which compares such questions with those from causal graphs. The
wording is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.build.countervqa.interactions import interaction_of
from lmms_eval_tasks.build.countervqa.rows import MeasuredTake, TakeQuestion
from lmms_eval_tasks.build.countervqa.verification import LONGEST
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Removed, RowStep
from lmms_eval_tasks.countervqa.released import CounterfactualQuestion, Level, Verdict, question_faults

NAIVE = "naive"


class NaiveQuestion(Form):
    """A question in a model's words, and the ids of the actions that it is about."""

    level: Level
    question: str
    answer: Verdict
    explanation: str
    action: str | None = None
    absent_action: str | None = None
    outcome: str | None = None
    goal: str | None = None


class NaiveQuestions(Form):
    """The reply of the model that writes questions."""

    questions: list[NaiveQuestion]


class WriteNaive(RowStep[MeasuredTake, TakeQuestion]):
    """Has a model write questions about each take, given its actions and no links."""

    name = "questions"
    takes, gives = MeasuredTake, TakeQuestion
    roles = (NAIVE,)

    def __init__(self, number: int) -> None:
        self._number = number

    def run(self, row: MeasuredTake, asking: Asking) -> Sequence[TakeQuestion]:
        """The questions about one take that a set can hold."""
        number = self._number
        reply = asking.ask(NAIVE, "countervqa_naive", NaiveQuestions, **row.shown(), questions_a_level=number)
        questions, unusable = _usable(row.take, reply.questions, number)
        if unusable:
            asking.note(f"unusable: {'; '.join(unusable)}")
        if not questions:
            raise Removed("no question that can be used")
        return [TakeQuestion(id=one.id, take=row.take, question=one) for one in questions]


def _usable(
    take: Take, replied: Sequence[NaiveQuestion], number: int
) -> tuple[list[CounterfactualQuestion], list[str]]:
    """The questions that a set can hold, and why it cannot hold the others."""
    ids = {None, *(action.id for action in take.actions)}
    interaction, _ = interaction_of(take)
    questions: list[CounterfactualQuestion] = []
    unusable = []
    levels = Counter[Level]()
    for place, one in enumerate(replied, start=1):
        values = one.model_dump()
        texts = {name: " ".join(value.split()) for name, value in values.items() if isinstance(value, str)}
        if not all(map(str.isprintable, texts.values())):
            unusable.append(f"{place} (characters)")
            continue
        question = CounterfactualQuestion(
            id=f"{take.uid}-L{one.level}-{levels[one.level] + 1:02d}",
            clip=take.clip,
            level=one.level,
            interaction=interaction,
            question=texts["question"],
            verdict=one.answer,
            explanation=texts["explanation"],
            action=texts.get("action") or None,
            absent_action=texts.get("absent_action") or None,
            outcome=texts.get("outcome") or None,
            goal=texts.get("goal") or None,
        )
        faults = [field for field, _ in question_faults(question, None)]
        faults += [name for name in ("action", "outcome") if getattr(question, name) not in ids]
        faults += ["goal"] if one.level == 3 and question.outcome is None and not question.goal else []
        faults += ["length"] if len(question.question) > 2 * LONGEST else []
        if faults:
            unusable.append(f"{place} ({', '.join(dict.fromkeys(faults))})")
        elif levels[one.level] == number:
            unusable.append(f"{place} is one too many")
        else:
            levels[one.level] += 1
            questions.append(question)
    return questions, unusable
