"""Wrong options of a question: two distractors, from its words and from the clip, and a near-miss of each answer.

Source: CaST-Bench, supplement, 10.5: the text-based distractor has 15 words at most and names nothing that the
question does not name; answers exclude each other in pairs, and those that do not are written again, a bounded
number of times. A near-miss has one attribute changed and a length within 10%. By rule one stretch of words is
another; whether that is one attribute, and a meaning of its own, a model says.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.cast_bench.card import NEAR_MISS
from lmms_eval_tasks.cast_bench.roles_file import ANSWER
from lmms_eval_tasks.construct.cast_bench.questions import MOST_WORDS, listed_instances
from lmms_eval_tasks.construct.cast_bench.rows import (
    CHECKER,
    MADE_FIRST,
    NEAR_MISS_WRITER,
    TEXT_BASED,
    TEXT_WRITER,
    VIDEO_BASED,
    VIDEO_WRITER,
    CastBenchConfig,
    OptionsRow,
    QuestionRow,
    RoledOption,
    holds_id,
    is_legible,
    length_range,
    named_beyond,
    near_miss_fault,
    on_one_line,
    word_count,
    words_of,
)
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, Removed, RowStep
from lmms_eval_tasks.construct.engine.texts import bare_words, is_marked

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


class WrittenNearMiss(Form):
    """A near-miss as a model writes it."""

    near_miss: str


class NearMissComparison(Form):
    """Attributes in which a near-miss differs, and the options that mean the same as it."""

    attributes: list[str]
    same_as: list[str]


class WriteNearMisses(RowStep[QuestionRow, OptionsRow]):
    """Adds a near-miss of each answer, and puts the six options in order."""

    name = "near-misses"
    takes, gives = QuestionRow, OptionsRow
    roles = (NEAR_MISS_WRITER, CHECKER)
    forecast = Forecast(requests=6.6, characters=1000, reply_tokens=60)

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: QuestionRow, asking: Asking) -> list[OptionsRow]:
        """The question with its options, each with its role."""
        options = {ANSWER: row.answer, TEXT_BASED: row.text_distractor, VIDEO_BASED: row.video_distractor}
        for role in MADE_FIRST:
            options[near_miss_role(role)] = self._write(row, role, options, asking)
        listed = [RoledOption(role=role, text=text) for role, text in options.items()]
        random.Random(f"{self._config.seed} {row.id} options").shuffle(listed)
        return [OptionsRow(id=row.id, asked=row, options=tuple(listed))]

    def _write(self, row: QuestionRow, role: str, options: Mapping[str, str], asking: Asking) -> str:
        """A near-miss of the option of a role that differs from all options until now."""
        original = options[role]
        others = {name: text for name, text in options.items() if name != role}
        shortest, longest = length_range(original)
        refused: list[dict[str, str]] = []
        for _ in range(self._config.tries):
            reply = asking.ask(
                NEAR_MISS_WRITER, "cast_bench_near_miss", WrittenNearMiss,
                question=row.question, original=original, others=list(others.values()), shortest=shortest,
                longest=longest, refused=refused,
            )  # fmt: skip
            text = on_one_line(reply.near_miss)
            fault = near_miss_fault(text, original)
            if not fault and not is_legible(text):
                fault = "near-miss: not printable"
            if not fault and is_marked(text):
                fault = "near-miss: says which option it is"
            if not fault and any(bare_words(text) == bare_words(other) for other in options.values()):
                fault = "near-miss: equals another option"
            if not fault:
                fault = self._compare(row, text, original, others, asking)
            if not fault:
                return text
            refused.append({"near_miss": text, "why": fault})
        raise Removed(fault, f"of the {role} option: {text}")

    def _compare(self, row: QuestionRow, text: str, original: str, others: Mapping[str, str], asking: Asking) -> str:
        """Return the fault that a model finds in a near-miss, empty if it finds none."""
        reply = asking.ask(
            CHECKER, "cast_bench_near_miss_check", NearMissComparison,
            question=row.question, original=original, changed=text, others=dict(others),
        )  # fmt: skip
        if reply.same_as:
            return "near-miss: means the same as another option"
        attributes = {words for name in reply.attributes if (words := bare_words(name))}
        if len(attributes) > 1:
            return "near-miss: more than one attribute changed"
        return "" if attributes else "near-miss: nothing changed"


def near_miss_role(role: str) -> str:
    """The role of a near-miss of the option of a role, as the card names it."""
    return f"{NEAR_MISS}-of-{role}"
