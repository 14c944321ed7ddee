"""Recognises an option by its text, quoted in full or nearly."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from string import ascii_uppercase
from typing import NamedTuple

from lmms_eval_tasks.utils.answers import words
from lmms_eval_tasks.utils.answers.opening import fold

_SPACELESS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SPACELESS}]|[^\W_{_SPACELESS}]+")
# "A" is an article only before a word: "(A) The ball" and "lane A" name a letter.
_ARTICLE = re.compile(r"\b(?:an|the|a(?=[ \t]+(?!an?\b|the\b)[^\W_]))\b")
_SAME = {"toward": "to", "towards": "to"}
# "…, not to the left": a contrast that ends the text.
_CONTRAST = re.compile(r",\s{0,3}(?:and |but )?not (?=[^\W_])", re.IGNORECASE)
_OPTION_WORDS = 400
_EXTRA_WORDS = 40
_TYPO_WORDS = 24
_TYPO_CHARS = range(5, 31)
_TYPO_RATIO = 0.8
_NEAR_WORDS = 3
_NEAR_SHARE = 0.6
_PART_WORDS = 4
_PART_SHARE = 0.5


def quoted_option(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the one option that `text` quotes, or None."""
    option_words = [_words(option) for option in options]
    return _quoted(text, option_words) or _quoted(_without_contrast(text, option_words), option_words)


class Echo(NamedTuple):
    """An option repeated in full behind its own letter: the letter's place in the text, the end, the option's place."""

    start: int
    end: int
    option: int


def echoes(text: str, options: Sequence[str]) -> list[Echo]:
    """Return where a folded text repeats options in full behind their letters ("(A) … (B) …")."""
    repeated: list[Echo] = []
    lowered = text.casefold()
    for index, option in enumerate(options):
        parts = _WORD.findall(fold(option))[:_OPTION_WORDS]
        # Most responses repeat no option, and a pattern for each takes longer than all the rest of reading.
        if parts and max(parts, key=len).casefold() in lowered:
            phrase = r"[\W_]{0,6}".join(map(re.escape, parts))
            labelled = rf"(?<![^\W_]){ascii_uppercase[index]}[\W_]{{1,6}}{phrase}(?![^\W_])"
            repeated += [Echo(*match.span(), index) for match in re.finditer(labelled, text, re.IGNORECASE)]
    repeated.sort()
    if repeated and (cut := _echo_cut_off(text, repeated, options)):
        repeated.append(cut)
    return repeated


def _echo_cut_off(text: str, repeated: Sequence[Echo], options: Sequence[str]) -> Echo | None:
    """Return the next option of the list if the end of the text cuts it off: "(A) … (B) … (C) The cyc"."""
    last = repeated[-1]
    index = last.option + 1
    if index >= len(options) or len(text) - last.end > len(options[index]) + _EXTRA_WORDS:
        return None
    label = re.match(rf"\n?[^\n]{{0,9}}(?<![^\W_]){ascii_uppercase[index]}(?![^\W_])", text[last.end :])
    if not label:
        return None
    begun = "".join(_WORD.findall(text[last.end + label.end() :].casefold()))
    whole = "".join(_WORD.findall(fold(options[index]).casefold()))
    listed = len(repeated) > 1 and "\n" not in label.group()
    named = whole.startswith(begun) and (begun or listed)
    return Echo(last.end + label.end() - 1, len(text), index) if named else None


def _without_contrast(text: str, option_words: list[list[str]]) -> str:
    contrast = _CONTRAST.search(text)
    if not contrast:
        return ""
    behind = text[contrast.end() :].rstrip(" .!\n")
    first = _words(behind[:_OPTION_WORDS])[:1]
    telling = first and (any(first[0] in option for option in option_words) or "other way" in behind)
    return text[: contrast.start()] if telling and not re.search(r"[.!?\n]", behind) else ""


def _quoted(text: str, option_words: list[list[str]]) -> str | None:
    option_words = [option[:_OPTION_WORDS] for option in option_words]
    longest = max(map(len, option_words))
    text_words = _words(text[: 40 * (longest + _EXTRA_WORDS)])
    if not text_words or len(text_words) > longest + _EXTRA_WORDS:
        return None
    text_words = _undo_typos(text_words, option_words)
    fitting = _equal(text_words, option_words) or _contained(text_words, option_words)
    if fitting:
        return _only(fitting)
    preamble = words.QUOTE_PREAMBLE - {option[0] for option in option_words if option}
    while text_words and text_words[0] in preamble:
        text_words = text_words[1:]
    return _shortened(text_words, option_words)


def equal_option(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the one option that `text` equals but for case, punctuation, accents and articles."""
    if len(text) > 4 * max(map(len, options)) + _EXTRA_WORDS:
        return None
    return _only(_equal(_words(text), [_words(option) for option in options]))


def starts_with_option(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option of two words or more whose full text `text` starts with (the longest)."""
    option_words = [_words(option)[:_OPTION_WORDS] for option in options]
    text_words = _words(text[: 40 * max(map(len, option_words))])
    lengths = [len(option) if text_words[: len(option)] == option else 0 for option in option_words]
    longest = max(lengths)
    return _only([i for i, length in enumerate(lengths) if length == longest > 1])


def _only(fitting: Sequence[int]) -> str | None:
    return ascii_uppercase[fitting[0]] if len(fitting) == 1 else None


def _words(text: str) -> list[str]:
    return [_SAME.get(word, word) for word in _WORD.findall(_ARTICLE.sub(" ", fold(text).casefold()))]


def _equal(text_words: list[str], option_words: list[list[str]]) -> list[int]:
    return [i for i, option in enumerate(option_words) if option == text_words]


def _contained(text_words: list[str], option_words: list[list[str]]) -> list[int]:
    places = {i: at for i, option in enumerate(option_words) if option and (at := _find(text_words, option)) >= 0}
    longer = {i: [option_words[j] for j in places if len(option_words[i]) < len(option_words[j])] for i in places}
    fitting = [i for i in places if all(_find(option, option_words[i]) < 0 for option in longer[i])]
    if len(fitting) != 1:
        return fitting
    option, at = option_words[fitting[0]], places[fitting[0]]
    beside = {*text_words[:at], *text_words[at + len(option) :]}
    others = {word for other in option_words for word in other} - {*option} - words.QUOTE_PREAMBLE
    doubted = beside & words.QUOTE_DOUBT or (len(option) == 1 and len(text_words) > 12)
    return [] if doubted or beside & others else fitting


def _find(text_words: list[str], part: list[str]) -> int:
    joined = f"\n{chr(10).join(text_words)}\n"
    at = joined.find(f"\n{chr(10).join(part)}\n")
    return -1 if at < 0 else joined.count("\n", 0, at)


def _undo_typos(text_words: list[str], option_words: list[list[str]]) -> list[str]:
    """Replace misspelt words by the one option word that starts with the same letter and is nearly the same."""
    every = {word for option in option_words for word in option}
    vocabulary = sorted(word for word in every if len(word) in _TYPO_CHARS)
    unknown = [word for word in dict.fromkeys(text_words) if word not in every and len(word) in (4, *_TYPO_CHARS)]
    meant = {}
    for word in unknown[:_TYPO_WORDS]:
        candidates = [other for other in vocabulary if other[0] == word[0]][:_OPTION_WORDS]
        near = difflib.get_close_matches(word, candidates, 2, _TYPO_RATIO)
        if len(near) == 1:
            meant[word] = near[0]
    return [meant.get(word, word) for word in text_words]


def _shortened(text_words: list[str], option_words: list[list[str]]) -> str | None:
    """Find the option that is cut off or lacks words."""
    if len(text_words) < _NEAR_WORDS:
        return None
    begun = [i for i, option in enumerate(option_words) if _begins(text_words, option)]
    if begun:
        return _only(begun)
    fitting = [i for i, option in enumerate(option_words) if _is_subsequence(text_words, option)]
    if len(fitting) != 1:
        return None
    option = option_words[fitting[0]]
    piece = len(text_words) >= max(_PART_WORDS, _PART_SHARE * len(option)) and _find(option, text_words) >= 0
    near = piece or len(text_words) >= _NEAR_SHARE * len(option)
    lost = Counter(option) - Counter(text_words)
    return _only(fitting) if near and words.QUOTE_DOUBT.isdisjoint(lost) else None


def _begins(text_words: list[str], option: list[str]) -> bool:
    last = len(text_words) - 1
    return last < len(option) and text_words[:last] == option[:last] and option[last].startswith(text_words[last])


def _is_subsequence(text_words: list[str], option: list[str]) -> bool:
    rest = iter(option)
    return all(word in rest for word in text_words)
