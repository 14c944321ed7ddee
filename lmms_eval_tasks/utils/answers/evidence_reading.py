"""Answers with evidence, read from a response in two ways, and the true evidence of a release.

The *official* reading follows the evaluator of CaST-Bench rule for rule, also for the answer object and its times,
and scores come from it. The *diagnostic* reading takes the answer that a careful reader would, and shows how much
was lost to format. Neither raises on any text.
"""

from __future__ import annotations

import ast
import json
import re
import threading
import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any, NamedTuple, TypeVar

import json_repair

from lmms_eval_tasks.utils.answers.choice import read_choice
from lmms_eval_tasks.utils.answers.evidence_boxes import Evidence, EvidenceInstance, is_finite, official_box
from lmms_eval_tasks.utils.answers.opening import answer_part
from lmms_eval_tasks.utils.core.forms import refuse_constant
from lmms_eval_tasks.utils.core.patterns import late_pattern
from lmms_eval_tasks.utils.core.text import quote

MAX_DEPTH = 500
"""Deeper JSON is not read. An answer has seven levels; Python's own limit depends on who calls, this one does not."""
MAX_ANSWER = 100_000
"""Characters of the longest answer object that is read, and of a text in which a broken one is looked for.

The task's 2,048 tokens are about 8,000, and the longest answer of the public predictions has 3,421.
"""
MAX_REPAIR = 2_000
"""Characters of the longest broken object that is repaired: the time of a repair can grow with the square of them.

No public answer needs a repair: what is cut off is closed, and what Python wrote is read as that.
"""
_MAX_REPAIR_DEPTH = 24
_MAX_REPAIR_OBJECTS = 64
_MAX_SLOT = 5_000
_PARTS_TRIED = 8
_MAX_FRUITLESS = 200_000
_LEAST_COST = 200

_THINKING_END = "</think>"
_NESTING = late_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_KEYED_OBJECT = late_pattern(r"\{\s*[\"']?(?:instances|answer_choice)\b")
# A key may also be spelt with escapes or as two adjacent Python strings, with a comment between them.
_HIDDEN_KEY = late_pattern(r"""\\|\#|["']\s*[rRbBuUfF]{0,2}["']""")
_MARK = late_pattern(rf"instances|answer_choice|{_HIDDEN_KEY.pattern}")
_PYTHON_STRING = late_pattern(
    r"""([fF][rR]?|[rR][fF])?(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'?|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)|\#[^\n]*""", re.DOTALL
)
_SLOT_END = late_pattern(r"[,:{}\[\]()\n]")
_APPLIED = late_pattern(r"[)\]}]\s*[(\[]")

_CLOSERS = {"{": "}", "[": "]"}

_warnings_lock = threading.Lock()


class AnswerObject(NamedTuple):
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
    """The answer object that a careful reader takes: the last one, mended where it is broken, or None.

    Where all are broken and the last of them has more than `MAX_REPAIR` characters, it is too long.
    """
    body = answer_part(text)[0] or text
    if len(body) > MAX_ANSWER:
        return None
    broken = ""
    keyed = [part for part in _objects(body) if _is_answer(part)]
    for part in reversed(keyed[-_PARTS_TRIED:]):
        # From the last brace that opens an answer object.
        inner = part[max((match.start() for match in _KEYED_OBJECT.finditer(part)), default=0) :]
        for candidate in (part, inner):
            value = read_json(candidate)
            if value is not None and _is_answer(value):
                return AnswerObject(value, _is_standard(candidate), last=True)
        value = _close(inner) or _read_literal(part)
        if value is None and not broken:
            value, broken = _repair(inner), inner
        if value is not None and _is_answer(value):
            return AnswerObject(value, strict=False, last=True)
    return AnswerObject({}, strict=False, last=True, too_long=True) if len(broken) > MAX_REPAIR else None


def _is_answer(value: Container[Any]) -> bool:
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
        depth = depth + 1 if token[0] in _CLOSERS else max(depth - (token[0] in ("}", "]")), 0)
        if depth > limit:
            return True
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


def _repair(text: str) -> dict[Any, Any] | None:
    if len(text) > MAX_REPAIR or text.count("{") > _MAX_REPAIR_OBJECTS or _is_deeper(text, _MAX_REPAIR_DEPTH):
        return None
    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except Exception:  # a foreign parser on arbitrary text: whatever goes wrong in it, the text is not repaired
        return None
    if isinstance(value, list):
        value = next((entry for entry in value if isinstance(entry, dict)), None)
    return value if isinstance(value, dict) else None


Key = tuple[str, int]
_Read = TypeVar("_Read")

LAST_SECOND = 2**36
"""Later times count as this one. The official code makes a list entry for each second and never gets so far."""

# Python itself refuses to convert more digits, so the official code stops there.
_MAX_DIGITS = 4300
_LONGEST_REMEMBERED = 32

_TWO_DIGITS = late_pattern(r"\d{2}:\d{2}")
_MINUTES = late_pattern(r"\d+:[0-5]\d", re.ASCII)
_NUMBER = late_pattern(r"\d+(\.\d+)?")
_DIGITS = late_pattern(r"\d+")


def _of_any_value(read: Callable[[str], _Read]) -> Callable[[object], _Read]:
    remembered = lru_cache(maxsize=8192)(read)

    @wraps(read)
    def read_value(value: object) -> _Read:
        try:
            text = "" if value is None else str(value).strip()
            return (remembered if len(text) <= _LONGEST_REMEMBERED else read)(text)
        except (ValueError, RecursionError):  # an integer of 5,000 digits, a list too deep for a text
            return read("")

    return read_value


@_of_any_value
def official_seconds(text: str) -> int:
    """Whole seconds of a time as ``to_seconds`` reads it, 0 where it finds none, at most `LAST_SECOND`.

    A plain number is seconds. In any other text the first groups of digits count: three or more as hours, minutes,
    seconds, two as minutes, seconds, so that ``00:05.5`` is 305. A number too long for the official code is
    `LAST_SECOND`.
    """
    if _NUMBER.fullmatch(text):
        return int(min(float(text), LAST_SECOND))
    groups = [_integer(digits) for digits in _DIGITS.findall(text)[:3]]
    if len(groups) == 3:
        return min(3600 * groups[0] + 60 * groups[1] + groups[2], LAST_SECOND)
    if len(groups) == 2:
        return min(60 * groups[0] + groups[1], LAST_SECOND)
    return groups[0] if groups else 0


@_of_any_value
def official_key(text: str) -> Key:
    """A time of a prediction as the official code rewrites it, and the whole seconds that it then reads.

    Two keys of one evidence with the same rewritten text are one key for the official code, the later value wins.
    """
    is_clock_text = _TWO_DIGITS.fullmatch(text)
    rewritten = text if is_clock_text else (":" in text and _clock_text(text.split(":"))) or _whole_text(text)
    return rewritten, official_seconds(rewritten)


@_of_any_value
def official_truth_key(text: str) -> Key:
    """The second of a released box as the official code rewrites it, and the whole seconds that it then reads."""
    parts = text.split(":")
    rewritten = _clock_text(parts) if len(parts) > 1 else _whole_text(text)
    if rewritten is None:
        try:
            rewritten = f"00:{_integer(parts[-1]):02d}"
        except ValueError:
            rewritten = text
    return rewritten, official_seconds(rewritten)


def is_clock(text: str) -> bool:
    """Whether a text is a time as CaST-Bench asks for it: ``mm:ss`` with ASCII digits, seconds below 60.

    White space around it does no harm.
    """
    return _MINUTES.fullmatch(text.strip()) is not None


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        if digits.isdecimal():
            return LAST_SECOND
        raise ValueError(f"Expected an integer but got {len(digits)} characters.")
    return min(int(digits), LAST_SECOND)


def _clock_text(parts: list[str]) -> str | None:
    if len(parts) not in (2, 3) or not all(part.isdigit() for part in parts):
        return None
    try:
        numbers = [_integer(part) for part in parts]
    except ValueError:  # "²" is a digit to str.isdigit and none to int; the official code stops here
        return None
    if len(numbers) == 2:
        return f"{numbers[0]:02d}:{numbers[1]:02d}"
    total = 3600 * numbers[0] + 60 * numbers[1] + numbers[2]
    return f"{total // 60:02d}:{total % 60:02d}"


def _whole_text(text: str) -> str:
    try:
        number = float(text)
        if _NUMBER.fullmatch(text):
            number = min(number, float(LAST_SECOND))
        return f"00:{int(number):02d}"
    except (ValueError, OverflowError):
        return text


EVIDENCE_READER = "evidence reader 1"
"""Name and version of the official reading, for a run's card: the version moves when it reads any answer otherwise."""
_ANSWER_KEYS = ("answer_choice", "answer", "choice", "final_answer")
"""Keys under which models give their choice."""


class Diagnosis(NamedTuple):
    answer: str | None
    json_valid: bool
    schema_valid: bool
    unread: str = ""
    """Why an answer object was not read; empty if none was skipped."""


class EvidenceAnswer(NamedTuple):
    """Answer given by a response, in the official reading, and the answer object that was read, if there is one."""

    answer: str | None
    instances: tuple[EvidenceInstance, ...]
    text: str
    found: AnswerObject | None

    @property
    def unread(self) -> str:
        """Reason why an answer object was not read; empty if none was skipped."""
        if self.found is None or not self.found.too_long:
            return ""
        return f"the answer object has more than {MAX_ANSWER:,} characters and was not read"

    def diagnose(self, letters: str) -> Diagnosis:
        if self.unread:
            ends = f"{self.text[:MAX_ANSWER]}\n{self.text[-MAX_ANSWER:]}"
            return Diagnosis(_read_letter(ends, letters), json_valid=False, schema_valid=False, unread=self.unread)
        if self.found and self.found.last and self.found.strict:  # one parse serves both
            return _diagnose(self, letters)
        return _diagnose(_read_object(last_answer(self.text), self.text), letters)


def read_evidence_answer(text: str) -> EvidenceAnswer:
    """Read a response as the official evaluator does; no text raises an error.

    It takes the first object with ``instances`` or ``answer_choice``; an answer of one letter A-Z after trimming, in
    either case; times as in `official_key`; boxes as in `evidence_boxes.official_box`; evidence without times spans
    0-0. Where that code stops with an exception (``"evidences": 5``, a time of 5,000 digits), the part counts as
    missing.

    Returns:
        The letter as `answer` (None where none can be read) and the `instances`, boxes as they were written. Its method
        `diagnose` gives the letter that a careful reader would take, and whether the form is as asked for.

    Source: CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`.
    """
    return _read_object(first_answer(text), text)


def read_truth(evidence: str | Sequence[Mapping[str, Any]]) -> tuple[EvidenceInstance, ...]:
    """The true instances of one released question, grouped by instance id in order of first appearance.

    Args:
        evidence: The row's ``evidence``: JSON inside a string, or the list itself. An entry has
            ``evidence_instance_id``, ``evidence_start_time`` and ``evidence_end_time`` (``mm:ss``), and
            ``bboxes_in_range``, from a second to a box ``[x1, y1, x2, y2]`` in pixels.

    Raises:
        ValueError: where the official code stops at it or comes to no end, or a box is not finite.

    Source: ``load_gt_hf_jsonl`` of CaST-Bench-Evaluation@a216491.
    """
    entries = json.loads(evidence) if isinstance(evidence, str) else evidence
    grouped: dict[str, list[Evidence]] = {}
    try:
        for entry in entries or []:
            name = entry.get("evidence_instance_id") or entry.get("instance_id") or ""
            per_second = entry.get("bboxes_in_range") or entry.get("bboxes_in_time_range") or {}
            keyed = {official_truth_key(second): box for second, box in per_second.items()}
            times = entry.get("evidence_start_time"), entry.get("evidence_end_time")
            start, end = map(official_seconds, times)
            if max(start, end) >= LAST_SECOND:
                raise ValueError(f"Expected evidence times mm:ss, but got {' to '.join(map(quote, times))}.")
            grouped.setdefault(name, []).append(_evidence(start, end, keyed))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"Expected a list of evidence objects but got {evidence!r:.200}.") from error
    instances = tuple(EvidenceInstance(str(name), tuple(evidences)) for name, evidences in grouped.items())
    if not all(is_finite(box) for evidences in grouped.values() for one in evidences for box in one.boxes):
        raise ValueError("Expected finite boxes but got one with NaN or infinity.")
    return instances


def _follows_schema(value: dict[Any, Any], official: EvidenceAnswer, letters: str) -> bool:
    """Whether an answer object has the form that the prompt asks for, so that both readings of it are the same.

    One of `letters`; instances with a name and evidences; times ``mm:ss``, the end not before the start; per second
    of the span a box of four finite numbers with a positive size, as a list or as text.
    """
    answer, instances = value.get("answer_choice"), value.get("instances")
    if not (isinstance(answer, str) and len(answer) == 1 and answer in letters and isinstance(instances, list)):
        return False
    if len(official.instances) != len(instances):
        return False
    for entry, instance in zip(instances, official.instances, strict=True):
        evidences = entry.get("evidences")
        if not (isinstance(entry.get("instance_name"), str) and isinstance(evidences, list)):
            return False
        if len(evidences) != len(instance.evidences) or not all(map(_is_evidence, evidences, instance.evidences)):
            return False
    return True


def _is_evidence(entry: dict[Any, Any], official: Evidence) -> bool:
    per_second = entry.get("bboxes_in_time_range")
    times = (entry.get("evidence_start_time"), entry.get("evidence_end_time"))
    return (
        isinstance(entry.get("evidence_rationale"), str)
        and isinstance(per_second, dict)
        and len(official.boxes) == len(per_second)
        and all(isinstance(time, str) and is_clock(time) for time in (*times, *per_second))
        and official.start <= official.end
        and all(official.start <= second <= official.end for second in official.seconds)
        and all(map(is_finite, official.boxes))
    )


def _read_object(found: AnswerObject | None, text: str) -> EvidenceAnswer:
    value = found.value if found else {}
    answer, instances = value.get("answer_choice"), value.get("instances")
    letter = answer.strip().upper() if isinstance(answer, str) else ""
    return EvidenceAnswer(
        letter if len(letter) == 1 and "A" <= letter <= "Z" else None,
        tuple(_official_instance(entry) for entry in instances if isinstance(entry, dict))
        if isinstance(instances, list)
        else (),
        text,
        found,
    )


def _official_instance(entry: dict[Any, Any]) -> EvidenceInstance:
    name = entry.get("instance_name") or entry.get("instance") or entry.get("instance_id")
    evidences = entry.get("evidences")
    return EvidenceInstance(
        name if isinstance(name, str) else "",
        tuple(_official_evidence(evidence) for evidence in evidences if isinstance(evidence, dict))
        if isinstance(evidences, (list, tuple))
        else (),
    )


def _official_evidence(entry: dict[Any, Any]) -> Evidence:
    per_second = entry.get("bboxes_in_time_range")
    boxes = per_second.items() if isinstance(per_second, dict) else ()
    start, end = official_key(entry.get("evidence_start_time")), official_key(entry.get("evidence_end_time"))
    return _evidence(start[1], end[1], {official_key(second): box for second, box in boxes})


def _evidence(start: int, end: int, keyed: dict[Key, Any]) -> Evidence:
    boxes = [(second, box) for (_, second), value in keyed.items() if (box := official_box(value)) is not None]
    return Evidence(start, end, tuple(second for second, _ in boxes), tuple(box for _, box in boxes))


def _diagnose(read: EvidenceAnswer, letters: str) -> Diagnosis:
    if read.found is None or read.found.too_long:
        why = f"the broken answer object has more than {MAX_REPAIR:,} characters and was not repaired"
        letter = _read_letter(read.text, letters)
        return Diagnosis(letter, json_valid=False, schema_valid=False, unread=why if read.found else "")
    value, strict = read.found.value, read.found.strict
    if strict and _follows_schema(value, read, letters):
        return Diagnosis(read.answer, json_valid=True, schema_valid=True)
    choices = (value[key] for key in _ANSWER_KEYS if value.get(key) is not None)
    return Diagnosis(_read_letter(next(choices, None), letters), json_valid=strict, schema_valid=False)


def _read_letter(value: object, letters: str) -> str | None:
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    # The options' texts are not known here: only their letters can be read.
    return read_choice(value, [""] * len(letters)) if isinstance(value, str) else None
