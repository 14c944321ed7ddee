"""The saved answers of a finished run, graded again by the tasks' own hooks over the prepared data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lmms_eval_tasks.host.hooks import state_of
from lmms_eval_tasks.host.loading import load_tasks, task_outputs
from lmms_eval_tasks.host.task_view import UNANSWERED, is_unanswered
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.core.problems import Problems
from lmms_eval_tasks.utils.core.variables import HOME
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.runs.results_file import read_results
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.run_card import TASK
from lmms_eval_tasks.utils.runs.sample_log import LoggedItem
from lmms_eval_tasks.utils.scoring.records import FRAME, GradedItem

FILTER = "none"
"""The host's name for responses that no filter has changed, as none does in our tasks."""
OTHER_DATA = f"Prepare the data that the run was made with, or name its home in {HOME}."


@dataclass(frozen=True)
class RegradedRun:
    """A run's answers, graded again.

    Attributes:
        loaded: Tasks and groups, as the host loads them.
        outputs: Task to the host's holder of what its items bring to each score.
        lines: Task to its logged lines, in their order, with what items bring to each score beside their values.
        notes: What else is to be known, as sentences.
    """

    loaded: dict[Any, Any]
    outputs: Mapping[str, Any]
    lines: Mapping[str, Sequence[tuple[LoggedItem, Mapping[str, Any]]]]
    notes: list[str] = field(default_factory=list)


def regrade(run: Run, names: Sequence[str], tasks: Sequence[str], folder: Path) -> RegradedRun:
    """Grade the answers in a run's sample logs again.

    Args:
        run: The run.
        names: Its groups and single tasks, as the host is to load them.
        tasks: All tasks of these.
        folder: Where files for leaderboards go, should their scores be aggregated; a part of a run has none.

    Raises:
        InputError: where a log holds no answers, or the run's data is not prepared here; every reason is listed.
    """
    logs = _read_logs(run, tasks)
    loaded = load_tasks(list(names), read_results(run.path).config.model)
    regraded = RegradedRun(loaded, task_outputs(loaded), {})
    docs = _find_docs(run, regraded.outputs, logs, regraded.notes)
    lines = {}
    for task in tasks:
        output = regraded.outputs[task]
        output.task.args = SimpleNamespace(output_path=None if run.shard else str(folder), model=run.name)
        state = state_of(output.task)
        if state and state.kind.restore:
            state.kind.restore(state, docs[task], [item.values for item in logs[task]])
        lines[task] = [(item, _grade(output, doc, item)) for doc, item in zip(docs[task], logs[task], strict=True)]
    return RegradedRun(loaded, regraded.outputs, lines, regraded.notes)


def graded_items(run: Run, tasks: Sequence[str], folder: Path) -> list[GradedItem]:
    """The items of some tasks of a run, graded again; arguments and errors as for `regrade`."""
    regraded = regrade(run, tasks, tasks, folder)
    return [
        GradedItem.from_json(json.loads(json.dumps(contributions[SUBMISSION_ROWS])))
        for task in tasks
        for _, contributions in regraded.lines[task]
    ]


def _read_logs(run: Run, tasks: Sequence[str]) -> dict[str, tuple[LoggedItem, ...]]:
    logs = {task: run.items_of(task) for task in tasks}
    problems = Problems()
    for items in logs.values():
        for item in items:
            if not item.responses:
                problems.add(item.where, "Expected filtered_resps with what the model said.")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    return logs


def _find_docs(
    run: Run, outputs: Mapping[str, Any], logs: Mapping[str, Sequence[LoggedItem]], notes: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """The prepared row of each logged item, in the log's order, asked where the model was."""
    problems = Problems()
    docs: dict[str, list[dict[str, Any]]] = {}
    for task, items in logs.items():
        rows = {row["item_id"]: row for row in outputs[task].task.eval_docs}
        missing = [item.record.item_id for item in items if item.record.item_id not in rows]
        known = registry().find_task(task)
        assert known is not None, f"{task} was loaded, and is of no benchmark"
        asked, here = run.set_of(task), read_manifest(known.benchmark.card).splits[known.split]
        if items and not asked.may_share(here.data_set):
            problem = f"Expected {asked.text}, on which it was run, but prepared is {here.data_set.text}."
            problems.add(task, problem, OTHER_DATA)
        elif missing:
            names = f"{len(missing)} of {len(items)} are not in it ({summarize_names(missing)})"
            problems.add(task, f"Expected every item in the prepared data, but {names}.", OTHER_DATA)
        else:
            docs[task] = [_asked_row(rows[item.record.item_id], item) for item in items]
        digest, now = run.card.get(f"{TASK}{task}", {}).get("data sha256"), here.table_sha256
        if digest and digest != now:
            notes.append(f"{task}: the data prepared here is not the run's ({str(digest)[:8]}, here {now[:8]})")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    return docs


def _asked_row(row: Mapping[str, Any], item: LoggedItem) -> dict[str, Any]:
    """A prepared row as it was asked, and where the model gave no answer, why; None says that it gave one."""
    record = item.record
    unanswered = is_unanswered(record, item.responses)
    why = (record.unscored_reason, record.detail) if unanswered else None
    return {**row, "asked": record.asked, UNANSWERED: why}


def _grade(output: Any, doc: Mapping[str, Any], item: LoggedItem) -> Mapping[str, Any]:
    """Grade an item into the host's holder; what it brings to each score."""
    contributions: dict[str, Any] = output.task.process_results(doc, item.responses)
    fields, logged = contributions["record"]["fields"], item.record.fields
    # Only the run knows with which prompt it asked.
    if "prompt" in fields:
        fields["prompt"] = logged.get("prompt")
    if FRAME in logged:
        fields[FRAME] = logged[FRAME]
    for metric, value in contributions.items():
        output.sample_metrics[metric, FILTER].append(value)
    return contributions
