"""Whether two questions ask the same, and whether an answer entails another, by rules on their words.

Source: MVP paper (arXiv 2506.09987), section 3: questions are matched by meaning, and answers of which one entails the
other are no pair, as "towards the red heart" and "to the left of the red heart". The rules are ours, and for English;
vectors of texts cannot tell opposites, so that negations and the order of words are looked at first.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.core.errors import needs_package

Similarities = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]
"""The cosine of each of some texts with each of others."""

_WORD = re.compile(r"[぀-ヿ㐀-鿿]|\d+(?:[.,:]\d+)*|[^\W_぀-ヿ㐀-鿿]+(?:'[^\W_]+)?")
_SPELLED_OUT = (
    (re.compile(r"\bcan't\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\b(what|which|who|where|when|how|it|that|there)'s\b"), r"\1 is"),
    (re.compile(r"'s?(?!\w)"), ""),
    # Of a clip everything is asked.
    (re.compile(r"\b(?:shown )?(?:in|during|throughout) (?:the|this) (?:video|clip|scene|footage)\b"), ""),
    (re.compile(r"\bin front of\b"), "infront"),
)
_FILE = json.loads(Path(__file__).with_name("meaning_words.json").read_text(encoding="utf-8"))


def _listed(role: str) -> frozenset[str]:
    lines = _FILE[role]
    return frozenset((lines if isinstance(lines, str) else " ".join(lines)).split())


_NEGATIONS, _IDLE, _NUMBERS, _IN_ORDER = map(_listed, ("negations", "idle", "numbers", "in_order"))
_ASKING = {"which": "what", **{word: word for word in _listed("asking")}}
_RESTRICTING = _listed("restricting") | _NUMBERS
"""Words that change what is asked, wherever only one of two questions has them."""
_LOOSE = _listed("loose")
"""Relations that say no more than that something is about a thing; a side of it entails them."""
_TURNING = _listed("turning")
"""Words with which an answer says something else than without them."""


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for pattern, plain in _SPELLED_OUT:
        folded = pattern.sub(plain, folded)
    return _WORD.findall(folded)


@lru_cache(maxsize=50_000)
def _lemma(word: str) -> str:
    """The base form of a word, of a verb where it may be one; words of place and number stay as they are."""
    if word in _RESTRICTING or word in _NEGATIONS or not word.isascii():
        return word
    with needs_package("lmms-eval-tasks[building]", "Comparing questions and answers"):
        from lemminflect import getAllLemmas

    lemmas = getAllLemmas(word)
    return next((lemmas[kind][0] for kind in ("VERB", "NOUN", "ADJ", "ADV", "AUX") if kind in lemmas), word)


class QuestionWords(NamedTuple):
    """What a question asks: for what, and its words of content in their order."""

    asking: tuple[str, ...]
    content: tuple[str, ...]


@lru_cache(maxsize=50_000)
def read_question(question: str) -> QuestionWords:
    words = _words(question)
    content: list[str] = []
    for place, word in enumerate(words):
        lemma = _lemma(word)
        # "What do they do": the first helps to ask.
        helps_to_ask = word == "do" and (not place or words[place - 1] in _ASKING)
        # "is doing" is "does"; "is pushed" is not "pushes".
        in_progress = lemma == "be" and word != "being" and any(_is_progressive(later) for later in words[place + 1 :])
        if word not in _IDLE and word not in _ASKING and not helps_to_ask and not in_progress:
            content.append(lemma)
    return QuestionWords(tuple(sorted(_ASKING[word] for word in words if word in _ASKING)), tuple(content))


def _is_progressive(word: str) -> bool:
    return word.endswith("ing") and _lemma(word) != word


def ask_the_same(one: QuestionWords, other: QuestionWords, synonyms: bool) -> bool | None:
    """Whether two questions ask the same; None where vectors have to decide.

    Args:
        one: What a question asks.
        other: What another one asks.
        synonyms: Whether vectors know synonyms: without, a word in another's place is another thing.
    """
    if one == other:
        return True
    first, second = Counter(one.content), Counter(other.content)
    of_first, of_second = first - second, second - first
    differing = {*of_first, *of_second}
    if one.asking != other.asking or not differing or differing & (_NEGATIONS | _RESTRICTING):
        return False
    if any(word.isdigit() for word in differing) or (of_first and of_second and not synonyms):
        return False
    shared = (first & second).keys()
    orders = ([word for word in asked.content if word in shared] for asked in (one, other))
    return None if next(orders) == next(orders) else False


def join_questions(
    asked: Iterable[tuple[Hashable, str]], similarities: Similarities, least: float, synonyms: bool
) -> dict[tuple[Hashable, str], str]:
    """Give questions of one scope, such as a skill, that mean the same one wording: the first in alphabetical order.

    Args:
        asked: Scopes and questions.
        similarities: The cosines of texts.
        least: From which cosine two questions are one, where rules do not decide.
        synonyms: Whether these cosines know synonyms.
    """
    wordings: dict[Hashable, list[str]] = {}
    exact: dict[tuple[Hashable, QuestionWords], str] = {}
    joined: dict[tuple[Hashable, str], str] = {}
    for scope, question in sorted(set(asked), key=lambda one: (str(one[0]), one[1])):
        known, form = wordings.setdefault(scope, []), read_question(question)
        wording = exact.get((scope, form))
        if wording is None:
            cosines = similarities([question], known)[0] if known else np.zeros(0)
            near = (known[place] for place in np.flatnonzero(cosines >= least))
            wording = next((one for one in near if ask_the_same(read_question(one), form, synonyms) is None), None)
        if wording is None:
            known.append(wording := question)
        exact.setdefault((scope, form), wording)
        joined[scope, question] = wording
    return joined


def entails(specific: str, general: str) -> bool:
    """Whether the general answer is right wherever the specific one is: it says the same, or less of it."""
    own, whole = _words(general), _words(specific)
    if sum(word in _NEGATIONS for word in own) != sum(word in _NEGATIONS for word in whole):
        return False
    in_order = bool(_IN_ORDER.intersection([*own, *whole]))
    parts, all_parts = _parts(own, in_order), _parts(whole, in_order)
    extra = Counter(word for part in all_parts for word in part) - Counter(word for part in parts for word in part)
    if not parts or any(word in _TURNING or word in _NUMBERS or word.isdigit() for word in extra):
        return False
    return all(any(_is_within(part, other) for other in all_parts) for part in parts)


def _parts(words: Sequence[str], whole: bool) -> list[list[str]]:
    """The words of content of an answer, split at "and", whose sides may be exchanged."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in ("and", "or") and not whole:
            parts.append([])
        elif word not in _LOOSE and word not in _IDLE:
            parts[-1].append(_lemma(word))
    return [part for part in parts if part]


def _is_within(part: Sequence[str], other: Sequence[str]) -> bool:
    rest = iter(other)
    return all(word in rest for word in part)
