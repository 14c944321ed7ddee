"""Write the answers of `make real` as data that a test grades: a line for each, with the prepared row it is about.

LMMS_EVAL_TASKS_HOME=real/home python tools/real_answers.py real/runs/smollm2 tests/real/answers.jsonl
"""

from __future__ import annotations

import sys
from pathlib import Path

from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.core.forms import as_lines


def main(folder: Path, out: Path) -> None:
    run, evaluation = read_run(folder), Evaluation(clips_needed=False)
    lines = []
    for name in sorted(run.tasks_of()):
        task = registry().find_task(name)
        if task is None:
            continue
        rows = {row["item_id"]: row for row in evaluation.open_items(task.pointer)}
        for item in run.items_of(name):
            row = {**rows[item.record.item_id], "sample": True}
            lines.append(
                {
                    "task": name,
                    "row": row,
                    "prompt": run.card.get(f"task {name}", {}).get("prompt", ""),
                    "response": item.responses[0],
                    "cut_off": item.record.ran_out,
                }
            )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(as_lines(lines), encoding="utf-8")
    print(f"{len(lines)} answers: {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
