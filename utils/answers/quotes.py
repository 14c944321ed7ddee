"""Recognises an option by its text, quoted in full or nearly."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Sequence
from typing import NamedTuple

from lmms_eval_tasks.utils.answers.text import fold

_SPACELESS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SPACELESS}]|[^\W_{_SPACELESS}]+")
# "A" is an article only before a word: "(A) The ball" and "lane A" name a letter.
_ARTICLE = re.compile(r"\b(?:an|the|a(?=[ \t]+(?!an?\b|the\b)[^\W_]))\b")
_SAME = {"toward": "to", "towards": "to"}
# What may stand in front of a quoted option.
_PREAMBLE = frozenset(
    re.findall(
        r"\w+",
        """
        answer correct final option choice is that it i think believe would say my best most likely so therefore thus
        because in this video shows shown described happens will be looks like s d they he she
        """,
    )
)
# What makes a quoted option something else than the answer; "t" is left of "n't".
_DOUBT = frozenset(
    re.findall(
        r"\w+",
        """
        not cannot never no none neither nor without wrong incorrect false unlikely unclear unsure impossible instead
        rather than if whether or either maybe might could may t determine unable
        """,
    )
)
# "…, not to the left": a contrast that ends the text.
_CONTRAST = re.compile(r",\s{0,3}(?:and |but )?not (?=[^\W_])", re.IGNORECASE)
_OTHER_WAY = "other way"
_OPTION_WORDS = 400
_EXTRA_WORDS = 40
_TYPO_WORDS = 24
_TYPO_CHARS = (5, 30)
_TYPO_RATIO = 0.8
_NEAR_WORDS = 3
_NEAR_SHARE = 0.6
_PART_WORDS = 4
_PART_SHARE = 0.5


def quoted_option(text: str, options: Sequence[str]) -> int | None:
    """Return the index of the one option that `text` quotes, or None.

    Compared without case, punctuation, accents, articles and small spelling mistakes. In order of preference: equal to
    an option; an option inside the text, which neither doubts it nor uses words that tell another option apart; an
    option cut off at the end (three words or more remain); an option with words left out (at least three words and 60%
    of it remain, or half of it as one piece of four words or more; no negation is lost). A word that is not the
    option's never counts as near: exchanging one word is how options differ. Whatever fits two options is None. A
    contrast at the end (", not to the left") that speaks in words of the options is left out where it hides the option.
    """
    found = _quoted(text, options)
    return _quoted(_without_contrast(text, options), options) if found is None else found


class Echo(NamedTuple):
    """An option repeated in full behind its own letter: the letter's place in the text, the end, the option's place."""

    start: int
    end: int
    option: int


def echoes(text: str, options: Sequence[str]) -> list[Echo]:
    """Return where a folded text repeats options in full behind their letters ("(A) … (B) …")."""
    found, said = [], text.casefold()
    for index, option in enumerate(options):
        spoken = _WORD.findall(fold(option))[:_OPTION_WORDS]
        # Most responses repeat no option, and a pattern for each takes longer than all the rest of reading.
        if spoken and max(spoken, key=len).casefold() in said:
            words = r"[\W_]{0,6}".join(map(re.escape, spoken))
            labelled = rf"(?<![^\W_]){string.ascii_uppercase[index]}[\W_]{{1,6}}{words}(?![^\W_])"
            found += [Echo(*match.span(), index) for match in re.finditer(labelled, text, re.IGNORECASE)]
    found.sort()
    if found and (cut := _echo_cut_off(text, found, options)):
        found.append(cut)
    return found


def _echo_cut_off(text: str, found: Sequence[Echo], options: Sequence[str]) -> Echo | None:
    """Return the next option of the list if the end of the text cuts it off: "(A) … (B) … (C) The cyc"."""
    last = found[-1]
    index = last.option + 1
    if index >= len(options) or len(text) - last.end > len(options[index]) + _EXTRA_WORDS:
        return None
    label = re.match(rf"\n?[^\n]{{0,9}}(?<![^\W_]){string.ascii_uppercase[index]}(?![^\W_])", text[last.end :])
    if not label:
        return None
    said = _WORD.findall(text[last.end + label.end() :].casefold())
    known = "".join(_WORD.findall(fold(options[index]).casefold()))
    listed = len(found) > 1 and "\n" not in label.group()
    begun = known.startswith("".join(said)) and (said or listed)
    return Echo(last.end + label.end() - 1, len(text), index) if begun else None


def _without_contrast(text: str, options: Sequence[str]) -> str:
    contrast = _CONTRAST.search(text)
    if not contrast:
        return ""
    behind = text[contrast.end() :].rstrip(" .!\n")
    known = {word for option in options for word in _words(option)}
    named = _words(behind[:_OPTION_WORDS])[:1]
    tells = named and (named[0] in known or _OTHER_WAY in behind)
    return text[: contrast.start()] if tells and not re.search(r"[.!?\n]", behind) else ""


def _quoted(text: str, options: Sequence[str]) -> int | None:
    known = [_words(option)[:_OPTION_WORDS] for option in options]
    longest = max((len(words) for words in known), default=0)
    said = _words(text[: 40 * (longest + _EXTRA_WORDS)])
    if not said or len(said) > longest + _EXTRA_WORDS:
        return None
    corrected = _undo_typos(said, known)
    for match in (_equal, _contained):
        found = match(corrected, known)
        if found:
            return found[0] if len(found) == 1 else None
    while corrected and corrected[0] in _PREAMBLE:
        in_front = [i for i, option in enumerate(known) if option[:1] == corrected[:1]]
        if in_front:
            break
        corrected = corrected[1:]
    return _shortened(corrected, known)


def equal_option(text: str, options: Sequence[str]) -> int | None:
    """Return the index of the one option that `text` equals but for case, punctuation, accents and articles."""
    known = [_words(option) for option in options]
    longest = max(len(option) for option in options)
    found = _equal(_words(text), known) if len(text) <= 4 * longest + _EXTRA_WORDS else []
    return found[0] if len(found) == 1 else None


def starts_with_option(text: str, options: Sequence[str]) -> int | None:
    """Return the index of the option of two words or more whose full text `text` starts with (the longest)."""
    known = [_words(option)[:_OPTION_WORDS] for option in options]
    said = _words(text[: 40 * max((len(words) for words in known), default=0)])
    found = [i for i, words in enumerate(known) if len(words) > 1 and said[: len(words)] == words]
    longest = max((len(known[i]) for i in found), default=0)
    best = [i for i in found if len(known[i]) == longest]
    return best[0] if len(best) == 1 else None


def _words(text: str) -> list[str]:
    return [_SAME.get(word, word) for word in _WORD.findall(_ARTICLE.sub(" ", fold(text).casefold()))]


def _equal(said: list[str], known: list[list[str]]) -> list[int]:
    return [i for i, option in enumerate(known) if option == said]


def _contained(said: list[str], known: list[list[str]]) -> list[int]:
    places = {i: at for i, option in enumerate(known) if option and (at := _find(said, option)) >= 0}
    inside = {
        i for i in places for j in places if i != j and len(known[i]) < len(known[j]) and _find(known[j], known[i]) >= 0
    }
    found = [i for i in places if i not in inside]
    if len(found) != 1:
        return found
    option, at = known[found[0]], places[found[0]]
    beside = set(said[:at] + said[at + len(option) :])
    telling = {word for j, other in enumerate(known) if j != found[0] for word in other} - set(option) - _PREAMBLE
    doubted = beside & _DOUBT or (len(option) == 1 and len(said) > 12)
    return [] if doubted or beside & telling else found


def _find(words: list[str], part: list[str]) -> int:
    joined = f"\n{chr(10).join(words)}\n"
    at = joined.find(f"\n{chr(10).join(part)}\n")
    return -1 if at < 0 else joined.count("\n", 0, at)


def _undo_typos(said: list[str], known: list[list[str]]) -> list[str]:
    """Replace misspelt words by the one option word that starts with the same letter and is nearly the same."""
    vocabulary = sorted({word for option in known for word in option if _TYPO_CHARS[0] <= len(word) <= _TYPO_CHARS[1]})
    every = {word for option in known for word in option}
    unknown = [
        word for word in dict.fromkeys(said) if word not in every and _TYPO_CHARS[0] - 1 <= len(word) <= _TYPO_CHARS[1]
    ]
    meant = {}
    for word in unknown[:_TYPO_WORDS]:
        near = difflib.get_close_matches(
            word, [v for v in vocabulary if v[0] == word[0]][:_OPTION_WORDS], 2, _TYPO_RATIO
        )
        if len(near) == 1:
            meant[word] = near[0]
    return [meant.get(word, word) for word in said]


def _shortened(said: list[str], known: list[list[str]]) -> int | None:
    if len(said) < _NEAR_WORDS:
        return None
    started = [i for i, option in enumerate(known) if _cut_off(said, option)]
    if started:
        return started[0] if len(started) == 1 else None
    fitting = [i for i, option in enumerate(known) if _is_subsequence(said, option)]
    if len(fitting) != 1:
        return None
    option = known[fitting[0]]
    lost = list(option)
    for word in said:
        lost.remove(word)
    piece = len(said) >= max(_PART_WORDS, _PART_SHARE * len(option)) and _find(option, said) >= 0
    near = piece or len(said) >= _NEAR_SHARE * len(option)
    return fitting[0] if near and not _DOUBT & set(lost) else None


def _cut_off(said: list[str], option: list[str]) -> bool:
    last = len(said) - 1
    return last < len(option) and said[:last] == option[:last] and option[last].startswith(said[last])


def _is_subsequence(said: list[str], option: list[str]) -> bool:
    rest = iter(option)
    return all(word in rest for word in said)
