"""Distractors that differ from the answer and from each other, and their paraphrases for the second version."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.build.causalvqa.description import FourDistractors, FourOptions
from lmms_eval_tasks.build.causalvqa.rows import (
    DISTRACTORS,
    VERSIONS,
    QuestionPair,
    QuestionWithDistractors,
    SeededQuestion,
)
from lmms_eval_tasks.build.causalvqa.texts import Fault, option_faults
from lmms_eval_tasks.build.causalvqa.wording import CHECKER, WRITER
from lmms_eval_tasks.build.causalvqa.writing import Refused, write_until_good
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Forecast, RowStep
from lmms_eval_tasks.build.engine.texts import bare_words

SYNONYM_OF_ANSWER = "a distractor is a synonym of the answer"
SYNONYMS = "two distractors are synonyms"
UNCHANGED = "a paraphrase has the distractor's own words"
OTHER_PARAPHRASE = "a paraphrase means something else"

OptionNumber = Annotated[int, Field(ge=1, le=DISTRACTORS + 1)]
DistractorNumber = Annotated[int, Field(ge=1, le=DISTRACTORS)]


def _of_two(numbers: tuple[int, int]) -> tuple[int, int]:
    if numbers[0] == numbers[1]:
        raise PydanticCustomError("two", "an option beside itself")
    return numbers


class EqualMeanings(Form):
    """Pairs of options that say the same."""

    same: list[Annotated[tuple[OptionNumber, OptionNumber], AfterValidator(_of_two)]]


class FourParaphrases(Form):
    """The distractors in other words."""

    paraphrases: FourOptions


class ChangedMeanings(Form):
    """Numbers of the distractors whose paraphrase means something else."""

    changed: list[DistractorNumber]


def synonym_faults(question: str, answer: str, distractors: Sequence[str], asking: Asking) -> list[Fault]:
    """Distractors that say the same as the answer or as each other: by a rule, and where that finds none by a model."""
    if faults := option_faults(answer, distractors):
        return faults
    options = [answer, *distractors]
    numbered = {str(number): text for number, text in enumerate(options, start=1)}
    reply = asking.ask(CHECKER, "causalvqa_synonyms", EqualMeanings, question=question, options=numbered)
    pairs = dict.fromkeys((min(pair), max(pair)) for pair in reply.same)
    return [
        Fault(
            SYNONYM_OF_ANSWER if one == 1 else SYNONYMS,
            f"“{options[one - 1]}” and “{options[other - 1]}” say the same.",
        )
        for one, other in sorted(pairs)
    ]


def paraphrase_faults(
    question: str, answer: str, distractors: Sequence[str], paraphrases: Sequence[str], asking: Asking
) -> list[Fault]:
    """Return the faults of paraphrases: equal words, another meaning, or the meaning of the answer or of another
    option."""
    pairs = list(zip(distractors, paraphrases, strict=True))
    if kept := [one for one, other in pairs if bare_words(one) == bare_words(other)]:
        return [Fault(UNCHANGED, f"“{text}” is no paraphrase of itself.") for text in kept]
    if faults := synonym_faults(question, answer, paraphrases, asking):
        return faults
    numbered = {str(place): {"option": one, "paraphrase": other} for place, (one, other) in enumerate(pairs, start=1)}
    reply = asking.ask(CHECKER, "causalvqa_paraphrased", ChangedMeanings, question=question, options=numbered)
    changed = [pairs[number - 1] for number in sorted(set(reply.changed))]
    return [Fault(OTHER_PARAPHRASE, f"“{other}” means something else than “{one}”.") for one, other in changed]


class RefineDistractors(RowStep[SeededQuestion, QuestionWithDistractors]):
    """The seeds are made diverse, none of them a synonym of the answer or of another."""

    name = "distractors"
    takes, gives = SeededQuestion, QuestionWithDistractors
    roles = (WRITER, CHECKER)
    forecast = Forecast(requests=2.5, characters=1500, reply_tokens=80)

    def __init__(self, tries: int) -> None:
        self._tries = tries

    def run(self, row: SeededQuestion, asking: Asking) -> Sequence[QuestionWithDistractors]:
        """The question with its distractors."""
        texts = row.model_dump(include={"description", "afterwards", "question", "answer", "seeds"})

        def write(refused: Refused) -> FourDistractors:
            return asking.ask(WRITER, "causalvqa_distractors", FourDistractors, **texts, refused=refused)

        def check(text: FourDistractors) -> list[Fault]:
            return synonym_faults(row.question, row.answer, text.distractors, asking)

        made = write_until_good(self._tries, write, check)
        return [QuestionWithDistractors(**row.model_dump(), distractors=made.distractors)]


class SecondVersion(RowStep[QuestionWithDistractors, QuestionPair]):
    """Each distractor is paraphrased for MCQ′, the right option keeps its text, and both orders are drawn."""

    name = "second version"
    takes, gives = QuestionWithDistractors, QuestionPair
    roles = (WRITER, CHECKER)
    forecast = Forecast(requests=3.5, characters=900, reply_tokens=60)

    def __init__(self, tries: int, seed: int) -> None:
        self._tries, self._seed = tries, seed

    def run(self, row: QuestionWithDistractors, asking: Asking) -> Sequence[QuestionPair]:
        """The question in two versions."""

        def write(refused: Refused) -> FourParaphrases:
            texts: dict[str, Any] = {"question": row.question, "options": row.distractors}
            return asking.ask(WRITER, "causalvqa_paraphrase", FourParaphrases, **texts, refused=refused)

        def check(text: FourParaphrases) -> list[Fault]:
            return paraphrase_faults(row.question, row.answer, row.distractors, text.paraphrases, asking)

        made = write_until_good(self._tries, write, check)
        first, second = (self._order(row.id, version) for version in VERSIONS)
        return [QuestionPair(**row.model_dump(), paraphrases=made.paraphrases, orders=(first, second))]

    def _order(self, row_id: str, version: int) -> tuple[int, ...]:
        order = list(range(DISTRACTORS + 1))
        random.Random(f"{self._seed} {row_id} {version}").shuffle(order)
        return tuple(order)
