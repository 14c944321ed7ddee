"""The evidence of a question as timed descriptions that people may edit."""

from __future__ import annotations

import json

from lmms_eval_tasks.cast_bench.prepare import frame_of
from lmms_eval_tasks.utils.benchmark.benchmark import Row
from lmms_eval_tasks.utils.benchmark.descriptions import TimedDescription
from lmms_eval_tasks.utils.evidence.reader import read_truth


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
