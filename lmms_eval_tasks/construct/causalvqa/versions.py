"""The two versions of a question: descriptions and first answers by models, plain wording, distractors and paraphrases.

Source: CausalVQA (arXiv 2506.09943), 2.2.3 and B.2: the first answer of a model shows which words of the question
are hints. The wording of the prompts is ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.construct.causalvqa.rows import (
    DISTRACTORS,
    VERSIONS,
    OptionText,
    PairBuildConfig,
    QuestionPair,
    QuestionText,
    option_faults,
    question_faults,
)
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Removed, step
from lmms_eval_tasks.construct.engine.texts import Fault, Refused, bare_words, unless_faulty, until_good
from lmms_eval_tasks.utils.data.made import part_pictures
from lmms_eval_tasks.utils.data.release import UnreadableClip

VIEWER, WRITER, CHECKER = "viewer", "writer", "checker"
ANTICIPATION = "anticipation"
AFTERWARDS = 3.0
"""Seconds after a clip that are described, too, where its question asks what comes next."""

FourOptions = Annotated[tuple[OptionText, ...], Field(min_length=DISTRACTORS, max_length=DISTRACTORS)]


def pictures_of(
    row: QuestionPair, asking: Asking, config: PairBuildConfig, afterwards: bool = False
) -> tuple[bytes, ...]:
    """Return frames of a question's clip, or of what follows it; none where nothing does."""
    start, end = (row.end, row.end + AFTERWARDS) if afterwards else (row.start, row.end)
    try:
        with asking.heavy():
            return tuple(part_pictures(config.clips / row.clip, start, end, config.frames, afterwards))
    except UnreadableClip as error:
        raise Removed("the clip cannot be decoded", f"{row.clip} from {start:g} to {end:g} s") from error


class PartDescription(Form):
    description: Annotated[str, Field(min_length=1)]


@step("description", asks=[VIEWER], requests=1.3, characters=900, images=8, reply_tokens=150)
def describe(row: QuestionPair, asking: Asking, config: PairBuildConfig) -> QuestionPair:
    """Have a clip described, and what follows it where the question asks what comes next."""
    images = pictures_of(row, asking, config)
    seconds = round(row.end - row.start, 2)
    shown = asking.ask(VIEWER, "causalvqa_describe", PartDescription, images, seconds=seconds)
    afterwards = ""
    if row.type == ANTICIPATION and (images := pictures_of(row, asking, config, afterwards=True)):
        material = {"clip": shown.description, "seconds": AFTERWARDS}
        afterwards = asking.ask(VIEWER, "causalvqa_afterwards", PartDescription, images, **material).description
    return row.model_copy(update={"description": shown.description, "afterwards": afterwards})


class ShortAnswer(Form):
    answer: OptionText


@step("first answer", asks=[VIEWER], requests=1, characters=1200, images=8, reply_tokens=40)
def answer_first(row: QuestionPair, asking: Asking, config: PairBuildConfig) -> QuestionPair:
    """Have a model answer from the clip, without what follows it: where it is wrong, others may be in the same way."""
    material = {"description": row.description, "question": row.question}
    reply = asking.ask(VIEWER, "causalvqa_first_answer", ShortAnswer, pictures_of(row, asking, config), **material)
    return row.model_copy(update={"first_answer": reply.answer})


class FourDistractors(Form):
    distractors: FourOptions


@step("seed distractors", asks=[VIEWER], requests=1, characters=1900, images=8, reply_tokens=80)
def seed_distractors(row: QuestionPair, asking: Asking, config: PairBuildConfig) -> QuestionPair:
    material = {"description": row.description, "afterwards": row.afterwards, "question": row.question}
    material |= {"answer": row.answer, "model_answer": row.first_answer}
    reply = asking.ask(VIEWER, "causalvqa_seeds", FourDistractors, pictures_of(row, asking, config), **material)
    return row.model_copy(update={"seeds": reply.distractors})


class PlainWording(Form):
    question: QuestionText
    answer: OptionText


class ComparedWording(PlainWording):
    """A wording, after a look at how close the model's own answer comes to the annotator's (B.2): from 0 to 2."""

    similarity: Annotated[int, Field(ge=0, le=2)]


@step("plain English", asks=[WRITER, CHECKER], requests=2.2, characters=1300, reply_tokens=60)
def put_plainly(row: QuestionPair, asking: Asking, tries: int) -> QuestionPair:
    """Have question and answer put into plain English; rules and a model see that they still ask and say the same."""
    texts: dict[str, Any] = row.model_dump(include={"description", "question", "answer"})
    texts["model_answer"] = row.first_answer

    def write(refused: Refused) -> PlainWording:
        wording = asking.ask(WRITER, "causalvqa_wording", ComparedWording, **texts, refused=refused)
        faults = question_faults(wording.question, wording.answer, row.seeds)
        return unless_faulty(wording, faults or meaning_faults(row, wording, asking))

    return row.model_copy(update=until_good(tries, write).model_dump(include=set(PlainWording.model_fields)))


class WordingComparison(Form):
    same: bool
    difference: str


def meaning_faults(before: QuestionPair, after: PlainWording, asking: Asking) -> list[Fault]:
    """Return the differences in meaning that a model finds in a new wording; no model is asked if both are equal."""
    shown = [{"question": one.question, "answer": one.answer} for one in (before, after)]
    if shown[0] == shown[1]:
        return []
    reply = asking.ask(CHECKER, "causalvqa_meaning", WordingComparison, first=shown[0], second=shown[1])
    return [] if reply.same else [Fault("the meaning changed", reply.difference or "The meaning is not the same.")]


@step("distractors", asks=[WRITER, CHECKER], requests=2.5, characters=1500, reply_tokens=80)
def refine_distractors(row: QuestionPair, asking: Asking, tries: int) -> QuestionPair:
    """Have the seeds made diverse, none of them a synonym of the answer or of another."""
    texts = row.model_dump(include={"description", "afterwards", "question", "answer", "seeds"})

    def write(refused: Refused) -> FourDistractors:
        made = asking.ask(WRITER, "causalvqa_distractors", FourDistractors, **texts, refused=refused)
        return unless_faulty(made, synonym_faults(row.question, row.answer, made.distractors, asking))

    return row.model_copy(update=until_good(tries, write).model_dump())


OptionNumber = Annotated[int, Field(ge=1, le=DISTRACTORS + 1)]


def _of_two(numbers: tuple[int, int]) -> tuple[int, int]:
    if numbers[0] == numbers[1]:
        raise PydanticCustomError("two", "an option beside itself")
    return numbers


class EqualMeanings(Form):
    same: list[Annotated[tuple[OptionNumber, OptionNumber], AfterValidator(_of_two)]]


def synonym_faults(question: str, answer: str, distractors: Sequence[str], asking: Asking) -> list[Fault]:
    """Return the distractors that say the same as the answer or as each other, by rules or else by a model."""
    if faults := option_faults(answer, distractors):
        return faults
    options = [answer, *distractors]
    numbered = {str(number): text for number, text in enumerate(options, start=1)}
    reply = asking.ask(CHECKER, "causalvqa_synonyms", EqualMeanings, question=question, options=numbered)
    return [
        Fault(
            "a distractor is a synonym of the answer" if one == 1 else "two distractors are synonyms",
            f"“{options[one - 1]}” and “{options[other - 1]}” say the same.",
        )
        for one, other in sorted({(min(pair), max(pair)) for pair in reply.same})
    ]


class FourParaphrases(Form):
    paraphrases: FourOptions


class ChangedMeanings(Form):
    """Numbers of the distractors whose paraphrase means something else."""

    changed: list[Annotated[int, Field(ge=1, le=DISTRACTORS)]]


def paraphrase_faults(
    question: str, answer: str, distractors: Sequence[str], paraphrases: Sequence[str], asking: Asking
) -> list[Fault]:
    """Return the faults of paraphrases: equal words, another meaning, or that of the answer or of another option."""
    pairs = list(zip(distractors, paraphrases, strict=True))
    if kept := [one for one, other in pairs if bare_words(one) == bare_words(other)]:
        reason = "a paraphrase has the distractor's own words"
        return [Fault(reason, f"“{text}” is no paraphrase of itself.") for text in kept]
    if faults := synonym_faults(question, answer, paraphrases, asking):
        return faults
    numbered = {str(place): {"option": one, "paraphrase": other} for place, (one, other) in enumerate(pairs, start=1)}
    reply = asking.ask(CHECKER, "causalvqa_paraphrased", ChangedMeanings, question=question, options=numbered)
    changed = [pairs[number - 1] for number in sorted(set(reply.changed))]
    reason = "a paraphrase means something else"
    return [Fault(reason, f"“{other}” means something else than “{one}”.") for one, other in changed]


@step("second version", asks=[WRITER, CHECKER], requests=3.5, characters=900, reply_tokens=60)
def write_second_version(row: QuestionPair, asking: Asking, tries: int, seed: int) -> QuestionPair:
    """Have each distractor paraphrased for MCQ′; the right option keeps its text, and both orders are drawn."""

    def write(refused: Refused) -> FourParaphrases:
        texts: dict[str, Any] = {"question": row.question, "options": row.distractors}
        made = asking.ask(WRITER, "causalvqa_paraphrase", FourParaphrases, **texts, refused=refused)
        faults = paraphrase_faults(row.question, row.answer, row.distractors, made.paraphrases, asking)
        return unless_faulty(made, faults)

    paraphrases = until_good(tries, write).paraphrases
    orders = [list(range(DISTRACTORS + 1)) for _ in VERSIONS]
    for version, order in zip(VERSIONS, orders, strict=True):
        random.Random(f"{seed} {row.id} {version}").shuffle(order)
    return row.model_copy(update={"paraphrases": paraphrases, "orders": tuple(map(tuple, orders))})
