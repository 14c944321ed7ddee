"""Evaluations one after the other in this process: `python evaluate_in_turn.py OUT NAME…`.

It writes what each gave as JSON: scores, records, and what the run card says of its tasks.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from lmms_eval.evaluator import simple_evaluate

from lmms_eval_tasks.host.run_card import gather
from lmms_eval_tasks.models.base import Request, RequestModel

EVALUATIONS: dict[str, tuple[list[str], dict[str, str]]] = {
    "as written": (["cast_bench", "causalvqa_debug_paired"], {}),
    "otherwise": (
        ["mvp_mini", "yocausal_vlm", "cast_bench"],
        {"LMMS_EVAL_TASKS_PROMPT": "mcq_letter", "LMMS_EVAL_TASKS_BOXES": "yxyx_px"},
    ),
}
"""Name to tasks and environment."""


class Repeater(RequestModel):
    """Answers (B), and with the true evidence where there is some."""

    def answer(self, request: Request) -> str:
        """The answer to one request."""
        if request.task != "cast_bench":
            return "(B)"
        grouped: dict[str, list[Any]] = {}
        for entry in json.loads(request.doc["evidence"]):
            boxes = {f"00:{int(second):02}": box for second, box in entry["bboxes_in_range"].items()}
            evidence = {**entry, "bboxes_in_time_range": boxes}
            grouped.setdefault(entry["evidence_instance_id"], []).append(evidence)
        instances = [{"instance_name": name, "evidences": evidences} for name, evidences in grouped.items()]
        return json.dumps({"instances": instances, "answer_choice": "B"})


def evaluate(name: str) -> dict[str, Any]:
    """What one evaluation gives."""
    tasks, environment = EVALUATIONS[name]
    os.environ.update(environment)
    results = simple_evaluate(Repeater(), tasks=tasks, log_samples=True, bootstrap_iters=0)
    for variable in environment:
        del os.environ[variable]
    card = gather(results, results.evaluation)
    return {
        "scores": results["results"],
        "records": {task: [sample["record"] for sample in samples] for task, samples in results["samples"].items()},
        "card": {section: fields for section, fields in card.items() if section.startswith("task ")},
    }


if __name__ == "__main__":
    given = {name: evaluate(name) for name in sys.argv[2:]}
    Path(sys.argv[1]).write_text(json.dumps(given, default=str), encoding="utf-8")
