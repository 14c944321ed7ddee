"""Contractions of English spelled out, so that rules meet one form of each: "couldn't have" is "could not have"."""

from __future__ import annotations

import re

_SPELLED_OUT: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:can't|cannot|cant)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\b(would|could|should|does|did|do|is|was|were|are|has|have|had|might|must)n'?t\b"), r"\1 not"),
    (re.compile(r"\b(it|he|she|they|we|you|i|that|there|who)'d\b"), r"\1 would"),
    (re.compile(r"\b(it|he|she|they|we|you|that|there)'ll\b"), r"\1 will"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"\b(it|that|he|she|there|what)'s\b"), r"\1 is"),
    (re.compile(r"\b(?:wouldve|would've|would of)\b"), "would have"),
    (re.compile(r"\b(?:couldve|could've)\b"), "could have"),
)


def spell_out(text: str) -> str:
    """A text without contractions: "couldn't" becomes "could not"."""
    for pattern, replacement in _SPELLED_OUT:
        text = pattern.sub(replacement, text)
    return text
