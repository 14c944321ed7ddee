"""The end of a run: its card with known hazards, its scores with intervals, and the last lines on the terminal."""

from __future__ import annotations

import atexit
import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from loguru import logger

from lmms_eval_tasks.host.card_facts import gather
from lmms_eval_tasks.host.ranks import on_command_line
from lmms_eval_tasks.host.tasks.running import FinishedRun, Results
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import Run, make_run
from lmms_eval_tasks.runs.run_files import RESULTS, read_results, sample_log, write_card
from lmms_eval_tasks.runs.scores import PartScores, ScoresFile, write_scores
from lmms_eval_tasks.utils.answers.reply import describe_empty
from lmms_eval_tasks.utils.benchmark.views import find_view
from lmms_eval_tasks.utils.core.files import PART, write_file
from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.core.text import printable

UNLOGGED = "With --log_samples, `lmms-eval-tasks report` shows the run item by item."
DATE = "%Y%m%d_%H%M%S"
"""How lmms-eval writes the second in which a run started in the names of its files."""


def wrap_save(save: Callable[..., Any]) -> Callable[..., Any]:
    """Have lmms-eval save a run card, and scores with intervals, beside its results."""
    signature = inspect.signature(save)

    @functools.wraps(save)
    def save_with_card(self: Any, *arguments: Any, **named: Any) -> Any:
        given = signature.bind(self, *arguments, **named).arguments
        results = given["results"]
        with ExitStack() as stack:
            try:
                given["datetime_str"] = stack.enter_context(free_date(self, results, given["datetime_str"]))
            except Exception as error:  # lmms-eval saves its results all the same, or says why not
                logger.debug("Whether another run has the same date is not known ({}).", error)
            stack.enter_context(patch.dict(inspect.unwrap(save).__globals__, Path=WholePath))
            saved = save(**given)
        with _warn_without("run card"):
            if path := saved_results(self, results):
                write_card(path, gather(results, results.run))
        with _warn_without("file of scores"):
            path = saved_results(self, results)
            if path and (run := scored_run(path, results.run, results.get("configs", ()))):
                states = results.run.evaluation.tasks.values()
                counted = {(one.name, score): units for one in states for score, units in one.counted.items()}
                scores = write_scores(run, counted)
                records = [one for of_task in run.records.values() for record in of_task for one in record.each]
                empty = describe_empty(one.detail for one in records)
                announce(scores, path, self.output_path, bool(given.get("samples")), empty)
        return saved

    return save_with_card


@contextmanager
def _warn_without(name: str) -> Iterator[None]:
    """Go on where a file cannot be written: the run has its results, and no other file is worth losing what follows."""
    try:
        yield
    except Exception as error:
        logger.warning("No {} was written ({}: {}).", name, type(error).__name__, error)


@contextmanager
def free_date(tracker: Any, results: Mapping[str, Any], date: str) -> Iterator[str]:
    """Give a date that no run has yet: lmms-eval would append to the logs of another run of the same second."""
    if not tracker.output_path or not isinstance(results, Results):
        yield date
        return
    folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
    folder.mkdir(parents=True, exist_ok=True)
    start = datetime.strptime(date, DATE)
    for second in count():
        free = (start + timedelta(seconds=second)).strftime(DATE)
        claim = folder / f".{free}{PART}"
        with suppress(FileExistsError):
            claim.open("x").close()
            try:
                if not (folder / f"{free}{RESULTS}").exists():
                    yield free
                    return
            finally:
                claim.unlink()


class WholePath(type(Path())):  # type: ignore[misc]
    """A path that lmms-eval's tracker writes to: the file is there whole or not at all.

    The tracker does not close the file, so it never hears that a disk is full.
    """

    def open(self, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        is_whole = mode == "w" and self.name.endswith(RESULTS)
        return SimpleNamespace(write=partial(write_file, self)) if is_whole else super().open(mode, *arguments, **named)


def saved_results(tracker: Any, results: Mapping[str, Any]) -> Path | None:
    if not tracker.output_path or not isinstance(results, Results):
        return None
    folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
    saved = folder / f"{tracker.date_id}{RESULTS}"
    if not saved.is_file():
        raise FileNotFoundError(f"there is no {saved}")
    return saved


def scored_run(path: Path, finished: FinishedRun, names: Iterable[str]) -> Run | None:
    """Return a run that has just ended, from the records that its scores were computed from; None without any."""
    tasks = finished.evaluation.tasks
    records = {name: tasks[name].records for name in names if name in tasks and tasks[name].records}
    sets = {name: tasks[name].data_set for name in records}
    return make_run(path, read_results(path), records, sets) if records else None


def announce(scores: ScoresFile, results: Path, output_path: str, logged: bool = True, note: str | None = None) -> None:
    """Print the last lines of a run when lmms-eval's command line ends; a Python program prints what it wants."""

    def print_lines() -> None:
        tasks = {task for part in scores.parts for task in part.tasks}
        if not logged or all(sample_log(results, task).is_file() for task in tasks):
            with suppress(OSError, ValueError):  # nobody reads any more
                sys.stdout.write("".join(f"{line}\n" for line in closing_lines(scores, output_path, logged, note)))
                sys.stdout.flush()

    if on_command_line():
        atexit.register(print_lines)


def closing_lines(scores: ScoresFile, output_path: str, logged: bool = True, note: str | None = None) -> Iterator[str]:
    """Yield a line for each task and group with its leading score, a note, then how to look at the run."""
    yield ""
    for part in scores.shown_parts():
        yield _line(part, output_path)
        if part.tasks != [part.name]:
            yield from (f"  {_line(scores.part(task), output_path)}" for task in part.tasks)
    if note:
        yield f"{note}."
    yield f"lmms-eval-tasks report {shlex.quote(output_path)}" if logged else UNLOGGED


def _line(part: PartScores, output_path: str) -> str:
    """Return a task's leading score, its interval, its number of groups, and why it is not comparable."""
    apart = f"; {part.apart}" if part.apart else ""
    try:
        score = part.score(part.leading)
    except KeyError:
        return printable(f"{part.name}: no score")
    task = registry().find_task(part.tasks[0])
    facts = task.benchmark.card.splits.get(task.split) if task else None
    if facts and facts.answers_withheld and not score.groups and part.outcomes:
        submit = f"lmms-eval-tasks submit {part.benchmark} {shlex.quote(output_path)} --out FILE"
        return printable(f"{part.name}: answers withheld; {submit}{apart}")
    ends = (score.low, score.high) if score.low != score.high else (None, None)  # else the groups show no interval
    after = "%" if score.unit == "%" else f" {score.unit}" if score.unit else ""
    groups = "" if score.groups is None else f", {score.groups:,} group{'s' if score.groups != 1 else ''}"
    groups = f", {part.from_sample}" if part.from_sample else groups
    view = find_view(part.view)
    samples = f", {part.samples} {view.samples if view else 'samples'}" if part.samples else ""
    value = Number(score.value, *ends, after=after).text
    unread = f"; {part.unread}" if part.unread else ""
    return printable(f"{part.name}: {score.title} {value}{groups}{samples}{unread}{apart}")
