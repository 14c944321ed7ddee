"""Evaluations one after the other in one process, and each in a process of its own: `python evaluate_in_turn.py
PREDICTIONS OUT`.

It writes what each gave as JSON: scores, records, and what the run card says of its tasks. The processes are forks of
one that has imported lmms-eval but has evaluated nothing, as the imports take longer than the evaluations.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_eval.evaluator import simple_evaluate
from warm_host import read_own_tasks

from lmms_eval_tasks.host.saving import gather

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


def evaluate_in_turn(names: Sequence[str], predictions: str, out: Path) -> int:
    """Start a process that evaluates one after the other; its number."""
    process = os.fork()
    if process == 0:
        try:
            given = {name: evaluate(name, predictions) for name in names}
            out.write_text(json.dumps(given, default=str), encoding="utf-8")
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return process


if __name__ == "__main__":
    read_own_tasks()
    predictions, folder = sys.argv[1], Path(sys.argv[2])
    runs = {"both": tuple(EVALUATIONS), **{name: (name,) for name in EVALUATIONS}}
    started = [evaluate_in_turn(names, predictions, folder / f"{run}.json") for run, names in runs.items()]
    statuses = [os.waitpid(process, 0)[1] for process in started]
    sys.exit(any(statuses))
