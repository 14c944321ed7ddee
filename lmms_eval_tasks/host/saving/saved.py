"""The end of a run: its run card and scores with intervals as files, and its last lines on the terminal."""

from __future__ import annotations

import atexit
import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.index import Results
from lmms_eval_tasks.host.ranks import on_command_line
from lmms_eval_tasks.host.saving.card_facts import gather
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import assemble_run, read_lines
from lmms_eval_tasks.runs.run_files import RESULTS, read_results, sample_log, write_card
from lmms_eval_tasks.runs.scores import (
    PartScores,
    ScoresFile,
    scores_of,
    write_scores,
)
from lmms_eval_tasks.utils.benchmark.tasks import RECORD
from lmms_eval_tasks.utils.core.table import Number
from lmms_eval_tasks.utils.core.text import printable

UNLOGGED = "With --log_samples, `lmms-eval-tasks report` shows the run item by item."


def announce(scores: ScoresFile, results: Path, output_path: str, logged: bool = True) -> None:
    """Print the last lines of a run when lmms-eval's command line ends; a Python program prints what it wants."""
    if on_command_line():
        atexit.register(_print, scores, results, output_path, logged)


def _print(scores: ScoresFile, results: Path, output_path: str, logged: bool) -> None:
    tasks = {task for part in scores.parts for task in part.tasks}
    if not logged or all(sample_log(results, task).is_file() for task in tasks):
        with suppress(OSError, ValueError):  # nobody reads any more
            sys.stdout.write("".join(f"{line}\n" for line in closing_lines(scores, output_path, logged)))
            sys.stdout.flush()


def closing_lines(scores: ScoresFile, output_path: str, logged: bool = True) -> Iterator[str]:
    """A line for each task and group with its leading score, then how to look at the run."""
    yield ""
    for part in scores.shown_parts():
        yield _line(part, output_path)
        if part.tasks != [part.name]:
            yield from (f"  {_line(scores.part(task), output_path)}" for task in part.tasks)
    yield f"lmms-eval-tasks report {shlex.quote(output_path)}" if logged else UNLOGGED


def _line(part: PartScores, output_path: str) -> str:
    """A task's leading score, its interval, on how many groups they stand, and what sets them apart."""
    try:
        score = part.score(part.leading)
    except KeyError:
        return printable(f"{part.name}: no score")
    after = "%" if score.unit == "%" else f" {score.unit}" if score.unit else ""
    known = registry().find_task(part.tasks[0])
    facts = known.benchmark.card.splits.get(known.split) if known else None
    if facts and facts.answers_withheld and not score.groups and part.outcomes:
        submit = f"lmms-eval-tasks submit {part.benchmark} {shlex.quote(output_path)} --out FILE"
        return printable(f"{part.name}: answers withheld; {submit}{f'; {part.apart}' if part.apart else ''}")
    varies = score.low != score.high  # else the groups show no interval
    number = Number(score.value, score.low if varies else None, score.high if varies else None, after=after).text
    stands_on = "" if score.groups is None else f", {score.groups:,} group{'s' if score.groups != 1 else ''}"
    return printable(f"{part.name}: {score.title} {number}{stands_on}{f'; {part.apart}' if part.apart else ''}")


DATE = "%Y%m%d_%H%M%S"
"""How lmms-eval writes the second in which a run started in the names of its files."""


def wrap_save(save: Callable[..., Any]) -> Callable[..., Any]:
    """The method by which lmms-eval saves its results, with a run card and their scores with intervals beside them."""
    signature = inspect.signature(save)

    @functools.wraps(save)
    def save_with_card(self: Any, *arguments: Any, **named: Any) -> Any:
        given = signature.bind(self, *arguments, **named).arguments
        try:
            given["datetime_str"] = free_date(self, given["results"], given["datetime_str"])
        except Exception as error:  # lmms-eval saves its results all the same, or says why not
            logger.debug("Whether another run has the same date is not known ({}).", error)
        saved = save(**given)
        results = given["results"]
        with _warn_without("run card"):
            if path := saved_results(self, results):
                write_card(path, gather(results, results.evaluation))
        with _warn_without("file of scores"):
            if (path := saved_results(self, results)) and (scores := save_scores(path, results)):
                announce(scores, path, self.output_path, bool(given.get("samples")))
        return saved

    return save_with_card


@contextmanager
def _warn_without(name: str) -> Iterator[None]:
    """Go on where a file cannot be written: the run has its results, and no other file is worth losing what follows."""
    try:
        yield
    except Exception as error:
        logger.warning("No {} was written ({}: {}).", name, type(error).__name__, error)


def free_date(tracker: Any, results: Mapping[str, Any], date: str) -> str:
    """The date under which the files of a run can be saved: lmms-eval would append to the logs of a run of its
    second."""
    if not tracker.output_path or not isinstance(results, Results):
        return date
    folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
    folder.mkdir(parents=True, exist_ok=True)
    start = datetime.strptime(date, DATE)
    for second in count():
        free = (start + timedelta(seconds=second)).strftime(DATE)
        try:
            (folder / f"{free}{RESULTS}").open("x").close()
        except FileExistsError:
            continue
        return free
    raise AssertionError


def saved_results(tracker: Any, results: Mapping[str, Any]) -> Path | None:
    """The results file that lmms-eval's tracker has just saved, on the first rank alone."""
    if not tracker.output_path or not isinstance(results, Results):
        return None
    folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
    saved = folder / f"{tracker.date_id}{RESULTS}"
    if not saved.is_file():
        raise FileNotFoundError(f"there is no {saved}")
    return saved


def save_scores(saved: Path, results: Results) -> ScoresFile | None:
    """Write the scores of a run with their intervals beside its results file."""
    records = results.evaluation.records
    logs = read_lines(
        {task: [{RECORD: record} for record in records.get(task, ())] for task in results.get("configs", ())}
    )
    if not logs:
        return None
    scores = scores_of(assemble_run(saved, read_results(saved), logs))
    write_scores(saved, scores)
    return scores
