"""What people are asked: to put descriptions of a clip right, and to revise a question with its options and evidence.

Source: CaST-Bench, supplement, 10.3 (descriptions; who is too small or too blurred is skipped) and 10.6 (last review).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from string import ascii_uppercase

from lmms_eval_tasks.api import AskedItem, Inquiry, OfferedChoice, Row
from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.api.people import TimedDescription
from lmms_eval_tasks.cast_bench.prepare import frame_of


def read_descriptions(row: Row) -> tuple[TimedDescription, ...]:
    """The evidence of a prepared row in its released order; without boxes where the size of its frames is not known."""
    frame = frame_of(row)
    described = []
    for entry in json.loads(row["evidence"]):
        (instance,) = read_truth([entry])
        (evidence,) = instance.evidences
        boxes = {}
        if frame is not None:
            width, height = frame
            for second, (left, top, right, bottom) in zip(evidence.seconds, evidence.boxes, strict=True):
                boxes[second] = (left / width, top / height, right / width, bottom / height)
        text = str(entry.get("evidence_rationale") or "")
        described.append(TimedDescription(instance.name, evidence.start, evidence.end, text, boxes))
    return tuple(described)


def wording_of(video: str, question: str, options: Sequence[str], answer: str | None, evidence: str) -> str:
    """Return a digest that changes with any text, the key or any time of a question, so that revisions are never
    confused."""
    names = ("evidence_instance_id", "evidence_start_time", "evidence_end_time", "evidence_rationale")
    pieces = [[entry.get(name) for name in names] for entry in json.loads(evidence)]
    content = json.dumps([video, question, list(options), answer, pieces])
    return hashlib.sha256(content.encode("ascii")).hexdigest()[:16]


def _version(row: Row) -> str:
    video = PurePosixPath(row["clip"]).name
    return wording_of(video, row["question"], row["options"], row["answer"], row["evidence"])


def _described(version: Callable[[Row], str]) -> Callable[[Sequence[Row]], list[AskedItem]]:
    def ask(rows: Sequence[Row]) -> list[AskedItem]:
        return [
            AskedItem(
                item=row["item_id"],
                item_id=row["item_id"],
                question=row["question"],
                ways={version(row): (row["clip"],)},
                choices=tuple(
                    OfferedChoice(letter, letter, text)
                    for letter, text in zip(ascii_uppercase, row["options"], strict=False)
                ),
                key=row["answer"] or "",
                descriptions=read_descriptions(row),
            )
            for row in rows
        ]

    return ask


INQUIRIES = {
    "edit": Inquiry("descriptions", _described(lambda row: "")),
    "revise": Inquiry("revision", _described(_version)),
}
