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
    """A question by an annotator.

    Attributes:
        clip: Path of the video below the folder of clips.
        start: Second of the video at which the clip begins.
        end: Second at which it ends.
        type: Of the question.
        question: Its text.
        answer: The right answer.
    """

    clip: str
    start: float
    end: float
    type: str
    question: str
    answer: str


class DescribedQuestion(AnnotatedQuestion):
    """A question whose clip is described.

    Attributes:
        description: What the clip shows.
        afterwards: What follows it; empty but for anticipation, and where nothing follows.
    """

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
    """A question in two versions, MCQ and MCQ′; the right option has one text in both.

    Attributes:
        paraphrases: The distractors of the second version, in the order of those of the first.
        orders: Of each version, what stands at each place: 0 is the answer, 1 to 4 are the distractors.
        flags: Flags of reviewers after which its texts are to be repaired.
        comments: What they wrote.
        repaired: Whether it was.
        difficulty: As people found it; empty where none were asked.
    """

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
        """Its name in the release, which changes with the clip, the type, a text or the order of options.

        What people say of one wording is never taken for what they say of another.
        """
        shown = [self.clip, self.start, self.end, self.type, self.question, *map(self.options, VERSIONS)]
        return f"{self.id}-{hashlib.sha256(json.dumps(shown).encode('ascii')).hexdigest()[:8]}"
