"""What can be seen: descriptions, a model's own answer, and wrong answers made of what is visible."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated

from pydantic import Field

from lmms_eval_tasks.build.causalvqa.rows import (
    DISTRACTORS,
    AnnotatedQuestion,
    AnsweredQuestion,
    DescribedQuestion,
    SeededQuestion,
)
from lmms_eval_tasks.build.causalvqa.texts import OptionText
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Forecast, Removed, RowStep
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
