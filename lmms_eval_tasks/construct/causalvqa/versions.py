"""The two versions of a question: descriptions and first answers by models, plain wording, distractors and paraphrases.

Source: CausalVQA (arXiv 2506.09943), 2.2.3 and B.2: the first answer of a model shows which words of the question
are hints. The wording of the prompts is ours.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.construct.causalvqa.rows import (
    DISTRACTORS,
    VERSIONS,
    AnnotatedQuestion,
    AnsweredQuestion,
    DescribedQuestion,
    OptionText,
    QuestionPair,
    QuestionText,
    QuestionWithDistractors,
    SeededQuestion,
    option_faults,
    question_faults,
)
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, Removed, RowStep
from lmms_eval_tasks.construct.engine.texts import Fault, Refused, bare_words, write_until_good
from lmms_eval_tasks.utils.data.made import part_pictures
from lmms_eval_tasks.utils.data.release import UnreadableClip

VIEWER = "viewer"
ANTICIPATION = "anticipation"
AFTERWARDS = 3.0
"""Seconds after a clip that are described, too, where its question asks what comes next."""
UNREADABLE_CLIP = "the clip cannot be decoded"

Part = tuple[str, float, float, bool]
"""A video, two of its seconds, and whether what is between them follows a clip."""
FourOptions = Annotated[tuple[OptionText, ...], Field(min_length=DISTRACTORS, max_length=DISTRACTORS)]


class PartDescription(Form):
    """Description of a part of a video."""

    description: Annotated[str, Field(min_length=1)]


class ShortAnswer(Form):
    """A model's answer."""

    answer: OptionText


class FourDistractors(Form):
    """Wrong options."""

    distractors: FourOptions


class Pictures:
    """Frames of clips, as models are shown them; each part is decoded once for all steps."""

    def __init__(self, folder: Path, frames: int) -> None:
        self._folder, self._frames = folder, frames
        self._lock = threading.Lock()
        self._places: dict[Part, list[tuple[int, int]]] = {}
        self._file: IO[bytes] | None = None

    def of(self, row: AnnotatedQuestion, asking: Asking, afterwards: bool = False) -> tuple[bytes, ...]:
        """Frames of a question's clip, or of what follows it; none where nothing does."""
        start, end = (row.end, row.end + AFTERWARDS) if afterwards else (row.start, row.end)
        part = (row.clip, start, end, afterwards)
        if part not in self._places:
            try:
                with asking.heavy():
                    self._keep(part, part_pictures(self._folder / row.clip, start, end, self._frames, afterwards))
            except UnreadableClip as error:
                raise Removed(UNREADABLE_CLIP, f"{row.clip} from {start:g} to {end:g} s") from error
        with self._lock:
            return tuple(self._read(*place) for place in self._places[part])

    def _keep(self, part: Part, pictures: Sequence[bytes]) -> None:
        with self._lock:
            # Without a name: it goes with the process, however that ends.
            self._file = self._file or TemporaryFile()  # noqa: SIM115
            places = []
            for picture in pictures:
                places.append((self._file.seek(0, os.SEEK_END), len(picture)))
                self._file.write(picture)
            self._places[part] = places

    def _read(self, start: int, size: int) -> bytes:
        assert self._file is not None
        self._file.seek(start)
        return self._file.read(size)


class Describe(RowStep[AnnotatedQuestion, DescribedQuestion]):
    """A clip is described, and what follows it where the question asks what comes next."""

    name = "description"
    takes, gives = AnnotatedQuestion, DescribedQuestion
    roles = (VIEWER,)
    forecast = Forecast(requests=1.3, characters=900, images=8, reply_tokens=150)

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures

    def run(self, row: AnnotatedQuestion, asking: Asking) -> Sequence[DescribedQuestion]:
        """The question with the descriptions."""
        images = self._pictures.of(row, asking)
        seconds = round(row.end - row.start, 2)
        shown = asking.ask(VIEWER, "causalvqa_describe", PartDescription, images, seconds=seconds)
        afterwards = ""
        if row.type == ANTICIPATION and (images := self._pictures.of(row, asking, afterwards=True)):
            material = {"clip": shown.description, "seconds": AFTERWARDS}
            afterwards = asking.ask(VIEWER, "causalvqa_afterwards", PartDescription, images, **material).description
        return [DescribedQuestion(**row.model_dump(), description=shown.description, afterwards=afterwards)]


class FirstAnswer(RowStep[DescribedQuestion, AnsweredQuestion]):
    """A model answers the question from the clip: where it is wrong, others may be in the same way."""

    name = "first answer"
    takes, gives = DescribedQuestion, AnsweredQuestion
    roles = (VIEWER,)
    forecast = Forecast(requests=1, characters=1200, images=8, reply_tokens=40)

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures

    def run(self, row: DescribedQuestion, asking: Asking) -> Sequence[AnsweredQuestion]:
        """The question with the model's answer; what follows the clip is not shown."""
        images = self._pictures.of(row, asking)
        material = {"description": row.description, "question": row.question}
        reply = asking.ask(VIEWER, "causalvqa_first_answer", ShortAnswer, images, **material)
        return [AnsweredQuestion(**row.model_dump(), first_answer=reply.answer)]


class SeedDistractors(RowStep[AnsweredQuestion, SeededQuestion]):
    """Four wrong answers are made of what is visible."""

    name = "seed distractors"
    takes, gives = AnsweredQuestion, SeededQuestion
    roles = (VIEWER,)
    forecast = Forecast(requests=1, characters=1900, images=8, reply_tokens=80)

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures

    def run(self, row: AnsweredQuestion, asking: Asking) -> Sequence[SeededQuestion]:
        """The question with the wrong answers."""
        images = self._pictures.of(row, asking)
        shown = {"description": row.description, "afterwards": row.afterwards}
        material = {**shown, "question": row.question, "answer": row.answer, "model_answer": row.first_answer}
        reply = asking.ask(VIEWER, "causalvqa_seeds", FourDistractors, images, **material)
        return [SeededQuestion(**row.model_dump(), seeds=reply.distractors)]


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
