"""Write the answers of `make real` as data that tests grade: one line an answer, with the prepared row it is about.

    python tools/real_answers.py real/runs/smollm2 tests/finished/real_answers.jsonl

Rows are read from the data home (LMMS_EVAL_TASKS_HOME) that the run used; a row's clip is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.home import read_table


def main(run_folder: Path, out: Path) -> None:
    run = read_run(run_folder)
    lines = []
    for name in sorted(run.tasks_of()):
        task = registry().tasks[name]
        rows = {row["item_id"]: row for row in read_table(task.benchmark.card.name)}
        for item in run.items_of(name):
            lines.append(
                {
                    "task": name,
                    "item": item.record.item_id,
                    "row": rows[item.record.item_id],
                    "response": item.responses[0],
                }
            )
    out.write_text(as_lines(lines), encoding="utf-8")
    print(f"{len(lines)} answers: {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
