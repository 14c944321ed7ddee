"""Two wrong answers: one from the question's words, one from what is seen; all three answers exclude each other.

Source: CaST-Bench, supplement, 10.5: the text-based distractor has 15 words at most and names nothing that the
question does not name; answers exclude each other in pairs. Those that do not are written again, a bounded number of
times.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.build.cast_bench.config import CHECKER, TEXT_WRITER, VIDEO_WRITER, CastBenchConfig
from lmms_eval_tasks.build.cast_bench.questions import MOST_WORDS, listed_instances
from lmms_eval_tasks.build.cast_bench.rows import QuestionRow
from lmms_eval_tasks.build.cast_bench.texts import (
    holds_id,
    is_legible,
    named_beyond,
    on_one_line,
    word_count,
    words_of,
)
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Forecast, Removed, RowStep
from lmms_eval_tasks.build.engine.texts import bare_words, is_marked

Refusals = list[dict[str, str]]


class WrittenDistractor(Form):
    """A wrong answer as a model writes it."""

    distractor: str


def _of_two(names: list[str]) -> list[str]:
    if names[0] == names[1]:
        raise PydanticCustomError("two", "an answer beside itself")
    return names


TwoAnswers = Annotated[
    list[Literal["answer", "text", "video"]], Field(min_length=2, max_length=2), AfterValidator(_of_two)
]
"""The names of two of the answers."""


class Exclusivity(Form):
    """Answers that do not exclude each other, and the things the text-based one names beyond the question."""

    clashes: list[TwoAnswers]
    unnamed: list[str]


class WriteDistractors(RowStep[QuestionRow, QuestionRow]):
    """Adds the text-based distractor, and has either distractor written again where the three answers clash."""

    name = "distractors"
    takes = gives = QuestionRow
    roles = (TEXT_WRITER, VIDEO_WRITER, CHECKER)
    forecast = Forecast(requests=2.6, characters=1200, reply_tokens=60)

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: QuestionRow, asking: Asking) -> list[QuestionRow]:
        """The question with two distractors."""
        refused_text: Refusals = []
        refused_video: Refusals = []
        text, video = "", row.video_distractor
        fault = ""
        for _ in range(self._config.tries):
            if not text:
                text = self._write_text(row, refused_text, asking)
            if not video:
                video = self._write_video(row, refused_video, asking)
            fault_of_text, fault_of_video = _faults(row, text, video)
            if not (fault_of_text or fault_of_video):
                fault_of_text, fault_of_video = self._clashes(row, text, video, asking)
            if not (fault_of_text or fault_of_video):
                return [row.model_copy(update={"text_distractor": text, "video_distractor": video})]
            fault, detail = (fault_of_text, text) if fault_of_text else (fault_of_video, video)
            if fault_of_text:
                refused_text.append({"distractor": text, "why": fault_of_text})
                text = ""
            if fault_of_video:
                refused_video.append({"distractor": video, "why": fault_of_video})
                video = ""
        raise Removed(fault, detail)

    def _write_text(self, row: QuestionRow, refused: Refusals, asking: Asking) -> str:
        reply = asking.ask(
            TEXT_WRITER, "cast_bench_text_distractor", WrittenDistractor,
            question=row.question, answer=row.answer, most_words=MOST_WORDS, refused=refused,
        )  # fmt: skip
        return on_one_line(reply.distractor)

    def _write_video(self, row: QuestionRow, refused: Refusals, asking: Asking) -> str:
        reply = asking.ask(
            VIDEO_WRITER, "cast_bench_video_distractor", WrittenDistractor,
            question=row.question, answer=row.answer, instances=listed_instances(row.about), refused=refused,
        )  # fmt: skip
        return on_one_line(reply.distractor)

    def _clashes(self, row: QuestionRow, text: str, video: str, asking: Asking) -> tuple[str, str]:
        """Return the faults of the text-based and of the video-based distractor compared with the other answers."""
        reply = asking.ask(
            CHECKER, "cast_bench_exclusivity", Exclusivity,
            question=row.question, answers={"answer": row.answer, "text": text, "video": video},
        )  # fmt: skip
        clashes = {frozenset(pair) for pair in reply.clashes}
        fault_of_text = fault_of_video = ""
        if frozenset({"answer", "text"}) in clashes:
            fault_of_text = "text distractor does not exclude the answer"
        elif reply.unnamed:
            fault_of_text = "text distractor names what the question does not"
        elif frozenset({"text", "video"}) in clashes:
            fault_of_text = "distractors do not exclude each other"
        if frozenset({"answer", "video"}) in clashes:
            fault_of_video = "video distractor does not exclude the answer"
        return fault_of_text, fault_of_video


def _faults(row: QuestionRow, text: str, video: str) -> tuple[str, str]:
    """Return the faults that rules find in the text-based and in the video-based distractor."""
    names = [name for one in row.about.described if (name := one.instance.name)]
    fault_of_text = fault_of_video = ""
    if not words_of(text):
        fault_of_text = "text distractor is empty"
    elif not is_legible(text):
        fault_of_text = "text distractor is too long or not printable"
    elif word_count(text) > MOST_WORDS:
        fault_of_text = "text distractor of more than 15 words"
    elif bare_words(text) == bare_words(row.answer):
        fault_of_text = "text distractor equals the answer"
    elif is_marked(text):
        fault_of_text = "text distractor says which option it is"
    elif named_beyond(text, row.question, names):
        fault_of_text = "text distractor names what the question does not"
    if not words_of(video):
        fault_of_video = "video distractor is empty"
    elif not is_legible(video):
        fault_of_video = "video distractor is too long or not printable"
    elif bare_words(video) == bare_words(row.answer):
        fault_of_video = "video distractor equals the answer"
    elif bare_words(video) == bare_words(text):
        fault_of_video = "video distractor equals the text distractor"
    elif is_marked(video):
        fault_of_video = "video distractor says which option it is"
    elif holds_id([video], [one.instance.id for one in row.about.described]):
        fault_of_video = "video distractor calls an instance by its id"
    return fault_of_text, fault_of_video
