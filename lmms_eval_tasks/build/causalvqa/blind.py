"""What can be answered without the clip goes: a key that a text gives away, and what a model guesses both times."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmms_eval_tasks.build.causalvqa.rows import LETTERS, VERSIONS, QuestionPair
from lmms_eval_tasks.build.causalvqa.texts import option_faults, question_faults
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.steps import Forecast, PaperCount, Removed, RowStep
from lmms_eval_tasks.utils.judge.client import UnreadableReply

BLIND = "blind"
GUESSED = "right without the clip in both versions"
_END = re.compile(r"\bEND\W*\Z")
_ANSWER = re.compile(rf"\bAnswer\W{{1,6}}([{LETTERS}])\W{{1,6}}END\W*\Z", re.IGNORECASE)


def read_letter(text: str) -> str:
    """The letter that a reply ends with, as in ``Answer: B END``."""
    if not _END.search(text):
        raise UnreadableReply("missing END: the reply does not end with the word END")
    if (answer := _ANSWER.search(text)) is None:
        raise UnreadableReply("no letter: END does not follow an answer")
    return answer[1].upper()


def check_blind(pair: QuestionPair, asking: Asking) -> None:
    """Have a text model answer both versions."""
    right = []
    for version in VERSIONS:
        options = dict(zip(LETTERS, pair.options(version), strict=True))
        letter = asking.ask_text(BLIND, "causalvqa_blind", read_letter, question=pair.question, options=options)
        right.append(letter == pair.key(version))
    if all(right):
        raise Removed(GUESSED)


def check_texts(pair: QuestionPair) -> None:
    """Look in both versions for what gives a key away, by rule."""
    for distractors in (pair.distractors, pair.paraphrases):
        faults = [*question_faults(pair.question, pair.answer, distractors), *option_faults(pair.answer, distractors)]
        if faults:
            raise Removed(faults[0].reason, " ".join(fault.detail for fault in faults))


class LeakedKey(RowStep[QuestionPair, QuestionPair]):
    """Rules look once more at what is to be published, no matter who wrote it."""

    name = "leaked key"
    takes = gives = QuestionPair

    def run(self, row: QuestionPair, asking: Asking) -> Sequence[QuestionPair]:
        """The pair, where nothing of it gives its key away."""
        check_texts(row)
        return [row]


class BlindFilter(RowStep[QuestionPair, QuestionPair]):
    """A text model answers both versions without the clip."""

    name = "blind filter"
    takes = gives = QuestionPair
    roles = (BLIND,)
    paper = PaperCount("39% out", "2.2")
    forecast = Forecast(requests=2, characters=900, reply_tokens=200, rows=0.61)

    def run(self, row: QuestionPair, asking: Asking) -> Sequence[QuestionPair]:
        """The pair, where the model is not right both times."""
        check_blind(row, asking)
        return [row]
