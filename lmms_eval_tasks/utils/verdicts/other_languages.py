"""What a sentence in another language than English says of the outcome."""

from __future__ import annotations

from lmms_eval_tasks.utils.verdicts import vocabulary
from lmms_eval_tasks.utils.verdicts.sentences import Sentence
from lmms_eval_tasks.utils.verdicts.statements import NO, UNCLEAR, YES, Assertion, Force

_ENGLISH_EACH = 6
"""An English sentence has one of the commonest words in so many at least; others share some of them."""
_MEANINGS = {"unclear": UNCLEAR, "undone": NO, "no": NO, "yes": YES, "no_then": NO}


def read_other_language(sentence: Sentence) -> list[Assertion]:
    """What the first pattern says that the sentence has; nothing where it is in English."""
    english = sum(word in vocabulary.ENGLISH for word in sentence.words)
    if english > 1 and english * _ENGLISH_EACH >= len(sentence.words):
        return []
    # Scripts without spaces between words are looked through without those between tokens.
    joined = "".join(sentence.words)
    for meaning, verdict in _MEANINGS.items():
        if any(one.search(text) for one in vocabulary.PATTERNS[meaning] for text in (sentence.text, joined)):
            return [Assertion(verdict, Force.STATED)]
    return []
