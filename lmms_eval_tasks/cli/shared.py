"""What `humans` shows of runs beside people."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.report.people import INTERVALS, OF_CONSISTENCY, OF_DIFFICULTY, Asked, share_tasks
from lmms_eval_tasks.utils.core.output import Output
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.stats.human_responses import Key, Response


def show_shared(
    output: Output, responses: Sequence[Response], asked: Asked, runs: Sequence[Run], task: str = ""
) -> None:
    """Show what people and runs share, for each task or group of the runs; arguments and errors as of `share_tasks`."""
    numbered = dict(enumerate(runs, start=1))
    shared = share_tasks(responses, asked, numbered, task)
    for number, run in numbered.items():
        output.note(f"run {number}: {run.title}, {run.path}", whole=True)
    for found in shared:
        if not found.shared.items:
            labels = ", ".join(found.labels)
            output.note(f"\n{found.name}: no item of {labels} that people answered and that has a score")
            continue
        consistency, difficulty = found.tables()
        output.table(consistency, gap=True)
        lines = [
            f"{words}{f' ({summarize_names(opposed.ids)})' if opposed.ids else ''}"
            for words, opposed in found.opposed()
        ]
        difficulty.caption = "\n".join(filter(None, [difficulty.caption, *lines]))
        output.table(difficulty)
    output.note(f"{OF_CONSISTENCY} {OF_DIFFICULTY} {INTERVALS} Formulas: docs/statistics.md.")


def outcomes_by_question(runs: Sequence[Run], asked: Asked, task: str = "") -> dict[str, dict[Key, str]]:
    """What became of each question in each task of each run that has some of them; of one task or group, or of all."""
    found = {}
    for number, run in enumerate(runs, start=1):
        for name in run.groups.get(task, (task,)) if task else run.records:
            outcomes = {record.item_id: record.outcome.value for record in run.records.get(name, ())}
            known = {key: outcomes[one.item_id] for key, one in asked.items() if one.item_id in outcomes}
            if known:
                found[f"run {number}, {name}"] = known
    return found
