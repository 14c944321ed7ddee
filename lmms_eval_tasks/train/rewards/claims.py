"""The causal links that reasoning states, and those that it denies."""

from __future__ import annotations

import re
from dataclasses import replace

from lmms_eval_tasks.train.rewards.claim import Claim
from lmms_eval_tasks.train.rewards.clauses import split_clauses
from lmms_eval_tasks.train.rewards.mentions import ActionFinder
from lmms_eval_tasks.train.rewards.reading import Reasoning
from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.train.rewards.sentence_claims import SentenceReader
from lmms_eval_tasks.train.rewards.words import HEDGE, phrases

HEDGED = 0.35
"""Strength of a link that is only held possible."""


def read_claims(reasoning: Reasoning, sample: RewardSample, finder: ActionFinder) -> list[Claim]:
    """All links that the reasoning states or denies, in order, in time that is linear in its length."""
    claims: list[Claim] = []
    before: frozenset[int] = frozenset()
    supposed: frozenset[int] = frozenset()
    for sentence in reasoning.sentences:
        if sentence.rstrip("\"') ").endswith("?"):
            continue
        strength = _strength(sentence)
        if strength == 0.0:
            continue
        reader = SentenceReader(sample, finder, before, supposed)
        reader.read(split_clauses(_NO_KIND.sub(r"no \1", sentence), finder))
        revises, denied = _revises(sentence), denies_all(sentence)
        claims += [
            replace(claim, holds=claim.holds != denied, strength=min(claim.strength, strength), revises=revises)
            for claim in reader.claims
        ]
        before = reader.latest or before
        supposed = reader.supposed
    return claims


def denies_all(sentence: str) -> bool:
    """Whether a sentence denies what follows its opening: "it is not true that …"."""
    return bool(_UNTRUE.match(sentence))


_UNTRUE = re.compile(
    r"\W{0,3}(?:but |so |and |however, )?"
    r"(?:it is (?:false|untrue|wrong|incorrect|unlikely|not true|not the case|not as if)"
    r"|(?:it|this) does not (?:mean|imply|follow)|it would be wrong|that does not (?:mean|imply)"
    r"|i (?:doubt|deny|disagree|(?:do not|would not) (?:think|believe|see (?:how|why|that)))"
    r"|(?:there is|i see|we have) (?:no|little) (?:evidence|reason to|indication|sign|basis)"
    r"|nothing (?:suggests|indicates|shows|says))"
)
_NO_KIND = re.compile(
    r"\bno (?:[a-z]{3,12} ){1,2}"
    r"(part|role|effect|influence|impact|bearing|connection|link|relation|relationship|relevance)\b"
)
"""No effect of any kind is no effect."""
_VOID = [f" {' '.join(words)} " for words in phrases("void")]
_HEDGES = [f" {word} " for word in sorted(HEDGE)]
_REVISING = tuple(" ".join(words) for words in phrases("revise"))


def _strength(sentence: str) -> float:
    """1 for a plain sentence, less for one that hedges, 0 for one that takes no side."""
    padded = f" {sentence.replace(',', ' ')} ".replace(".", " ")
    if "whether or not" not in padded and any(phrase in padded for phrase in _VOID):
        return 0.0
    return HEDGED if any(word in padded for word in _HEDGES) else 1.0


def _revises(sentence: str) -> bool:
    return sentence.lstrip("\"'( —–-").startswith(_REVISING)
