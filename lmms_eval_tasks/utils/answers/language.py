"""The language of statements, the same for all readers: plain letters, words and their lists, and what takes an answer
back."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, TypeVar

from lmms_eval_tasks.utils.core.patterns import late_pattern

_ACCENTED_ALONE = late_pattern(
    r"(?<![^\W\d_])(?:[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f]|[A-Za-z][\u0300-\u036f]+)(?![^\W\d_]|[\u0300-\u036f])"
)
# Only look-alikes that stand for the same place in both alphabets, or for no place a short list of options reaches.
_LOOK_ALIKE_ALONE = late_pattern(r"(?<![^\W_])[\u0391\u0392\u0395\u0410\u0421](?![^\W_])")
_LOOK_ALIKES = {"\u0391": "A", "\u0392": "B", "\u0395": "E", "\u0410": "A", "\u0421": "C"}
# "Уеѕ" in Cyrillic letters is a yes.
_LOOK_ALIKE_WORD = late_pattern(r"(?<![^\W\d_])(?=[a-z]{0,2}[^\x00-\x7f])[^\W\d_]{2,3}(?![^\W\d_])", re.IGNORECASE)
_LOOK_ALIKE_LETTERS = str.maketrans("уеѕоγυεοԁіУЕЅОΥΕΝΟүҮ", "yesoyyeodiYESOYENOyY")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "´": "'", "“": '"', "”": '"', "„": '"', "−": "-"})
_EMOJI_LETTER_BLOCKS = (0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6)


def fold(text: str) -> str:
    """Replace characters by their plain forms: full-width, styled and circled letters, typographic quotes, accents."""
    text = _LOOK_ALIKE_ALONE.sub(lambda match: _LOOK_ALIKES[match.group()], _ACCENTED_ALONE.sub("~", text))
    if not text.isascii():
        text = _LOOK_ALIKE_WORD.sub(_plain_yes_no, text)
    return text.translate(_QUOTES).translate({ord(char): _plain(char) for char in set(text)})


def _plain_yes_no(word: re.Match[str]) -> str:
    plain = word[0].translate(_LOOK_ALIKE_LETTERS)
    return plain if plain.lower() in ("yes", "no") else word[0]


@lru_cache(maxsize=4_096)
def _plain(char: str) -> str:
    category = unicodedata.category(char)
    if char == "\n":
        return char
    if category in ("Mn", "Me", "Cf"):
        return ""
    if category.startswith(("C", "Z")):
        return " "
    for start in _EMOJI_LETTER_BLOCKS:
        if start <= ord(char) < start + 26:
            return chr(ord(char) - start + ord("A"))
    folded = unicodedata.normalize("NFKD", char)
    return "".join(part for part in folded if unicodedata.category(part) != "Mn")


class Words(SimpleNamespace):
    """The words and phrases of a file, all languages together: for each role an attribute in capitals.

    Attributes:
        patterns: The file's patterns by role, each the text of a regular expression.
    """

    patterns: dict[str, str]

    def __init__(self, file: str) -> None:
        data = json.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
        lines: dict[str, list[str]] = {role: [] for role in data.get("roles", ())}
        for roles in data.get("languages", {}).values():
            for role, of_language in roles.items():
                lines[role] += of_language
        words = {role: frozenset(fold(" ".join(of_role)).casefold().split()) for role, of_role in lines.items()}
        for role, formula in data.get("combined", {}).items():
            first, *rest = formula.split()
            words[role] = words[first]
            for sign, other in zip(rest[::2], rest[1::2], strict=True):
                words[role] = words[role] | words[other] if sign == "+" else words[role] - words[other]
        patterns: dict[str, str] = {}
        for role, alternatives in data.get("patterns", {}).items():
            pattern = fold("|".join(alternatives)).casefold()
            patterns[role] = re.sub(r"<([a-z_]+)>", lambda name: f"(?:{patterns[name[1]]})", pattern)
        # Ends and starts of words, in scripts without spaces, are tuples, as `str.endswith` takes them.
        affixes = {role: tuple(of) if role.startswith(("before_", "after_")) else of for role, of in words.items()}
        super().__init__(patterns=patterns, **{role.upper(): of for role, of in affixes.items()})

    def phrases(self, *roles: str) -> list[str]:
        """The words and phrases of some roles, the longest first, with spaces in them."""
        words = frozenset[str]().union(*(getattr(self, role.upper()) for role in roles))
        return [word.replace("_", " ") for word in sorted(words, key=lambda word: (-len(word), word))]

    def any_of(self, *roles: str) -> str:
        """A regular expression for the phrases of some roles, among words with single spaces between them."""
        return "(?<![^ ])(?:" + "|".join(map(re.escape, self.phrases(*roles))) + ")(?![^ ])"

    def pattern(self, role: str) -> str:
        """The pattern of a role, as a whole word or several."""
        return rf"\b(?:{self.patterns[role]})\b"


_LATIN = "A-Za-z0-9\u00aa-\u024f\u0370-\u052f"
_INDIC = "\u0900-\u0963\u0966-\u109f"
_ABBREVIATION = r"(?<![A-Za-z])(?:[A-Za-z]\.(?:[a-z]\.){0,8}[a-z](?![A-Za-z])\.?|(?:[A-Z]\.){2,9})"
_LATIN_WORD = rf"[{_LATIN}]+(?:['\-°][{_LATIN}]+)*(?:'|\++(?![A-Za-z]))?"
_OTHER_WORD = rf"(?:[^\W0-9_{_LATIN}]|[{_INDIC}])+"
_TOKEN = late_pattern(rf"\n|\.\.+|{_ABBREVIATION}|{_LATIN_WORD}|{_OTHER_WORD}|[^\s]")
_ELISION = late_pattern(r"(?:l|d|j|qu|dell|all)'(?=[a-z]{3})")


class Token(NamedTuple):
    """A word, mark or line end: `raw` as written, `word` for look-ups, and its place in the text."""

    raw: str
    word: str
    start: int
    end: int

    @property
    def is_letter(self) -> bool:
        return len(self.raw) == 1 and self.raw.isascii() and self.raw.isalpha()


def tokenize(text: str) -> list[Token]:
    """Split a plain text into words, marks and line ends; "3-D", "A-E", "I'd" and "e.g." stay whole."""
    tokens = []
    for match in _TOKEN.finditer(text):
        raw = match.group()
        if len(raw) > 1:
            raw = raw.removesuffix("'")
        word = ".." if raw.startswith("..") else raw.casefold()
        if "'" in word:
            word = _ELISION.sub("", word)
        tokens.append(Token(raw, word, match.start(), match.end()))
    return tokens


_HEAD, _TAIL = 300, 900
_Part = TypeVar("_Part")


def both_ends(parts: list[_Part]) -> list[_Part]:
    """The first and last of very many parts of a text: more of them in a text of bounded length are a loop."""
    return parts if len(parts) <= _HEAD + _TAIL else parts[:_HEAD] + parts[-_TAIL:]


_KNOWN = Words("language_words.json")
ENGLISH = _KNOWN.OWN | _KNOWN.SHARED
"""The function words of English."""
_FOREIGN = _KNOWN.OTHER - ENGLISH
_ENGLISH_EACH = 6
"""An English text has one function word in so many words at least."""
_WORD_OR_SIGN = late_pattern(r"[^\W\d_]+(?:['-][^\W\d_]+)*|~")
_LEADING_NO = late_pattern(r"\W*no(?:$|[^\w' ])")


def is_english(plain: str, known: Collection[str] = (), otherwise: bool = False) -> bool:
    """Whether a plain text is English by its function words.

    One without any, of English or of another language, is English where all its words are those of short answers.

    Args:
        plain: A text in plain letters.
        known: Further words that answers in English may consist of, such as those of the options.
        otherwise: What is returned of a text that no word tells of: what is known of the text around it.
    """
    text = plain.casefold()
    words = [word for word in _WORD_OR_SIGN.findall(text) if len(word) > 1 or word in "~ai" or not word.isascii()]
    own = sum(word in _KNOWN.OWN for word in words)
    foreign = sum((word in _FOREIGN and word not in known) or not word.isascii() or word == "~" for word in words)
    if own:
        return foreign < own and (own + sum(word in _KNOWN.SHARED for word in words)) * _ENGLISH_EACH >= len(words)
    if foreign:
        return False
    return (
        otherwise
        or _KNOWN.PLAIN_WORDS.issuperset(word for word in words if word not in known)
        or bool(_LEADING_NO.match(text))
    )


_SPELLED_OUT: tuple[tuple[re.Pattern[str], str], ...] = (
    (late_pattern(r"\b(?:can't|cannot|cant)\b"), "can not"),
    (late_pattern(r"\bwon't\b"), "will not"),
    (late_pattern(r"\b(would|could|should|does|did|do|is|was|were|are|has|have|had|might|must)n'?t\b"), r"\1 not"),
    (late_pattern(r"\b(it|he|she|they|we|you|i|that|there|who)'d\b"), r"\1 would"),
    (late_pattern(r"\b(it|he|she|they|we|you|that|there)'ll\b"), r"\1 will"),
    (late_pattern(r"\bi'm\b"), "i am"),
    (late_pattern(r"\b(it|that|he|she|there|what)'s\b"), r"\1 is"),
    (late_pattern(r"\b(?:wouldve|would've|would of)\b"), "would have"),
    (late_pattern(r"\b(?:couldve|could've)\b"), "could have"),
)


def spell_out(text: str) -> str:
    """A text without contractions: "couldn't" becomes "could not"."""
    for pattern, replacement in _SPELLED_OUT:
        text = pattern.sub(replacement, text)
    return text


_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_ORDINAL_OPTION = late_pattern(
    rf"(?i)\b(?:the )?({'|'.join(_ORDINALS)}|last) (?:answer )?(?:option|candidate|alternative|statement)\b"
    r"(?! is (?:option )?[A-Z]\b)"
)


def letter_ordinals(plain: str, options: int) -> str:
    """Name options counted in words by their letters: "the second option" is option B."""

    def letter(match: re.Match[str]) -> str:
        word = match[1].casefold()
        return f"option {chr(65 + (options - 1 if word == 'last' else _ORDINALS.index(word)))}"

    return _ORDINAL_OPTION.sub(letter, plain)


_WORDS = Words("statement_words.json")
_RECANTS = rf"(?:{_WORDS.patterns['recants']})\W*"
_HESITANT = rf"\W*(?:{_WORDS.pattern('hesitant')}\W*)*?"
_TAKES_BACK = late_pattern(rf"{_HESITANT}(?:{_RECANTS}|(?:wait|hmm+|on second thoughts?)\W*)", re.IGNORECASE)
_RECANT = late_pattern(rf"\W*{_RECANTS}", re.IGNORECASE)
_FIRM_RECANT = late_pattern(rf"{_HESITANT}(?:{_WORDS.patterns['firmly']})\W*", re.IGNORECASE)
_CLAUSE_END, _SENTENCE_END = late_pattern(r"[,;:(]|\s[-–—]\s|=>|->|→"), late_pattern(r"[.!?…\n。]+")
_READ_BEHIND, _LONGEST_RECANT = 4_000, 60


def takes_back(behind: str) -> bool:
    """Whether what stands behind an answer takes it back without another: "not really", "I changed my mind"."""
    sentences = _split(_SENTENCE_END, behind[:_READ_BEHIND])
    if not sentences:
        return False
    return (
        any(len(part) < _LONGEST_RECANT and _FIRM_RECANT.fullmatch(part) for part in sentences)
        or (len(sentences[0]) < _LONGEST_RECANT and bool(_TAKES_BACK.fullmatch(sentences[0])))
        or any(
            len(part) < _LONGEST_RECANT and _RECANT.fullmatch(part) for part in _split(_CLAUSE_END, sentences[0])[:1]
        )
    )


def _split(ends: re.Pattern[str], text: str) -> list[str]:
    return [part for part in ends.split(text) if any(map(str.isalnum, part))]


_DANGLING = late_pattern(rf"(?:\b(?:{_WORDS.patterns['dangling']})|\w,)\s*\Z", re.IGNORECASE)
"""Words and marks that no sentence ends with."""


def breaks_off(text: str) -> bool:
    """Whether a text of several sentences ends amid one: "…, but the man also"."""
    sentences = _SENTENCE_END.split(text[-_READ_BEHIND:])
    return len(sentences) > 1 and len(sentences[-1].split()) > 1 and bool(_DANGLING.search(sentences[-1][-40:]))


_SENTENCE = late_pattern(r"[^.!?。！？\n]*(?:[.!?。！？](?!\s|\Z)[^.!?。！？\n]*)*[.!?。！？]*\s*")
_LIST_LABEL = late_pattern(r"(?:\A|\n|[;.] )[ \t]*\W{0,3}([A-Z])[.):] ")
_COMMITTED = late_pattern(
    r"\b(?:answer|verdict|conclusion|choice|prediction|judge?ment)\b[\"'*_`]{0,4}"
    r"(?:[^.!?:\n]{0,30}\b(?:is|be)\b|\s{0,2}[:=])|答案|boxed|begin_of_box|<(?:final_?)?answer>",
    re.IGNORECASE,
)
_RECONSIDERS = late_pattern(
    rf"\W{{0,9}}(?:(?:oh|but|and|so|hmm+|no)\W{{1,3}})?{_WORDS.pattern('reconsiders')}", re.IGNORECASE
)


def committed(text: str) -> str:
    """Of a text that was cut off, the sentences that commit it to an answer: the first, and those with a label."""
    kept: list[str] = []
    labels = {label[1] for label in _LIST_LABEL.finditer(text)}
    for place, sentence in enumerate(_SENTENCE.findall(text.lstrip())):
        if not place and len(labels) > 1:
            continue
        if place and _RECONSIDERS.match(sentence):
            kept = []
        if not place or _COMMITTED.search(sentence):
            kept.append(sentence)
    return "".join(kept)
