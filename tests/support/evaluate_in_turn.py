"""Evaluations one after the other in this process: `python evaluate_in_turn.py PREDICTIONS OUT NAME…`.

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

EVALUATIONS: dict[str, tuple[list[str], dict[str, str]]] = {
    "as written": (["cast_bench", "causalvqa_debug_paired"], {}),
    "otherwise": (
        ["mvp_mini", "yocausal_vlm", "cast_bench"],
        {"LMMS_EVAL_TASKS_PROMPT": "mcq_letter", "LMMS_EVAL_TASKS_BOXES": "yxyx_px"},
    ),
}
"""Name to tasks and environment."""


def evaluate(name: str, predictions: str) -> dict[str, Any]:
    """What one evaluation of saved responses gives."""
    tasks, environment = EVALUATIONS[name]
    os.environ.update(environment)
    arguments = f"predictions={predictions},missing=unparsed"
    results = simple_evaluate("replay", model_args=arguments, tasks=tasks, log_samples=True, bootstrap_iters=0)
    for variable in environment:
        del os.environ[variable]
    card = gather(results, results.evaluation)
    return {
        "scores": results["results"],
        "records": {task: [sample["record"] for sample in samples] for task, samples in results["samples"].items()},
        "card": {section: fields for section, fields in card.items() if section.startswith("task ")},
    }


if __name__ == "__main__":
    given = {name: evaluate(name, sys.argv[1]) for name in sys.argv[3:]}
    Path(sys.argv[2]).write_text(json.dumps(given, default=str), encoding="utf-8")
