"""From a response to the sentences of its reasoning, and the yes or no that it concludes with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.train.rewards.rewording import reword, reword_lines
from lmms_eval_tasks.utils.answers.text import json_objects, plain_text, shorten

_TAG = re.compile(
    r"<\s{0,2}(?P<close>/?)\s{0,2}(?P<kind>think|thinking|thought|reasoning|reason|answer)\s{0,2}>", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?;])[\"')\]]{0,3}(?:\s+|\Z)|;")
_LIST_MARK = re.compile(
    r"^\W{0,3}(?:step\s{1,2})?\(?\d{1,2}[.):]\)?\s+|^\(?[ivx]{1,4}\)\s+|^\s?[-–•]\s+", re.IGNORECASE
)
_DEFINITION = re.compile(r"^\W{0,2}(?P<label>[A-Za-z]|(?:step|action|event)\s[A-Za-z\d]{1,2}|\d{1,2})\)?\s?[:=]\s{0,2}")
_LEAD = re.compile(r"\W{0,6}(yes|no)\b(?!\s+(?:one|matter|doubt|longer))", re.IGNORECASE)
_LABELLED = re.compile(r"\b(?:answer|conclusion|verdict)\b\W{0,3}(?:is\b|:|=)?\W{0,6}(yes|no)\b", re.IGNORECASE)
_CONCLUDED = re.compile(r"\b(?:so|therefore|thus|hence),?\s{1,2}(yes|no)\b\s{0,2}(?:[.,!;]|\Z)", re.IGNORECASE)
_LAST = re.compile(r"(?:^|[.!?\n:])\W{0,4}(yes|no)\W{0,4}\Z", re.IGNORECASE)
_VERDICT = re.compile(
    r"\b(?:(?:the|my|our)\s)?(?:(?:final|correct|right)\s)?answer\s?(?:is|would be|:|=)?\s?(?:a\s)?"
    r"(?:clear\s)?\b(?:yes|no)\b|"
    r"\b(?:the|my|our)\s(?:final\s)?answer\b(?:\s?(?:is|:))?|^(?:final\s)?answer\s?:"
)
_TABLE_HEAD = re.compile(
    r"\W{0,3}(?:cause|action)s?\s?\|\s?(?:effect|consequence|result|outcome)s?\W{0,3}$", re.IGNORECASE
)
_COLUMNS = 2
_OF_A_GRAPH = {"actions", "links", "nodes", "edges"}
_END_OF_TEXT = 300
"""Letters at the end of a text in which a conclusion counts more than how it opens."""
_TWICE = 2
_DEPTH = 8


@dataclass(frozen=True)
class Reasoning:
    """The reasoning of a response.

    Attributes:
        sentences: In order, in lower case with contractions spelled out, without marks of lists.
        labels: The labels that the response gives to what stands behind them ("A: he cracks the eggs").
        concluded: The yes or no with which it opens or ends; None where there is none, or both.
    """

    sentences: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    concluded: str | None

    @property
    def repeated(self) -> float:
        """The share of its sentences that stand there twice before, word for word; in [0, 1)."""
        times = Counter(self.sentences)
        return sum(max(0, number - _TWICE) for number in times.values()) / max(1, len(self.sentences))


@dataclass(frozen=True)
class _Parts:
    """What of a response counts: its last marked reasoning, what stands behind it, and what it marks as the answer."""

    thought: str
    visible: str
    answer: str | None


def read_reasoning(response: str) -> Reasoning:
    """The final reasoning of a response, in time that is linear in its length.

    Of several marked blocks of reasoning the last counts, and nothing behind the marked answer does. An object of JSON
    is read by its texts; one in the form of a graph is no reasoning. Of a very long response both ends are read.
    """
    parts = _parts(shorten(response))
    text = _json_texts(f"{parts.thought}\n{parts.visible}\n{parts.answer or ''}")
    sentences: list[str] = []
    labels: list[tuple[str, str]] = []
    for line in _rows_as_arrows(reword_lines(plain_text(text)).split("\n")):
        definition = _DEFINITION.match(line)
        if definition:
            labels.append((definition["label"].casefold(), line[definition.end() :].casefold()))
            line = line[definition.end() :]
        line = _LIST_MARK.sub("", line).casefold()
        for piece in _SENTENCE_END.split(line):
            sentence = _VERDICT.sub(" ", _LIST_MARK.sub("", reword(piece.strip()))).strip()
            if sentence:
                sentences.append(sentence)
    return Reasoning(tuple(sentences), tuple(labels), _concluded(parts))


def _rows_as_arrows(lines: list[str]) -> Iterator[str]:
    """The lines of a text, those of a table with the columns "cause" and "effect" as arrows."""
    in_table = False
    for line in lines:
        in_table = bool(_TABLE_HEAD.match(line)) or (in_table and "|" in line)
        cells = [cell.strip() for cell in line.strip(" |").split("|")] if in_table else []
        yield " → ".join(cells) if len(cells) == _COLUMNS else line


def _parts(text: str) -> _Parts:
    """Both kinds of tags may be missing, unclosed or repeated."""
    thought, visible, answer = "", "", None
    kind, start = "", 0
    for tag in _TAG.finditer(text):
        piece, name = text[start : tag.start()], tag["kind"].casefold()
        is_answer = name == "answer"
        if tag["close"]:
            if is_answer:
                answer, visible = piece, visible if kind == "answer" else visible + piece
                kind = "done"
            else:
                # What stands before a closing tag is reasoning, also where the opening one is missing.
                thought, visible, kind = piece if kind == "thought" else f"{thought}\n{visible}\n{piece}", "", ""
                answer = None
        else:
            if kind != "done":
                visible += piece
            kind = "answer" if is_answer else "thought"
        start = tag.end()
    rest = text[start:]
    if kind == "thought":
        thought = rest
    elif kind == "answer":
        answer = rest
    elif kind != "done":
        visible += rest
    return _Parts(thought, visible, answer)


def _concluded(parts: _Parts) -> str | None:
    for text, patterns in (
        (parts.answer or "", (_LABELLED, _LEAD)),
        (parts.visible[-_END_OF_TEXT:], (_LABELLED, _CONCLUDED, _LAST)),
        (parts.visible, (_LABELLED, _LEAD, _CONCLUDED)),
        (parts.thought[-_END_OF_TEXT:], (_LABELLED, _CONCLUDED)),
    ):
        plain = plain_text(_json_texts(text)) if text.strip() else ""
        for pattern in patterns:
            given = [match[1].casefold() for match in pattern.finditer(plain)] if pattern is not _LEAD else []
            if pattern is _LEAD and (opening := pattern.match(plain)):
                given = [opening[1].casefold()]
            if given:
                return given[-1]
    return None


def _json_texts(text: str) -> str:
    """A text with each object of JSON replaced by its texts, one in a line; one in the form of a graph is left out."""
    pieces: list[str] = []
    rest_from = 0
    for value, start, end in json_objects(text):
        pieces += [text[rest_from:start], "\n".join(_texts(value, 0))]
        rest_from = end
    return "\n".join([*pieces, text[rest_from:]])


def _texts(value: Any, depth: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth > _DEPTH:
        return []
    if isinstance(value, Mapping):
        if len(_OF_A_GRAPH & set(value)) > 1:
            return []
        cause, effect = value.get("cause"), value.get("effect")
        if isinstance(cause, str) and isinstance(effect, str):
            # Ids alone are copied from a graph.
            return [f"{cause} → {effect}"] if " " in cause.strip() and " " in effect.strip() else []
        return [
            f"answer: {part}" if str(name).casefold() in ("answer", "verdict", "final_answer") else part
            for name, inner in value.items()
            for part in _chain(name, inner) or _texts(inner, depth + 1)
        ]
    if isinstance(value, list):
        return [part for inner in value for part in _texts(inner, depth + 1)]
    return []


def _chain(name: object, value: Any) -> list[str]:
    """A list of texts under a name such as "chain" as a chain of causes, and a list of such lists as several."""
    label = str(name).casefold()
    if not isinstance(value, list) or not any(part in label for part in ("chain", "path", "edge", "link")):
        return []
    lists = value if all(isinstance(part, list) for part in value) else [value]
    if any(not isinstance(part, str) or " " not in part.strip() for one in lists for part in one):
        return []
    return [" → ".join(one) for one in lists]
