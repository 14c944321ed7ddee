"""Runs of the tasks of this installation, read back from their output folders."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.data_set import UNKNOWN_SET
from lmms_eval_tasks.utils.benchmark.tasks import Task, read_pointer
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.wording import describe
from lmms_eval_tasks.utils.runs.results_file import (
    RESULTS,
    CutShort,
    ResultsFile,
    card_path,
    list_runs,
    read_results,
    results_files,
    sample_log,
)
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.run_card import Sections, read_run_card
from lmms_eval_tasks.utils.runs.sample_log import LoggedItem, SampleLog, read_sample_log
from lmms_eval_tasks.utils.scoring.log_forms import LogLine

INCOMPLETE = "--allow-incomplete reads the part that is there."
RUN_AGAIN = "The same command with the same output path goes on where the run was."
POINTER = re.compile(r"<task .+ of \w+: (\{[^{}]*\})>")
"""In the text of a task's hook, its pointer."""
OWN_HOOK = ("<task ", "TaskState.")
"""What a hook's text has, one of these, in the results file of a task of ours, or of a user's variant of one."""
NOT_SCORED = (
    "The answers are kept and not scored (--predict_only). `lmms-eval-tasks rescore {run} --out DIR` scores them, "
    "`lmms-eval-tasks submit` writes a leaderboard's file of them, and the model `replay` reads them."
)


def read_run(source: Path, allow_incomplete: bool = False, allow_predictions: bool = False) -> Run:
    """Read the latest run in a folder, a run's ``--output_path``, or the run of one ``…_results.json`` in it.

    A run that was cut short while lmms-eval wrote its files does not hide an earlier whole one. The run's notes name
    the others in the folder.

    Args:
        source: The folder or file.
        allow_incomplete: Whether to read the part that is there of a run that was cut short, where there is no whole
            one.
        allow_predictions: Whether to read a run whose answers were not scored.

    Raises:
        InputError: where there is no run, its results are not JSON, it has no task of ours, it was run without
            ``--log_samples``, it was cut short, or a log or its card cannot be read.
        OSError: where a file cannot be read.
    """
    files = results_files(source)
    if not files:
        raise InputError(f"{source} holds no run: Expected a file *{RESULTS}, as lmms-eval writes it to --output_path.")
    cut: dict[Path, CutShort] = {}
    for path, incomplete in [(path, False) for path in reversed(files)] + [(path, True) for path in reversed(files)]:
        if incomplete and not allow_incomplete:
            raise cut[files[-1]]
        try:
            run = _read(path, incomplete)
        except CutShort as error:
            cut[path] = error
            continue
        break
    else:
        raise cut[files[-1]]
    if run.only_predicted and not allow_predictions:
        tasks = ", ".join(run.records)
        raise InputError(f"{run.path} holds no scores of {tasks}. {NOT_SCORED.format(run=run.path)}")
    return replace(run, notes=_notes(source, files, run, [path for path in cut if path != run.path]))


def _read(path: Path, allow_incomplete: bool) -> Run:
    """The run of one results file; `CutShort` where that is all that is wrong with it."""
    results = read_results(path)
    problems, gaps = Problems(), Problems()
    logs: dict[str, Sequence[LoggedItem]] = {}
    logged: dict[str, tuple[int, int]] = {}
    for name, config in results.configs.items():
        _derive(name, config)
    known = {name: own for name in results.configs if (own := registry().find_task(name))}
    for task in results.configs:
        expected = results.expected_items(task)
        log = _open_log(path, task, known.get(task), results, problems) if expected != 0 else None
        if log is None:
            continue
        there = len(log.items)
        name = sample_log(path, task).name
        if expected is not None and there != expected:
            what = f"Expected {expected:,} items, as the results file counts, but got {there:,}."
            (gaps if there < expected else problems).add(name, what)
            logged[task] = there, expected
        elif log.torn:
            problems.add(name, "Expected every line to be whole, but the last one breaks off.")
        if log.items:
            logs[task] = log.items
    if not (logs or problems or (gaps and not allow_incomplete)):
        predicted = [task for task in results.configs if results.is_predicted(task)]
        remedy = "A run with --predict_only is read where this package was installed when it was made."
        problems.add(path.name, "Expected a task of ours, but the run has none.", remedy if predicted else "")
    card: Sections = {}
    try:
        card = read_run_card(card_path(path))
    except InputError as error:
        problems.add(card_path(path).name, str(error), "Move it away: the run can be read without its card.")
    problems.raise_if_any(f"{path} cannot be read")
    if gaps and not allow_incomplete:
        try:
            gaps.raise_if_any(f"{path} is of a run that was cut short while its sample logs were written")
        except InputError as error:
            raise CutShort(f"{error}\n  {RUN_AGAIN} {INCOMPLETE}") from None
    run = assemble_run(path, results, logs)
    forms = {name: own.kind.log_form for name, own in known.items() if own.kind.log_form}
    return replace(run, card=card, logged=logged, forms=forms)


def assemble_run(path: Path, results: ResultsFile, logs: Mapping[str, Sequence[LoggedItem]]) -> Run:
    """A run from its results and its logged items."""
    sets = {}
    for task, items in logs.items():
        found = {item.data_set for item in items}
        simulated = [one for one in found if one.is_sample]
        sets[task] = found.pop() if len(found) == 1 else simulated[0] if simulated else UNKNOWN_SET
    return Run(
        path=path,
        name=results.model_name,
        records={task: tuple(item.record for item in items) for task, items in logs.items()},
        groups=results.groups_within(logs),
        versions={name: str(version) for name, version in results.versions.items()},
        sets=sets,
        limited=results.limits,
        shard=results.shard.shard if results.shard else None,
        only_predicted=any(item.only_predicted for items in logs.values() for item in items),
    )


def _open_log(path: Path, task: str, known: Task | None, results: ResultsFile, problems: Problems) -> SampleLog | None:
    """A task's log, empty where the run was cut short before it; None where it is somebody else's, or a problem."""
    try:
        log = sample_log(path, task)
        if log.is_file():
            form = known.kind.log_form if known else None
            return read_sample_log(log, form or LogLine, problems, _is_ours(task, known, results))
    except (ValueError, OSError):
        problems.add(path.name, f"Expected tasks whose logs can be read, but got {describe(task)}.")
        return None
    if results.config.logs_samples and results.expected_items(task):
        return SampleLog(())
    problems.add(log.name, f"Expected the sample log of {task}, but there is none.", "Run with --log_samples.")
    return None


def _derive(name: str, config: Any) -> None:
    """Know a user's variant of a task of ours by its hooks' pointer; of an earlier run by the pointer's file."""
    hook = str(config.get("process_results")) if isinstance(config, Mapping) else ""
    if not any(mark in hook for mark in OWN_HOOK):
        return
    found = POINTER.search(hook)
    try:
        pointer = json.loads(found[1]) if found else read_pointer(Path(), config)
        if pointer:
            registry().derive(name, pointer, config)
    except (ValueError, LookupError, TypeError, StopIteration):
        return


def _is_ours(task: str, known: Task | None, results: ResultsFile) -> bool:
    """Whether a task of a run is known to be one of ours, so that its log has to hold records."""
    config = results.configs[task]
    hook = config.get("process_results") if isinstance(config, Mapping) else None
    return any(mark in str(hook) for mark in OWN_HOOK) or (known is not None and task not in known.benchmark.replaces)


def _notes(source: Path, files: list[Path], run: Run, cut: list[Path]) -> tuple[str, ...]:
    """What to know of the other runs in a folder."""
    notes = [f"{path} is of a run that was cut short, and is left out" for path in cut]
    whole = [path for path in files if path not in cut]
    if len(whole) > 1:
        notes.append(
            f"{list_runs(source, whole)}; this is the latest, {run.path}. Name a folder or file to read another"
        )
    return tuple(notes)
