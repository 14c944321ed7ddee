"""Small runs of one task each, as lmms-eval leaves them, and every way to spoil a value or a file of them."""

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


def _tasks() -> Iterator[str]:
    """The answered tasks, and one of every other form of logged records."""
    yield from ANSWERS
    forms = {log_form(task) for task in ANSWERS}
    for name, task in registry().tasks.items():
        if task.benchmark.folder.parent.name == "lmms_eval_tasks" and log_form(name) not in forms:
            forms.add(log_form(name))
            yield name


TASKS = tuple(_tasks())


def write_example_run(out: Path, task: str) -> None:
    """A run of a task over recorded examples of its benchmark, those first to which a judge replies."""
    _, known = read_examples(FILES / f"{log_form(task)[0]}.json")
    logged: dict[str, Any] = {}
    for example in sorted(known, key=lambda example: not example.reply)[:EXAMPLES]:
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
    file.with_name(file.name.replace("_results", "_run_card")).write_text(json.dumps(CARD), encoding="utf-8")
    return out


DEEP, DEEPER = "[" * 400 + "]" * 400, "[" * 100_000
WRONG = (
    "null", "true", "-1", "0", "7.5", "1e308", "NaN", "-Infinity", "9" * 400, '""', '"x"', '"\\ud800"', '"\\u001b[2J"',
    "[]", '["x"]', "[null]", "{}", '{"x": 1}', '{"x": {"y": []}}', DEEP,
)  # fmt: skip
"""JSON texts, most of which fit most fields badly."""
BYTES = ("\udcff", "\ufeff", "\x00", "\n", DEEPER, "{}", "[]", "7", '{"record": 7}', '{"record": {}}')


def run_mutations(run: Path) -> Iterator[list[Any]]:
    """Every mutation of a run's folder, which holds one results file, a card and sample logs, as `mutate` takes it."""
    for file in sorted(path for path in run.rglob("*.json*") if path.parent == run):
        name, text = file.relative_to(run.parent).as_posix(), file.read_text(encoding="utf-8")
        is_lines = file.suffix == ".jsonl"
        if not is_lines:
            yield ["set raw json", name, "", DEEP]
        # Of JSON lines the first, as the one line of a list.
        for where in _paths([json.loads(text.split("\n")[0])] if is_lines else json.loads(text)):
            yield ["delete json", name, where]
            yield from (["set raw json", name, where, wrong] for wrong in WRONG)
        yield from (["truncate", name, share] for share in (0.0, 0.3, 0.999))
        yield from ([way, name, content] for way in ("append", "write") for content in BYTES)
        yield from ([["delete", name], ["folder", name], ["fifo", name], ["symlink", name, "/dev/zero"]])


def _paths(value: Any, before: tuple[str, ...] = ()) -> Iterator[str]:
    """The paths of all values in a JSON value but the whole; those with a dot in a name are left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        if "." not in str(key):
            path = (*before, str(key))
            yield ".".join(path)
            yield from _paths(part, path)
