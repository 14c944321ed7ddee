"""Rows of a CausalVQA build, from an annotator's question to a pair of versions, its configuration, and rules about
texts.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations
from string import ascii_uppercase
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.causalvqa.benchmark import TYPES
from lmms_eval_tasks.construct.curation.candidates import read_table
from lmms_eval_tasks.construct.engine.config import BuildConfig, ConfigPath
from lmms_eval_tasks.construct.engine.steps import PipelineRow
from lmms_eval_tasks.construct.engine.texts import Fault, bare_words, holds_text, is_marked
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.files import is_safe
from lmms_eval_tasks.utils.core.forms import Cell, RawText, ReleaseRow, mismatch
from lmms_eval_tasks.utils.core.text import quote
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths

DISTRACTORS = 4
LETTERS = ascii_uppercase[: DISTRACTORS + 1]
VERSIONS = (0, 1)


class QuestionPair(PipelineRow):
    """An annotator's question, and what steps add to it until it has two versions, MCQ and MCQ′; the right option has
    one text in both."""

    clip: str
    start: float
    end: float
    type: str
    question: str
    answer: str
    scenario: str = ""
    description: str = ""
    afterwards: str = ""
    first_answer: str = ""
    seeds: tuple[str, ...] = ()
    distractors: tuple[str, ...] = ()
    paraphrases: tuple[str, ...] = ()
    orders: tuple[tuple[int, ...], ...] = ()
    flags: str = ""
    comments: tuple[str, ...] = ()
    repaired: bool = False
    difficulty: str = ""

    def options(self, version: int) -> list[str]:
        texts = (self.answer, *(self.paraphrases if version else self.distractors))
        return [texts[place] for place in self.orders[version]]

    def key(self, version: int) -> str:
        return LETTERS[self.orders[version].index(0)]

    @property
    def qid(self) -> str:
        """Its name in the release, which changes with the clip, the type, a text or the order of options."""
        shown = [self.clip, self.start, self.end, self.type, self.question, *map(self.options, VERSIONS)]
        return f"{self.id}-{hashlib.sha256(json.dumps(shown).encode('ascii')).hexdigest()[:8]}"


LONGEST_OPTION = 300
LONGEST_QUESTION = 600
_LABEL = re.compile(r"(?:\(?[A-Ea-e1-9]\)|[A-Ea-e1-9][.:])\s")

MARKED = "an option is marked as right or wrong"


def question_faults(question: str, answer: str, wrong: Sequence[str]) -> list[Fault]:
    faults = []
    # A choice that the question names is none of its answers' alone.
    if holds_text(question, answer) and not any(holds_text(question, other) for other in wrong):
        faults.append(Fault("the question gives the answer away", f"“{question}” holds “{answer}”."))
    if bare_words(answer) in (("yes",), ("no",)):
        faults.append(Fault("the answer is only yes or no", f"“{answer}” does not say what happens."))
    return [*faults, *_marked([question, answer])]


def option_faults(answer: str, distractors: Sequence[str]) -> list[Fault]:
    same = [text for text in distractors if bare_words(text) == bare_words(answer)]
    equal = [(one, other) for one, other in combinations(distractors, 2) if bare_words(one) == bare_words(other)]
    return [
        *(Fault("a distractor is the answer itself", f"“{text}” is the answer.") for text in same),
        *(Fault("two distractors are equal", f"“{one}” and “{other}” are equal.") for one, other in equal),
        *_marked(distractors),
    ]


def _marked(texts: Sequence[str]) -> list[Fault]:
    return [Fault(MARKED, f"“{text}” says whether it is right.") for text in texts if is_marked(text)]


def _option(text: str) -> str:
    labelled = _LABEL.match(unicodedata.normalize("NFKC", text).strip())
    return _text(text, LONGEST_OPTION, bool(bare_words(text)) and "|" not in text and not labelled)


def _text(text: str, longest: int, usable: bool) -> str:
    text = text.strip()
    if not (usable and 0 < len(text) <= longest and text.isprintable()):
        raise PydanticCustomError("text", "not a text as it was asked for")
    return text


OptionText = Annotated[str, AfterValidator(_option)]
"""An option on one line, without a number before it and without ``|``, which parts options in the release."""
QuestionText = Annotated[str, AfterValidator(lambda text: _text(text, LONGEST_QUESTION, text.strip().endswith("?")))]
"""A question on one line."""


class PairBuildConfig(BuildConfig):
    annotations: ConfigPath
    clips: ConfigPath
    frames: Annotated[int, Field(ge=1, le=256)] = 8
    tries: Annotated[int, Field(ge=1, le=10)] = 3
    reviews: list[ConfigPath] = Field(default_factory=list)
    responses: ConfigPath | None = None
    difficulty: Literal["easy", "med", "hard"] | None = None

    @model_validator(mode="after")
    def _one_source_of_difficulty(self) -> PairBuildConfig:
        if (self.responses is None) == (self.difficulty is None):
            raise ValueError(
                "Expected either responses, from which each question's difficulty follows, or difficulty, which all "
                f"are to have, but got {'neither' if self.responses is None else 'both'}"
            )
        return self


SLACK = 0.05
"""Seconds by which an end may lie behind the video's, whose length is not stated to the frame."""


def _seconds(value: object) -> float:
    try:
        time = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except ValueError:
        time = math.nan
    if not math.isfinite(time):
        raise mismatch("{field} in seconds of the clip", value)
    return time


Seconds = Annotated[float, BeforeValidator(_seconds)]
SomeSeconds = Annotated[Seconds | None, BeforeValidator(lambda cell: cell if str(cell or "").strip() else None)]


def _of_length(longest: int) -> AfterValidator:
    def check(text: str) -> str:
        if not bare_words(text) or len(text) > longest:
            raise mismatch(f"a text of 1 to {longest} characters", text)
        return text

    return AfterValidator(check)


def _known(text: str) -> str:
    if text.strip().lower() not in TYPES:
        raise mismatch(f"one of {', '.join(TYPES)}", text)
    return text


def _name(text: str) -> str:
    if text and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,59}", text):
        raise mismatch("letters, digits, dots and hyphens", text)
    return text


class AnnotatorRow(ReleaseRow):
    clip: RawText
    start: Seconds
    end: Seconds
    type: Annotated[RawText, AfterValidator(_known)]
    question: Annotated[RawText, _of_length(LONGEST_QUESTION)]
    answer: Annotated[RawText, _of_length(LONGEST_OPTION)]
    qid: Annotated[Cell, AfterValidator(_name)] = ""
    scenario: Cell = ""


def read_questions(config: PairBuildConfig) -> list[QuestionPair]:
    source, problems = config.annotations, Problems()
    rows = read_table(AnnotatorRow, source, problems)
    paths = {row.clip: config.clips / row.clip for row in rows if is_safe(row.clip)}
    lengths = clip_lengths([path for path in paths.values() if path.is_file()], no_progress, "reading lengths of clips")
    seen: dict[str, str] = {}
    questions = []
    for row in rows:
        path = paths.get(row.clip)
        if path is None:
            problems.add(row.where, f"Expected clip to name a file in {config.clips}, but got {quote(row.clip)}.")
        elif path not in lengths:
            problems.add(row.where, f"Expected a video {path}, but there is none.")
        elif (length := lengths[path]) is None:
            fault = "but it cannot be opened or does not say how long it is."
            problems.add(row.where, f"Expected {path} to be a video, {fault}")
        elif not 0 <= row.start < row.end <= length + SLACK:
            within = f"Expected start and end within the {length:.2f} seconds of {row.clip}"
            problems.add(row.where, f"{within}, but got {row.start:g} to {row.end:g}.")
        content = [row.clip, row.start, row.end, row.type, row.question, row.answer]
        name = row.qid or hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()[:8]
        if (first := seen.setdefault(name, row.where)) is not row.where:
            problems.add(row.where, f"Expected each question once, but {first} has it too.")
        question, answer = (" ".join(text.split()) for text in (row.question, row.answer))
        kept = row.model_dump(include={"clip", "start", "end", "scenario"})
        kind = row.type.strip().lower()
        questions.append(QuestionPair(id=name, type=kind, question=question, answer=answer, **kept))
    problems.raise_if_any(f"{source.name} cannot be built from", "nothing was asked")
    return questions
