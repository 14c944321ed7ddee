"""From a raw response to the plain text in which an answer is looked for."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

HEAD_CHARS = 6_000
TAIL_CHARS = 14_000
RECENT_TEXTS = 64
"""How many texts are kept as they were read: most answers to questions with options are one of a few letters."""

_THINK_TAG = re.compile(
    r"[<◁\[]\s{0,2}(?P<close>/?)\s{0,2}(?:think|thinking|thought|thoughts|reasoning|scratchpad)\s{0,2}[>▷\]]",
    re.IGNORECASE,
)
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n\s*")

_ACCENTED_ALONE = re.compile(
    r"(?<![^\W\d_])(?:[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f]|[A-Za-z][\u0300-\u036f]+)(?![^\W\d_]|[\u0300-\u036f])"
)
# Only look-alikes that stand for the same place in both alphabets, or for no place a short list of options reaches.
_LOOK_ALIKE_ALONE = re.compile(r"(?<![^\W_])[\u0391\u0392\u0395\u0410\u0421](?![^\W_])")
_LOOK_ALIKES = {"\u0391": "A", "\u0392": "B", "\u0395": "E", "\u0410": "A", "\u0421": "C"}
_QUOTES = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "´": "'", "“": '"', "”": '"', "„": '"', "−": "-"})
_EMOJI_LETTER_BLOCKS = (0x1F110, 0x1F130, 0x1F150, 0x1F170)

_ANSWER_TAGS = "(?:(?:final|your|my)[ _-]?)?(?:answer|choice|option|conclusion|response)"
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"~~[^~\n]{1,200}~~|<(s|del|strike)>[^<\n]{1,200}</\1>", re.IGNORECASE), " "),
    (re.compile(rf"<{_ANSWER_TAGS}>", re.IGNORECASE), "\nfinal answer: "),
    (re.compile(rf"</{_ANSWER_TAGS}>", re.IGNORECASE), "\n"),
    (re.compile(r"<\|?begin_of_box\|?>"), "\nfinal answer: "),
    (re.compile(r"<\|[^|<>\n]{1,40}\|>"), "\n"),
    (re.compile(r"\\f?boxed\s{0,3}\{?"), " final answer: "),
    (re.compile(r"\\(?:begin|end)\s?\{[a-zA-Z*]{1,20}\}"), "\n"),
    (re.compile(r"\\n(?![a-z])"), "\n"),
    (re.compile(r"\\(?:right|left)?arrow|-->|->|=>|→|⇒|➡"), " → "),
    (re.compile(r"\\(?:therefore|implies)|∴"), " therefore "),
    (re.compile(r"\\[a-zA-Z]{1,20}(?:\s{0,2}\{)?|\\[()\[\],;! ]"), " "),
    (re.compile(r"<([A-Z])>(?!.{0,20}</\1>)"), r"(\1)"),
    (re.compile(r"<(?:br|p|div|li|hr|h\d)\b[^<>\n]{0,100}>|</(?:p|div|li|h\d)>", re.IGNORECASE), "\n"),
    (re.compile(r"</?[a-zA-Z][^<>\n]{0,100}>"), ""),
    (re.compile(r"(?m)^\s{0,4}```[^\n]{0,30}$"), ""),
    (re.compile(r"(?m)^\s{0,8}(?:#{1,6}|>+|[-*•+])\s{1,4}"), ""),
    (re.compile(r"[*`$#]|~~+"), ""),
    (re.compile(r"[_{}\\]"), " "),
    (re.compile(r"(?i:\b(answer|option|choice|letter))-(?=[A-Za-z]\b)"), r"\1 "),
    (re.compile(r"\b([Aa]nswer|[Oo]ption|[Cc]hoice|[Ll]etter)([A-Z])\b"), r"\1 \2"),
    (re.compile(r"\b(ANSWER|OPTION|CHOICE|LETTER)([A-CE-RT-Z])\b"), r"\1 \2"),
    (re.compile(r"(?i)((?:letter|answer)\s{0,3}(?:is)?\s{0,3}:?\s{0,3}[(\[\"']?)([A-Z])(END)\b"), r"\1\2 \3"),
    (re.compile(r"\A\s{0,20}([A-Z])END\W{0,20}\Z"), r"\1 END"),
    (re.compile(r"(?m)(?<![\w'-])([A-Z])-(?=[A-Z][a-z]+ )"), r"\1 - "),
)


def split_reasoning(text: str) -> tuple[str, str]:
    """Return a text without its marked reasoning (``<think>…</think>`` and its relatives), and a line of reasoning.

    That line is empty when something follows the reasoning. Otherwise it is the last one, cut off or not, where a model
    that forgot the closing tag may have put a complete answer.
    """
    open_at, close_at, block_at = -1, -1, -1
    for tag in _THINK_TAG.finditer(text):
        if tag["close"]:
            close_at, block_at, open_at = tag.end(), tag.start(), -1
        elif open_at < 0:
            open_at = tag.start()
    visible = text[max(close_at, 0) : open_at if open_at >= 0 else None]
    if visible.strip():
        return visible, "" if open_at < 0 else _last_line(text[open_at:])
    return "", _last_line(text[open_at:] if open_at >= 0 else text[: max(block_at, 0)])


def _last_line(text: str) -> str:
    return _THINK_TAG.sub("\n", text[-TAIL_CHARS:]).strip().rpartition("\n")[2]


def shorten(text: str) -> str:
    """Squeeze white space and keep both ends of a very long text, so that reading takes bounded time.

    Nobody answers in the middle of twenty thousand characters; an answer that is cut out becomes unparsed, not wrong.
    """
    squeezed = _BLANK_LINES.sub("\n", _SPACES.sub(" ", text.replace("\r", "\n"))).strip()
    is_short = len(squeezed) <= HEAD_CHARS + TAIL_CHARS
    return squeezed if is_short else f"{squeezed[:HEAD_CHARS]}\n…\n{squeezed[-TAIL_CHARS:]}"


def fold(text: str) -> str:
    """Replace characters by their plain forms: full-width, styled and circled letters, typographic quotes, accents.

    Works character by character, because normalising a string takes quadratic time on long runs of combining marks.
    A single accented letter that stands alone is a word of its language (à, é), never an option letter: it becomes "~".
    """
    text = _LOOK_ALIKE_ALONE.sub(lambda match: _LOOK_ALIKES[match.group()], _ACCENTED_ALONE.sub("~", text))
    return text.translate(_QUOTES).translate({ord(char): _plain(char) for char in set(text)})


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


@lru_cache(maxsize=RECENT_TEXTS)
def plain_text(text: str) -> str:
    """A text in plain letters, without markup, in which a reader can look for words.

    Full-width, styled and circled letters become plain ones, quotes straight, and accents go. Markdown, HTML and LaTeX
    are removed. An answer that these mark (``<answer>B</answer>``, ``\\boxed{B}``) stands after "final answer:", and a
    letter apart from its label ("OptionB" is "Option B"). Capitals stay.
    """
    text = fold(text)
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return _BLANK_LINES.sub("\n", _SPACES.sub(" ", text)).strip()


_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_ORDINAL_OPTION = re.compile(
    rf"(?i)\b(?:the )?({'|'.join(_ORDINALS)}) (?:answer )?(?:option|candidate|alternative|statement)\b"
    r"(?! is (?:option )?[A-Z]\b)"
)


def letter_ordinals(plain: str) -> str:
    """Name options counted in words by their letters: "the second option" is option B.

    Figures and "option two" stay as they are: what is asked for is a letter, and a number may mean something else.
    """
    return _ORDINAL_OPTION.sub(lambda match: f"option {chr(65 + _ORDINALS.index(match[1].casefold()))}", plain)


_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？](?!\s|\Z)[^.!?。！？\n]*)*[.!?。！？]*\s*")
_COMMITTED = re.compile(
    r"\b(?:answer|verdict|conclusion|choice|prediction|judge?ment)\b[\"'*_`]{0,4}"
    r"(?:[^.!?:\n]{0,30}\b(?:is|be)\b|\s{0,2}[:=])|答案|boxed|begin_of_box|<(?:final_?)?answer>",
    re.IGNORECASE,
)
_RECONSIDERS = re.compile(
    r"\W{0,9}(?:(?:oh|but|and|so|hmm+|no)\W{1,3})?(?:wait|hmm+|hold on|actually|but|however|let me|let's|now|on second"
    r"|alternatively|maybe|i need|i should)\b",
    re.IGNORECASE,
)


def committed(text: str) -> str:
    """Of a text that was cut off, the sentences that commit it to an answer: the first, and those with a label.

    What is reconsidered in a sentence behind them is no longer one. Time is linear in the text's length.
    """
    kept: list[str] = []
    for place, sentence in enumerate(_SENTENCE.findall(text.lstrip())):
        if place and _RECONSIDERS.match(sentence):
            kept = []
        if not place or _COMMITTED.search(sentence):
            kept.append(sentence)
    return "".join(kept)


_JSON_ATTEMPTS = 24
_JSON_DEPTH = 12
_ANSWER_KEY = re.compile(r"answer|choice|option|prediction|selected|selection|response|result|output|letter|verdict")
_OTHER_KEY = re.compile(
    r"reason|rationale|expla|why|analysis|thought|evidence|confidence|choices|options|wrong|incorrect"
)
_EXACT_KEYS = ("final", "pred", "label", "value", "text", "id", "key")
# An answer that no letter can be read from, in what is not quite JSON; reasons that stand before it do not replace it.
_UNREADABLE = re.compile(
    r"""["'](?:final_?)?(?:answer|choice|prediction)["']\s{0,3}:\s{0,3}"""
    r"""(?:null|None|true|false|True|False|-?\d[\d.]{0,9}|\[\s?\]|""|'')?\s{0,3}(?:[,}]|\Z)"""
)


def json_answers(text: str) -> tuple[list[str], str]:
    """Return the values of the last JSON object with a key such as "answer", and the text without such objects."""
    values: list[str] = []
    pieces: list[str] = []
    rest_from = 0
    for parsed, start, end in json_objects(text):
        answers = _answer_values(parsed)
        if answers is not None:
            values = answers
            pieces.append(text[rest_from:start])
            rest_from = end
    rest = "\n".join([*pieces, text[rest_from:]])
    return values, rest[max((match.end() for match in _UNREADABLE.finditer(rest)), default=0) :]


def without_objects(text: str) -> str:
    """Return the text without the JSON objects in it."""
    pieces: list[str] = []
    rest_from = 0
    for _, start, end in json_objects(text):
        pieces.append(text[rest_from:start])
        rest_from = end
    return "\n".join([*pieces, text[rest_from:]])


@dataclass(frozen=True)
class OpenedResponse:
    """What of a response may hold its answer.

    Attributes:
        text: All but marked reasoning; of a very long text both ends.
        values: The values of the last JSON object in it with a key such as "answer".
        rest: The text without such objects.
        closing: The last line of marked reasoning that nothing follows; empty where something does.
    """

    text: str
    values: list[str]
    rest: str
    closing: str

    @property
    def prose(self) -> str:
        """The rest without any JSON object."""
        return without_objects(self.rest)


@lru_cache(maxsize=RECENT_TEXTS)
def open_response(response: str, rewrite: Callable[[str], str] = str, cut_off: bool = False) -> OpenedResponse:
    """What of a response may hold its answer: marked reasoning is no answer, and JSON objects are told from prose.

    Time is linear in the response's length; of a very long one both ends are read.

    Args:
        response: What the model returned.
        rewrite: Applied to the text before JSON objects are looked for.
        cut_off: Whether the response used all its tokens: of its prose only what is `committed` may be its answer.

    Returns:
        An object with ``text`` (all but marked reasoning), ``values`` (the values of the last JSON object in it with a
            key such as "answer"), ``rest`` (the text without such objects), ``prose`` (without any object) and
            ``closing`` (the last line of reasoning that nothing follows; else empty).
    """
    visible, closing = split_reasoning(response)
    text = rewrite(shorten(visible))
    values, rest = json_answers(text)
    return OpenedResponse(text, values, committed(rest) if cut_off else rest, shorten(closing))


def json_objects(text: str) -> Iterator[tuple[object, int, int]]:
    """The outermost JSON objects of a text, with where each begins and ends; so many attempts are made and no more."""
    decoder = json.JSONDecoder(strict=False)
    at, attempts = text.find("{"), 0
    while at >= 0 and attempts < _JSON_ATTEMPTS:
        attempts += 1
        try:
            parsed, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield parsed, at, end
        at = text.find("{", end)


def _answer_values(parsed: object) -> list[str] | None:
    """Return the values under the best answer keys; empty if none of them is text, None if there is no such key."""
    ranked: list[tuple[int, str]] = []
    keyed = False
    stack: list[tuple[Any, int, int]] = [(parsed, 0, 0)]
    while stack:
        node, rank, depth = stack.pop()
        keyed = keyed or bool(rank)
        if isinstance(node, str) and rank:
            ranked.append((rank, node))
        elif isinstance(node, dict) and depth < _JSON_DEPTH:
            stack.extend((value, _key_rank(str(key), rank), depth + 1) for key, value in node.items())
        elif isinstance(node, list) and depth < _JSON_DEPTH:
            stack.extend((value, rank, depth + 1) for value in node)
    best = max((rank for rank, _ in ranked), default=0)
    return [value for rank, value in ranked if rank == best] if keyed else None


def _key_rank(key: str, parent_rank: int) -> int:
    name = key.casefold()
    if _OTHER_KEY.search(name):
        return 0
    if "final" in name or "correct" in name:
        return 3
    if "answer" in name:
        return max(2, parent_rank)
    if _ANSWER_KEY.search(name):
        return max(1, parent_rank)
    return parent_rank if parent_rank and name in _EXACT_KEYS else int(name in ("pred", "label"))
