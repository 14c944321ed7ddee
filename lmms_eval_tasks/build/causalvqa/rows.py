"""The rows of a build, from an annotator's question to a pair of versions."""

from __future__ import annotations

import hashlib
import json
from string import ascii_uppercase

from lmms_eval_tasks.build.engine.rows import PipelineRow

DISTRACTORS = 4
LETTERS = ascii_uppercase[: DISTRACTORS + 1]
VERSIONS = (0, 1)


class AnnotatedQuestion(PipelineRow):
    """A question by an annotator."""

    clip: str
    start: float
    end: float
    type: str
    question: str
    answer: str


class DescribedQuestion(AnnotatedQuestion):
    """A question whose clip is described."""

    description: str
    afterwards: str


class AnsweredQuestion(DescribedQuestion):
    """A question that a model has answered, too."""

    first_answer: str


class SeededQuestion(AnsweredQuestion):
    """A question with wrong answers made of what is visible."""

    seeds: tuple[str, ...]


class QuestionWithDistractors(SeededQuestion):
    """A question with the distractors of its first version (MCQ)."""

    distractors: tuple[str, ...]


class QuestionPair(QuestionWithDistractors):
    """A question in two versions, MCQ and MCQ′; the right option has one text in both."""

    paraphrases: tuple[str, ...]
    orders: tuple[tuple[int, ...], tuple[int, ...]]
    flags: str = ""
    comments: tuple[str, ...] = ()
    repaired: bool = False
    difficulty: str = ""

    def options(self, version: int) -> list[str]:
        """The texts of a version's options, in their order."""
        texts = (self.answer, *(self.paraphrases if version else self.distractors))
        return [texts[place] for place in self.orders[version]]

    def key(self, version: int) -> str:
        """The letter of a version's right option."""
        return LETTERS[self.orders[version].index(0)]

    @property
    def qid(self) -> str:
        """Its name in the release, which changes with the clip, the type, a text or the order of options."""
        shown = [self.clip, self.start, self.end, self.type, self.question, *map(self.options, VERSIONS)]
        return f"{self.id}-{hashlib.sha256(json.dumps(shown).encode('ascii')).hexdigest()[:8]}"
