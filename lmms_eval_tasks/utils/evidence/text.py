"""The answer object inside a response: found as the official CaST-Bench code finds it, and as a careful reader
would."""

from __future__ import annotations

import ast
import json
import re
import threading
import warnings
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, SupportsIndex

import json_repair

from lmms_eval_tasks.utils.answers.opening import answer_part
from lmms_eval_tasks.utils.core.strict_json import refuse_constant

MAX_DEPTH = 500
"""Deeper JSON is not read. An answer has seven levels; Python's own limit depends on who calls, this one does not."""
MAX_ANSWER = 100_000
"""Characters of the longest answer object that is read, and of a text in which a broken one is looked for.

The task's 2,048 tokens are about 8,000, and the longest answer of the public predictions has 3,421.
"""
MAX_REPAIR = 10_000
"""A longer text is not repaired. The task's 2,048 tokens are about 8,000."""
LOOKS = 20
"""How often the repair may look at a character on average. A broken answer takes 2 or 3, and what takes more can take
quadratic time."""
_MAX_REPAIR_DEPTH = 24
_MAX_REPAIR_OBJECTS = 64
_MAX_SLOT = 5_000
_PARTS_TRIED = 8
_MAX_FRUITLESS = 200_000
_LEAST_COST = 200

_THINKING_END = "</think>"
_NESTING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_KEYED_OBJECT = re.compile(r"\{\s*[\"']?(?:instances|answer_choice)\b")
# A key may also be spelt with escapes or as two adjacent Python strings, with a comment between them.
_HIDDEN_KEY = re.compile(r"""\\|\#|["']\s*[rRbBuUfF]{0,2}["']""")
_MARK = re.compile(rf"instances|answer_choice|{_HIDDEN_KEY.pattern}")
_PYTHON_STRING = re.compile(
    r"""([fF][rR]?|[rR][fF])?(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'?|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)|\#[^\n]*""", re.DOTALL
)
_SLOT_END = re.compile(r"[,:{}\[\]()\n]")
_APPLIED = re.compile(r"[)\]}]\s*[(\[]")

_CLOSERS = {"{": "}", "[": "]"}

_warnings_lock = threading.Lock()


@dataclass(frozen=True)
class AnswerObject:
    """An answer object in a response."""

    value: dict[Any, Any]
    strict: bool
    last: bool
    too_long: bool = False


def first_answer(text: str) -> AnswerObject | None:
    """The object that the official evaluator takes: the first one with ``instances`` or ``answer_choice``, or None.

    After the first ``</think>``, braces are balanced without regard to strings; each balanced part is read as JSON,
    then as a Python literal. Beyond that code's own limits, which depend on the interpreter, a part is not read:
    nesting over `MAX_DEPTH`, more than `MAX_ANSWER` characters, for literals one expression of thousands of
    characters, and what follows 200,000 characters, or a thousand parts, that are none.

    Source: ``extract_top_level_json`` of CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`.
    """
    body = text.split(_THINKING_END, 1)[-1]
    fruitless = 0
    for start, end in _marked_parts(body):
        part = body[start:end]
        if len(part) > MAX_ANSWER:
            if _is_answer(part):
                return AnswerObject({}, strict=False, last=False, too_long=True)
            continue
        if fruitless > _MAX_FRUITLESS:
            return None
        fruitless += max(len(part), _LEAST_COST)
        value, strict = read_json(part), True
        if value is None:
            value, strict = _read_literal(part), False
        if value is not None and _is_answer(value):
            last = body.find("{", end) < 0 and (answer_part(text)[0] or text) == body
            return AnswerObject(value, strict and _is_standard(part), last)
    return None


def last_answer(text: str) -> AnswerObject | None:
    """The answer object that a careful reader takes: the last one, mended where it is broken, or None."""
    body = answer_part(text)[0] or text
    if len(body) > MAX_ANSWER:
        return None
    repaired = False
    keyed = [part for part in _objects(body) if _is_answer(part)]
    for part in reversed(keyed[-_PARTS_TRIED:]):
        # From the last brace that opens an answer object.
        inner = part[max((match.start() for match in _KEYED_OBJECT.finditer(part)), default=0) :]
        for candidate in (part, inner):
            value = read_json(candidate)
            if value is not None and _is_answer(value):
                return AnswerObject(value, _is_standard(candidate), last=True)
        value = _close(inner) or _read_literal(part)
        if value is None and not repaired:
            value, repaired = _repair(inner), True
        if value is not None and _is_answer(value):
            return AnswerObject(value, strict=False, last=True)
    return None


def _is_answer(value: Container[Any]) -> bool:
    """Whether an object, or its text, has a key of an answer."""
    return "instances" in value or "answer_choice" in value


def read_json(text: str) -> dict[Any, Any] | None:
    """The JSON object that a text is, None where it is none or nested deeper than `MAX_DEPTH`."""
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deeper(text, MAX_DEPTH):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def _marked_parts(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each balanced part in which a key of an answer may stand, however it is spelt."""
    marked_at = -1
    for start, end in _balanced(text):
        if marked_at < start:
            mark = _MARK.search(text, start)
            if mark is None:
                return
            marked_at = mark.start()
        # No mark has a brace in it, so that one which begins in a part also ends there.
        if marked_at < end:
            yield start, end


def _balanced(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each part of a text with as many closing as opening braces, wherever the braces stand."""
    start = text.find("{")
    while start >= 0:
        position, opened, closed = start, 0, 0
        while opened == 0 or opened > closed:
            end = text.find("}", position) + 1
            if end == 0:
                return
            opened += text.count("{", position, end)
            closed += 1
            position = end
        yield start, position
        start = text.find("{", position)


def _objects(text: str) -> Iterator[str]:
    """The outermost objects of a text, braces inside strings not counted; the last one may be cut off."""
    position = text.find("{")
    while position >= 0:
        depth = 0
        end = len(text)
        for token in _NESTING.finditer(text, position):
            if token[0] == "{":
                depth += 1
            elif token[0] == "}":
                depth -= 1
                if depth == 0:
                    end = token.end()
                    break
        yield text[position:end]
        position = text.find("{", end)


def _is_deeper(text: str, limit: int) -> bool:
    """Whether brackets nest deeper than a limit outside double-quoted strings."""
    depth = 0
    for token in _NESTING.finditer(text):
        if token[0] in ("{", "["):
            depth += 1
            if depth > limit:
                return True
        elif token[0] in ("}", "]") and depth:
            depth -= 1
    return False


def _is_standard(text: str) -> bool:
    """Whether a text that Python reads as JSON is JSON: it has no NaN or Infinity outside its strings."""
    if "NaN" not in text and "Infinity" not in text:
        return True
    try:
        json.loads(text, parse_constant=refuse_constant)
    except ValueError:
        return False
    return True


def _read_literal(text: str) -> dict[Any, Any] | None:
    if len(text) > _MAX_SLOT and not _is_flat(text):
        return None
    try:
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def _is_flat(text: str) -> bool:
    """Whether no expression of a text is long enough to overflow the interpreter's stack, or to take quadratic time."""
    if "'''" in text or '"""' in text or any(string[1] for string in _PYTHON_STRING.finditer(text)):
        return False
    code = _PYTHON_STRING.sub("", text)
    return not _APPLIED.search(code) and max(map(len, _SLOT_END.split(code))) <= _MAX_SLOT


def _close(text: str) -> dict[Any, Any] | None:
    """An answer that was cut off, up to its last complete list or object."""
    cut = 0
    closers = ""
    stack: list[str] = []
    for token in _NESTING.finditer(text):
        if token[0] in _CLOSERS:
            stack.append(_CLOSERS[token[0]])
        elif token[0] in ("}", "]"):
            if not stack or stack.pop() != token[0] or len(stack) > _MAX_REPAIR_DEPTH:
                return None
            cut, closers = token.end(), "".join(reversed(stack))
    if not closers or "answer_choice" in text[cut:]:
        return None
    return read_json(text[:cut] + closers)


class _WatchedText(str):
    """A text that can be looked at only so often; slices and sums of it count with it."""

    looks: list[int]

    def __new__(cls, text: str, looks: list[int]) -> _WatchedText:
        watched = super().__new__(cls, text)
        watched.looks = looks
        return watched

    def __getitem__(self, place: SupportsIndex | slice[Any, Any, Any]) -> str:
        part = super().__getitem__(place)
        self.looks[0] -= len(part)
        if self.looks[0] < 0:
            raise OverflowError
        return _WatchedText(part, self.looks) if len(part) > 1 else part

    def __add__(self, other: str) -> str:
        return _WatchedText(super().__add__(other), self.looks)

    def __radd__(self, other: str) -> str:
        return _WatchedText(other.__add__(self), self.looks)


def _repair(text: str) -> dict[Any, Any] | None:
    if len(text) > MAX_REPAIR or text.count("{") > _MAX_REPAIR_OBJECTS or _is_deeper(text, _MAX_REPAIR_DEPTH):
        return None
    try:
        value = json_repair.loads(_WatchedText(text, [LOOKS * len(text)]), skip_json_loads=True)
    except Exception:  # a foreign parser on arbitrary text: whatever goes wrong in it, the text is not repaired
        return None
    if isinstance(value, list):
        value = next((entry for entry in value if isinstance(entry, dict)), None)
    return value if isinstance(value, dict) else None
