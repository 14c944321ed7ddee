"""Small runs of one task each, as lmms-eval leaves them, to be spoilt."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hook_runs import Answer, write_hook_run, write_results
from model_output import JudgedEvaluation
from submission_world import EVERY, choose
from task_states import task_state
from version_gate import EXAMPLES as FILES

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.examples import read_examples

ANSWERS: dict[str, Answer] = {
    **{task: answer for task, answer in EVERY.items() if not task.startswith("mvp_")},
    "mvp_mini_temporal_reasoning": EVERY["mvp_mini_temporal_reasoning"],
    "yocausal_vlm": choose("A"),
    "cast_bench_open": lambda doc: "Answer: It was pushed.\nReasoning: It moves.",
}
"""One task of every kind that has a small release in `submission_world`, answered."""
EXAMPLES = 9
"""So many runs over a benchmark's recorded examples are enough."""
JUDGED = {
    "scores": dict.fromkeys(DIMENSIONS, 5.0),
    "judge": {"model": "m", "prompt": "p:1", "consistency_prompt": "c:1"},
}
CARD = {
    "task t": {"version": "1-A", "data sha256": "ab", "prompt": "p"},
    "model": {"name": "m", "checkpoint": None},
    "frames": {"frames": 16},
    "run": {"limit": "none"},
    "software": {"torch": "2"},
    "not known": {"model.checkpoint": "it has none"},
}


def log_form(task: str) -> tuple[str, object]:
    """What the logged records of a task look like: its benchmark, and the form that it declares."""
    known = registry().tasks[task]
    return known.benchmark.name, known.kind.log_form


def tasks_of_other_forms() -> Iterator[str]:
    """A task of every form of logged records that none of the answered ones has."""
    forms = {log_form(task) for task in ANSWERS}
    for name, task in registry().tasks.items():
        if task.benchmark.folder.parent.name == "lmms_eval_tasks" and log_form(name) not in forms:
            forms.add(log_form(name))
            yield name


TASKS = (*ANSWERS, *tasks_of_other_forms())


def write_example_run(out: Path, task: str) -> None:
    """A run of a task over recorded examples of its benchmark, those first to which a judge replies."""
    _, known = read_examples(FILES / f"{log_form(task)[0]}.json")
    examples = sorted(known, key=lambda example: not example.reply)[:EXAMPLES]
    logged: dict[str, Any] = {}
    for example in examples:
        state = task_state(task, JudgedEvaluation(example.reply))
        for row, response in example.items:
            logged.setdefault(row["item_id"], state.process_results(row, [response]))
    out.mkdir(parents=True)
    log = out / f"20261122_samples_{task}.jsonl"
    log.write_text("".join(json.dumps(values) + "\n" for values in logged.values()), encoding="utf-8")
    write_results(out, [task])


def write_whole_run(out: Path, task: str) -> Path:
    """A run's output folder with all that lmms-eval writes which we read: results, counts, a card, and responses."""
    if task in ANSWERS:
        write_hook_run(out, {task: ANSWERS[task]})
    else:
        write_example_run(out, task)
    shutil.rmtree(out / "submissions", ignore_errors=True)
    for file in out.glob("mvp_*"):
        file.unlink()
    (log,) = out.glob("*_samples_*.jsonl")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line |= {"doc_id": 0, "filtered_resps": "A", "input": "?"}
        if task == "cast_bench_open":
            line["record"] |= {"outcome": "correct", "unscored_reason": None}
            line["record"]["fields"] |= JUDGED
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (file,) = out.glob("*_results.json")
    results: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    results |= {
        "results": {task: {"alias": task, "score,none": 1.0}},
        "group_subtasks": {"group": [task]},
        "versions": {task: registry().tasks[task].version},
        "higher_is_better": {task: {"score": True}},
        "n-samples": {task: {"original": len(lines), "effective": len(lines)}},
    }
    results["config"] |= {"bootstrap_iters": 0, "offset": 0, "model_args": "pretrained=org/model"}
    file.write_text(json.dumps(results), encoding="utf-8")
    card = file.with_name(file.name.replace("_results", "_run_card"))
    card.write_text(json.dumps(CARD), encoding="utf-8")
    return out
