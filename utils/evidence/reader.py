"""Evidence for an answer, typed: what a model answered, read in two ways, and what the release says is true.

The *official* reading follows the evaluator of CaST-Bench rule for rule and is where scores come from. The *diagnostic*
reading takes what a careful reader would and only tells how much was lost to format. Neither raises on any text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.utils.evidence.boxes import Box, is_finite, official_box
from lmms_eval_tasks.utils.evidence.repair import lenient_boxes, lenient_field, lenient_letter, lenient_list
from lmms_eval_tasks.utils.evidence.text import Found, first_answer, last_answer
from lmms_eval_tasks.utils.evidence.timestamps import (
    Key,
    is_clock,
    official_key,
    official_keys,
    official_seconds,
    official_truth_keys,
    read_seconds,
)

EXTRACTOR = "evidence reader 1"
"""Name and version of the official reading, for a run's card: the version moves when it reads any answer otherwise."""
LETTERS = "ABCDEF"
"""The letters of a question with six options, the most that CaST-Bench has."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One span of time in which an instance can be seen.

    Attributes:
        start: First second.
        end: Last second, inclusive.
        seconds: Second of each box, in the order of the answer. As models write them, some may lie outside the span or
            occur twice.
        boxes: The boxes, in the convention in which they were written.
        rationale: Why it is evidence.
    """

    start: int
    end: int
    seconds: tuple[int, ...]
    boxes: tuple[Box, ...]
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class Instance:
    """A person or thing in a clip, with the evidence about it."""

    name: str
    evidences: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a response says.

    Attributes:
        answer: Upper-case letter, None where none can be read.
        instances: In the order of the answer.
        found: Whether the response has an answer object at all.
    """

    answer: str | None
    instances: tuple[Instance, ...]
    found: bool = True


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a careful reader gets from a response, and in which shape it was.

    Attributes:
        prediction: The last answer object, mended, with times as they are meant.
        json_valid: Whether that object is JSON as it stands (code fences and prose around it do no harm).
        schema_valid: Whether it also has the keys, types, times and boxes that the prompt asks for.
        recoverable: Whether an answer letter can be read, from an object or from plain words.
    """

    prediction: Prediction
    json_valid: bool
    schema_valid: bool
    recoverable: bool


NOTHING = Prediction(None, (), found=False)


def read_official(text: str) -> Prediction:
    """Read a response as the official evaluator does.

    The first object with ``instances`` or ``answer_choice``; an answer of one letter A-Z after trimming, in either
    case; times as in `timestamps.official_key`; boxes as in `boxes.official_box`; evidence without times spans 0-0.
    Where that code stops with an exception (``"evidences": 5``, a time of 5,000 digits), the part counts as missing.

    Source: CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`.
    """
    found = first_answer(text)
    return _official_prediction(found.value) if found else NOTHING


def read_diagnostic(text: str, letters: str = LETTERS) -> Diagnosis:
    """Read a response as a careful reader would; `letters` are those of the question's options."""
    return read_both(text, letters)[1]


def read_both(text: str, letters: str = LETTERS) -> tuple[Prediction, Diagnosis]:
    """`read_official` and `read_diagnostic` of one response, its text parsed once where one parse serves both."""
    found = first_answer(text)
    official = _official_prediction(found.value) if found else NOTHING
    if found and found.last and found.strict:
        return official, _diagnose(found, official, text, letters)
    last = last_answer(text)
    return official, _diagnose(last, _official_prediction(last.value) if last else NOTHING, text, letters)


def read_truth(evidence: str | Sequence[dict[str, Any]]) -> tuple[Instance, ...]:
    """The true instances of one released question, grouped by instance id in order of first appearance.

    Args:
        evidence: The row's ``evidence``: JSON inside a string, or the list itself.

    Raises:
        ValueError: where the official code stops at it, or a box is not finite.

    Source: ``load_gt_hf_jsonl`` of CaST-Bench-Evaluation@a216491.
    """
    entries = json.loads(evidence) if isinstance(evidence, str) else evidence
    grouped: dict[str, list[Evidence]] = {}
    try:
        for entry in entries or []:
            name = entry.get("evidence_instance_id") or entry.get("instance_id") or ""
            per_second = entry.get("bboxes_in_range") or entry.get("bboxes_in_time_range") or {}
            keyed = dict(zip(official_truth_keys(per_second), per_second.values(), strict=True))
            start, end = entry.get("evidence_start_time", "00:00"), entry.get("evidence_end_time", "00:00")
            grouped.setdefault(name, []).append(_evidence(official_seconds(start), official_seconds(end), keyed, entry))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"Expected a list of evidence objects but got {evidence!r:.200}.") from error
    instances = tuple(Instance(str(name), tuple(evidences)) for name, evidences in grouped.items())
    if not all(map(is_finite, _boxes(instances))):
        raise ValueError("Expected finite boxes but got one with NaN or infinity.")
    return instances


def mean_box_area(instances: Iterable[Instance]) -> float:
    """Mean area of all boxes, in the square of their unit; 0 where there is none.

    Source: ``compute_avg_gt_bbox_area`` of the official `evaluate_benchmark.py`, by which it tells questions about
    small things from those about large ones.
    """
    areas = [(x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in _boxes(instances)]
    return sum(areas) / len(areas) if areas else 0.0


def _follows_schema(value: dict[Any, Any], official: Prediction, letters: str) -> bool:
    """Whether an answer object has the form that the prompt asks for, so that both readings of it are the same.

    One of `letters`; instances with a name and evidences; times ``mm:ss``, the end not before the start; per second
    of the span a box of four finite numbers with a positive size, as a list or as text.

    Args:
        value: The object.
        official: Its official reading.
        letters: Letters of the question's options.
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


def _official_prediction(value: dict[Any, Any]) -> Prediction:
    answer = value.get("answer_choice")
    letter = answer.strip().upper() if isinstance(answer, str) else ""
    instances = value.get("instances")
    return Prediction(
        letter if len(letter) == 1 and "A" <= letter <= "Z" else None,
        tuple(map(_official_instance, (entry for entry in instances if isinstance(entry, dict))))
        if isinstance(instances, list)
        else (),
    )


def _official_instance(entry: dict[Any, Any]) -> Instance:
    evidences = entry.get("evidences")
    return Instance(
        _string(entry.get("instance_name") or entry.get("instance") or entry.get("instance_id")),
        tuple(_official_evidence(evidence) for evidence in evidences if isinstance(evidence, dict))
        if isinstance(evidences, (list, tuple))
        else (),
    )


def _official_evidence(entry: dict[Any, Any]) -> Evidence:
    per_second = entry.get("bboxes_in_time_range")
    keyed: dict[Key, Any] = {}
    if isinstance(per_second, dict):
        keyed = dict(zip(official_keys(per_second), per_second.values(), strict=True))
    start, end = official_key(entry.get("evidence_start_time")), official_key(entry.get("evidence_end_time"))
    return _evidence(start[1], end[1], keyed, entry)


def _evidence(start: int, end: int, keyed: dict[Key, Any], entry: dict[Any, Any]) -> Evidence:
    boxes = list(map(official_box, keyed.values()))
    seconds = [second for _, second in keyed]
    if None in boxes:
        seconds = [second for second, box in zip(seconds, boxes, strict=True) if box is not None]
    kept = [box for box in boxes if box is not None]
    return Evidence(start, end, tuple(seconds), tuple(kept), _string(entry.get("evidence_rationale")))


def _diagnose(found: Found | None, official: Prediction, text: str, letters: str) -> Diagnosis:
    if found is None:
        letter = lenient_letter(text, letters)
        return Diagnosis(Prediction(letter, (), found=False), False, False, letter is not None)
    value = found.value
    if found.strict and _follows_schema(value, official, letters):
        return Diagnosis(official, json_valid=True, schema_valid=True, recoverable=True)
    prediction = Prediction(
        lenient_letter(lenient_field(value, "answer"), letters),
        tuple(map(_lenient_instance, lenient_list(lenient_field(value, "instances")))),
    )
    return Diagnosis(prediction, found.strict, False, prediction.answer is not None)


def _lenient_instance(entry: dict[Any, Any]) -> Instance:
    evidences = map(_lenient_evidence, lenient_list(lenient_field(entry, "evidences")))
    return Instance(_string(lenient_field(entry, "name")), tuple(filter(None, evidences)))


def _lenient_evidence(entry: dict[Any, Any]) -> Evidence | None:
    """One evidence with times as they are meant, None where it has no span."""
    start, end = read_seconds(lenient_field(entry, "start")), read_seconds(lenient_field(entry, "end"))
    if start is None or end is None or end < start:
        return None
    boxes = tuple(lenient_boxes(lenient_field(entry, "boxes"), start, end))
    return Evidence(
        start,
        end,
        tuple(second for second, _ in boxes),
        tuple(box for _, box in boxes),
        _string(lenient_field(entry, "rationale")),
    )


def _boxes(instances: Iterable[Instance]) -> list[Box]:
    return [box for instance in instances for evidence in instance.evidences for box in evidence.boxes]


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
