"""The right answers to questions of Worlds, in the form that each task asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def answer_with_truth(row: Mapping[str, Any]) -> str:
    """A response that repeats a question's true evidence."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for entry in json.loads(row["evidence"]):
        boxes = entry.get("bboxes_in_range") or {}
        grouped.setdefault(entry["evidence_instance_id"], []).append({**entry, "bboxes_in_time_range": boxes})
    instances = [{"instance_name": name, "evidences": evidences} for name, evidences in grouped.items()]
    return json.dumps({"instances": instances, "answer_choice": row["answer"]})


def oracle(row: Mapping[str, Any]) -> str:
    """The right answer to a row of the prepared table: a letter, yes or no, or a letter with its evidence."""
    if row["subset"] == "evidence":
        return answer_with_truth(row)
    if row["subset"] in ("counterfactual", "possible"):
        return "Yes." if row["answer"] in ("yes", "A") else "No."
    return f"({row['answer']})"
