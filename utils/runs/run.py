"""A finished run of lmms-eval, read back from its output folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.arguments import parse_arguments
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.runs.run_card import CARD, Sections, read_run_card
from lmms_eval_tasks.utils.scoring.records import GradedItem, Record

RESULTS = "_results.json"
SUBMISSIONS = "submissions"


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        path: The results file.
        name: The model, with its arguments' checkpoint where it has one.
        records: Task of ours to its records, in the sample log's order; other people's tasks are left out.
        groups: Group name to its tasks, for groups whose tasks are all in the run.
        versions: Task name to the task's version.
        sample: Whether any of it was scored on sample data.
        limited: The command line's options that leave items out, such as ``--limit 3``; empty where there is none.
        card: What the run was made with; empty for a run of a version that wrote no card.
    """

    path: Path
    name: str
    records: Mapping[str, tuple[Record, ...]]
    groups: Mapping[str, tuple[str, ...]]
    versions: Mapping[str, str]
    sample: bool
    limited: str = ""
    card: Sections = field(default_factory=dict)


def read_run(source: Path) -> Run:
    """Read the latest run in a folder, a run's ``--output_path``, or the run of one ``…_results.json`` in it.

    Raises:
        InputError: where there is no run, its results are not JSON, it has no task of ours, or it was run without
            ``--log_samples``, or a log or its card cannot be read.
    """
    files = [source] if source.is_file() else sorted(source.rglob(f"*{RESULTS}"), key=lambda path: path.name)
    files = [file for file in files if file.parent.name != SUBMISSIONS]
    if not files:
        raise InputError(f"{source} holds no run: Expected a file *{RESULTS}, as lmms-eval writes it to --output_path.")
    path = files[-1]
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        names = list(results["configs"])
        subtasks: dict[str, list[str]] = results["group_subtasks"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a results file of lmms-eval ({type(error).__name__}: {error}).") from error
    records, sample = {}, False
    problems = Problems()
    for task in names:
        log = sample_log(path, task)
        if not log.is_file():
            problems.add(log.name, f"Expected the sample log of {task}, but there is none.", "Run with --log_samples.")
            continue
        try:
            lines = log_lines(log)
        except UnicodeDecodeError as error:
            problems.add(log.name, f"Expected UTF-8 text, but byte {error.start + 1} is not.")
            continue
        if not lines or '"record"' not in lines[0]:
            continue  # a task of somebody else
        records[task], is_sample = _read_log(log.name, lines, problems)
        sample = sample or is_sample
    if not records and not problems:
        problems.add(path.name, "Expected a task of ours, but the run has none.")
    card: Sections = {}
    try:
        card = read_run_card(card_path(path))
    except InputError as error:
        problems.add(card_path(path).name, str(error), "Move it away: the run can be read without its card.")
    problems.raise_if_any(f"{path} cannot be read")
    return Run(
        path=path,
        name=_model_name(results.get("config", {})),
        records=records,
        groups={name: tuple(tasks) for name, tasks in subtasks.items() if tasks and set(tasks) <= set(records)},
        versions={name: str(version) for name, version in results.get("versions", {}).items()},
        sample=sample,
        limited=_limits(results.get("config", {})),
        card=card,
    )


def read_logged(run: Run, task: str) -> tuple[GradedItem, ...]:
    """The items of one of a run's tasks, each with what the submission needs of it."""
    lines = [json.loads(line) for line in log_lines(sample_log(run.path, task))]
    return tuple(
        GradedItem.from_json({**(line.get("submission_rows") or {}), "record": line["record"]}) for line in lines
    )


def sample_log(results: Path, task: str) -> Path:
    """The sample log of a task beside a run's results file; it need not exist."""
    return results.with_name(f"{results.name.removesuffix(RESULTS)}_samples_{task}.jsonl")


def card_path(results: Path) -> Path:
    """The run card beside a run's results file; it need not exist."""
    return results.with_name(f"{results.name.removesuffix(RESULTS)}{CARD}")


def log_lines(log: Path) -> list[str]:
    """The lines of a sample log.

    Only a line feed ends one: a model's text may hold the other characters that Python takes for the end of a line.

    Raises:
        UnicodeDecodeError: where it is not UTF-8.
    """
    return [line for line in log.read_text(encoding="utf-8").split("\n") if line]


def _limits(config: Mapping[str, Any]) -> str:
    options = ((name, config.get(name)) for name in ("limit", "offset"))
    return ", ".join(f"--{name} {value:g}" for name, value in options if isinstance(value, (int, float)) and value > 0)


def _read_log(name: str, lines: list[str], problems: Problems) -> tuple[tuple[Record, ...], bool]:
    records, sample = [], False
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)
            records.append(Record.from_json(value["record"]))
            sample = sample or "sample_data" in value
        except (ValueError, KeyError, TypeError):
            problems.add(f"{name}, line {number}", "Expected a logged item of one of our tasks.")
    return tuple(records), sample


def _model_name(config: Mapping[str, Any]) -> str:
    arguments = parse_arguments(config.get("model_args"))
    checkpoint = next((arguments[key] for key in ("pretrained", "model_version", "model") if arguments.get(key)), "")
    model = str(config.get("model", "unknown model"))
    return f"{model} {Path(checkpoint).name}".strip() if checkpoint else model
