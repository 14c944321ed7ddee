"""Question and answer in plain, consistent English, with nothing in them that hints at the answer.

Source: the paper's 2.2.3 and B.2: the first answer of a model shows which words of the question are hints. The wording
of the prompts is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from lmms_eval_tasks.build.causalvqa.rows import SeededQuestion
from lmms_eval_tasks.build.causalvqa.texts import Fault, OptionText, QuestionText, question_faults
from lmms_eval_tasks.build.causalvqa.writing import Refused, write_until_good
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Forecast, RowStep

WRITER = "writer"
CHECKER = "checker"
OTHER_MEANING = "the meaning changed"


class PlainWording(Form):
    """A question and its answer as a model words them."""

    question: QuestionText
    answer: OptionText


class ComparedWording(PlainWording):
    """A wording, after a look at how close the model's own answer comes to the annotator's (B.2): from 0 to 2."""

    similarity: Annotated[int, Field(ge=0, le=2)]


class WordingComparison(Form):
    """Whether two wordings mean the same, and what is different."""

    same: bool
    difference: str


def meaning_faults(before: SeededQuestion, after: PlainWording, asking: Asking) -> list[Fault]:
    """Return the differences in meaning that a model finds in a new wording; no model is asked if both are equal."""
    shown = [{"question": one.question, "answer": one.answer} for one in (before, after)]
    if shown[0] == shown[1]:
        return []
    reply = asking.ask(CHECKER, "causalvqa_meaning", WordingComparison, first=shown[0], second=shown[1])
    return [] if reply.same else [Fault(OTHER_MEANING, reply.difference or "The meaning is not the same.")]


class PlainEnglish(RowStep[SeededQuestion, SeededQuestion]):
    """Question and answer are put into plain English; rules and a model see that they still ask and say the same."""

    name = "plain English"
    takes = gives = SeededQuestion
    roles = (WRITER, CHECKER)
    forecast = Forecast(requests=2.2, characters=1300, reply_tokens=60)

    def __init__(self, tries: int) -> None:
        self._tries = tries

    def run(self, row: SeededQuestion, asking: Asking) -> Sequence[SeededQuestion]:
        """The question in its new wording."""
        texts: dict[str, Any] = row.model_dump(include={"description", "question", "answer"})
        texts["model_answer"] = row.first_answer

        def write(refused: Refused) -> PlainWording:
            return asking.ask(WRITER, "causalvqa_wording", ComparedWording, **texts, refused=refused)

        def check(wording: PlainWording) -> list[Fault]:
            faults = question_faults(wording.question, wording.answer, row.seeds)
            return faults or meaning_faults(row, wording, asking)

        wording = write_until_good(self._tries, write, check)
        return [row.model_copy(update=wording.model_dump(include=set(PlainWording.model_fields)))]
