"""Evidence for an answer, typed: what a model answered, read in two ways, and what the release says is true.

The *official* reading follows the evaluator of CaST-Bench rule for rule, and scores come from it. The *diagnostic*
reading takes the answer that a careful reader would, and shows how much was lost to format. Neither raises on any text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.utils.answers.reader import read_choice
from lmms_eval_tasks.utils.core.wording import quote
from lmms_eval_tasks.utils.evidence.boxes import is_finite, official_box
from lmms_eval_tasks.utils.evidence.instances import Evidence, EvidenceInstance
from lmms_eval_tasks.utils.evidence.text import MAX_ANSWER, AnswerObject, first_answer, last_answer
from lmms_eval_tasks.utils.evidence.timestamps import (
    LAST_SECOND,
    Key,
    is_clock,
    official_key,
    official_seconds,
    official_truth_key,
)

EVIDENCE_READER = "evidence reader 1"
"""Name and version of the official reading, for a run's card: the version moves when it reads any answer otherwise."""
_ANSWER_KEYS = ("answer_choice", "answer", "choice", "final_answer")
"""Keys under which models give their choice."""


@dataclass(frozen=True)
class Diagnosis:
    """The answer that a careful reader gets from a response, and its form."""

    answer: str | None
    json_valid: bool
    schema_valid: bool


@dataclass(frozen=True)
class EvidenceAnswer:
    """What a response says, in the official reading.

    Attributes:
        answer: Upper-case letter, None where none can be read.
        instances: In the order of the answer.
        text: The response.
        found: The answer object that was read; None where there is none.
    """

    answer: str | None
    instances: tuple[EvidenceInstance, ...]
    text: str
    found: AnswerObject | None

    @property
    def unread(self) -> str:
        """Why an answer object was not read; empty where none was left."""
        if self.found is None or not self.found.too_long:
            return ""
        return f"the answer object has more than {MAX_ANSWER:,} characters and was not read"

    def diagnose(self, letters: str) -> Diagnosis:
        """The diagnostic reading of the same response."""
        if self.unread:
            ends = f"{self.text[:MAX_ANSWER]}\n{self.text[-MAX_ANSWER:]}"
            return Diagnosis(_read_letter(ends, letters), json_valid=False, schema_valid=False)
        if self.found and self.found.last and self.found.strict:  # one parse serves both
            return _diagnose(self, letters)
        return _diagnose(_read_object(last_answer(self.text), self.text), letters)


def read_evidence_answer(text: str) -> EvidenceAnswer:
    """Read a response as the official evaluator does; no text raises an error.

    It takes the first object with ``instances`` or ``answer_choice``; an answer of one letter A-Z after trimming, in
    either case; times as in `timestamps.official_key`; boxes as in `boxes.official_box`; evidence without times spans
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
    if not all(is_finite(box) for instance in instances for one in instance.evidences for box in one.boxes):
        raise ValueError("Expected finite boxes but got one with NaN or infinity.")
    return instances


def _follows_schema(value: dict[Any, Any], official: EvidenceAnswer, letters: str) -> bool:
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


def _read_object(found: AnswerObject | None, text: str) -> EvidenceAnswer:
    """What an answer object of a response says."""
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
    if read.found is None:
        return Diagnosis(_read_letter(read.text, letters), json_valid=False, schema_valid=False)
    value, strict = read.found.value, read.found.strict
    if strict and _follows_schema(value, read, letters):
        return Diagnosis(read.answer, json_valid=True, schema_valid=True)
    choices = (value[key] for key in _ANSWER_KEYS if value.get(key) is not None)
    return Diagnosis(_read_letter(next(choices, None), letters), json_valid=strict, schema_valid=False)


def _read_letter(value: object, letters: str) -> str | None:
    """The one option letter that a text, or a list of one text, states; None where it states none of `letters`."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    # The options' texts are not known here: only their letters can be read.
    return read_choice(value, [""] * len(letters)) if isinstance(value, str) else None
