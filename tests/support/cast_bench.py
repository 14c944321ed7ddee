"""A CaST-Bench release that a test can spoil before it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

EVIDENCE: dict[str, Any] = {
    "evidence_start_time": "00:00",
    "evidence_end_time": "00:02",
    "evidence_instance_id": "ball_1",
    "evidence_rationale": "It rolls.",
    "SAV_instance_id": "1",
    "bboxes_in_range": {"0": "[0, 0, 20, 20]", "1": "[-1, -1, -1, -1]", "2": [2, 0, 22, 20]},
}
ROW: dict[str, Any] = {
    "video": "sav_000001.mp4",
    "question": "Why does the ball roll?",
    "question_type": "Why (Causal Reasons)",
    "scene_category": "Park",
    "options": {"A": "It was kicked.", "B": "It was thrown.", "C": "The wind blew.", "D": "The ground tilts."},
    "answer": "B",
    "evidence": json.dumps([EVIDENCE]),
}


def row(*evidences: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """One released question; of `evidences` each changes the good one."""
    evidence = json.dumps([{**EVIDENCE, **each} for each in evidences]) if evidences else ROW["evidence"]
    return {**ROW, "evidence": evidence, **changes}


def write_release(folder: Path, rows: Sequence[object]) -> Path:
    """Write rows as `castbench_hf.jsonl`; a text or bytes is a line as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in rows]
    (folder / "castbench_hf.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return folder / "castbench_hf.jsonl"


def answer_with_truth(released: Mapping[str, Any]) -> str:
    """A response that repeats a question's true evidence."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for entry in json.loads(released["evidence"]):
        boxes = entry.get("bboxes_in_range") or {}
        grouped.setdefault(entry["evidence_instance_id"], []).append({**entry, "bboxes_in_time_range": boxes})
    instances = [{"instance_name": name, "evidences": evidences} for name, evidences in grouped.items()]
    return json.dumps({"instances": instances, "answer_choice": released["answer"]})
