"""Two runs of lmms-eval's command line in one process: `python collected_runs.py TASK OUT NOTES`.

It writes into NOTES, in order, when the garbage collector was enabled, as JSON. Somebody holds the results, as
lmms-eval does where it is given several runs.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

from lmms_eval.__main__ import cli_evaluate
from lmms_eval.models.simple.dummy import Dummy

from lmms_eval_tasks.host.saving import saved

when: list[tuple[str, bool]] = []
held: list[Any] = []
answer, write_scores = Dummy.generate_until, saved.write_scores


def note_answering(self: Any, requests: Any) -> Any:
    when.append(("answering", gc.isenabled()))
    return answer(self, requests)


def note_saving(path: Any, results: Any, samples: Any) -> Any:
    when.append(("saving", gc.isenabled()))
    held.append(results)
    return write_scores(path, results, samples)


if __name__ == "__main__":
    Dummy.generate_until, saved.write_scores = note_answering, note_saving
    task, out, notes = sys.argv[1:]
    for run in ("first", "second"):
        arguments = f"--model dummy --tasks {task} --limit 1 --log_samples --output_path {out}/{run}"
        sys.argv = ["lmms-eval", *arguments.split()]
        cli_evaluate()
        when.append((f"after the {run}, results held", gc.isenabled()))
    held.clear()
    when.append(("results gone", gc.isenabled()))
    Path(notes).write_text(json.dumps(when), encoding="utf-8")
