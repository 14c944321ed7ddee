"""The probability that a sentence gives an outcome."""

from __future__ import annotations

import re

from lmms_eval_tasks.utils.verdicts.sentences import Sentence
from lmms_eval_tasks.utils.verdicts.statements import NO, UNCLEAR, YES

_EVEN = (0.4, 0.6)
"""Probabilities between these favour neither side."""
_CHANCES = frozenset({"chance", "chances", "probability", "likelihood", "odds"})
_CHANCE = _CHANCES | {"likely", "probable", "confident", "certain", "sure", "certainty"}
_LOW = frozenset({"low", "slim", "small", "little", "negligible", "tiny", "remote", "minimal", "zero", "poor"})
_HIGH = frozenset({"high", "good", "great", "strong", "excellent"})
_PERCENT = re.compile(r"\b(\d{1,3}(?: ?\. ?\d+)?) ?(?:%|percent|per cent)")


def read_odds(sentence: Sentence) -> str:
    """The verdict for which a probability speaks: no for "a 10% chance"; empty where the sentence gives none."""
    odds = _odds(sentence)
    if odds is None:
        return ""
    if _EVEN[0] < odds < _EVEN[1]:
        return UNCLEAR
    denied = bool({"not", "never"} & sentence.known)
    return YES if (odds > _EVEN[0]) != denied else NO


def _odds(sentence: Sentence) -> float | None:
    """The probability that a sentence gives, from 0 to 1: "a 10% chance"; None where it gives none."""
    if not _CHANCE & sentence.known:
        return None
    if _CHANCES & sentence.known and (_LOW | _HIGH) & sentence.known:
        return float(not _LOW & sentence.known)
    if {"sure", "certain", "confident"} & sentence.known and {"not", "never"} & sentence.known:
        # "I can not be 100% sure" gives no probability of the outcome.
        return None
    given = _PERCENT.search(" ".join(sentence.words))
    return float(given[1].replace(" ", "")) / 100 if given else None
