"""Runs as the hooks and the host leave them, made without the host: its sample logs, and the hooks' own files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from task_states import docs_of, end_task, task_state

from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.mvp.benchmark import SUBSETS

MVP_MINI = tuple(f"mvp_mini_{subset}" for subset in SUBSETS)
FILES = {
    ("causalvqa", ""): "submissions/causalvqa_test.jsonl",
    ("mvp", ""): "mvp_mini_submission.jsonl",
    ("mvp", "temporal_reasoning"): "submissions/mvp_mini_temporal_reasoning_valid.jsonl",
    ("intphys2", ""): "submissions/intphys2_heldout.jsonl",
    ("cast_bench", ""): "submissions/cast_bench_predictions.jsonl",
    ("cast_bench", "metrics"): "submissions/cast_bench_metrics.json",
    ("yocausal", ""): "submissions/yocausal_results.json",
}
"""Benchmark and part to the file that a run writes at its end."""
Answer = Callable[[Mapping[str, Any]], object]


def write_hook_run(
    out: Path, said: Mapping[str, Answer], limit: int | None = None, date: str = "20261122", model: str = ""
) -> Path:
    """A run's output folder, with the files that its hooks write at its end.

    `said` is each task's answer to a row of its table; `limit` and `model` are as on the command line. Without a model
    the hooks know of none, and the results name `replay`.
    """
    evaluation = Evaluation(clips_needed=False)
    out.mkdir(parents=True, exist_ok=True)
    args = SimpleNamespace(output_path=str(out), model=model)
    for task, answer in said.items():
        state = task_state(task, evaluation)
        logged = [state.process_results(doc, [answer(doc)]) for doc in docs_of(state)[:limit]]
        lines = [json.dumps(values, ensure_ascii=False) + "\n" for values in logged]
        (out / f"{date}_samples_{task}.jsonl").write_text("".join(lines), encoding="utf-8")
        if state.submits:
            end_task(state, logged, args)
    config = {"model": model or "replay", "model_args": "", "limit": limit}
    results = {"configs": {task: {} for task in said}, "group_subtasks": {}, "versions": {}, "config": config}
    (out / f"{date}_results.json").write_text(json.dumps(results), encoding="utf-8")
    return out
