"""The right answers to questions of Worlds, in the form that each task asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lmms_eval_tasks.api.evidence import read_truth


def oracle(row: Mapping[str, Any]) -> str:
    """The right answer to a row of the prepared table: a letter, yes or no, or a letter with its evidence."""
    if row["subset"] == "counterfactual":
        return "Yes." if row["answer"] == "yes" else "No."
    if row["subset"] == "possible":
        return "Yes" if row["answer"] == "A" else "No"
    if row["subset"] != "evidence":
        return f"({row['answer']})"
    instances = [
        {
            "instance_name": instance.name,
            "evidences": [
                {
                    "evidence_start_time": f"00:{evidence.start:02d}",
                    "evidence_end_time": f"00:{evidence.end:02d}",
                    "evidence_rationale": "It is there.",
                    "bboxes_in_time_range": {
                        f"00:{second:02d}": list(box)
                        for second, box in zip(evidence.seconds, evidence.boxes, strict=True)
                    },
                }
                for evidence in instance.evidences
            ],
        }
        for instance in read_truth(row["evidence"])
    ]
    return json.dumps({"instances": instances, "answer_choice": row["answer"]})
