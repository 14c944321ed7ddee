"""The run card and the scores with their intervals, written beside lmms-eval's results when it saves them."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.closing import announce
from lmms_eval_tasks.host.index import Results
from lmms_eval_tasks.host.run_card import gather
from lmms_eval_tasks.installed.parts import groups_of
from lmms_eval_tasks.installed.runs import assemble_run
from lmms_eval_tasks.installed.scores import scores_of, scores_without_items
from lmms_eval_tasks.utils.core.collection import no_collection
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.runs.results_file import RESULTS, card_path, read_results
from lmms_eval_tasks.utils.runs.sample_log import LoggedItem
from lmms_eval_tasks.utils.runs.scores_file import ScoresFile, scores_path, scores_text
from lmms_eval_tasks.utils.scoring.records import Record

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
                write_card(path, results)
        with _warn_without("file of scores"), no_collection():
            if (path := saved_results(self, results)) and (scores := write_scores(path, results, given.get("samples"))):
                announce(scores, path, self.output_path)
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


Samples = Mapping[str, Sequence[Mapping[str, Any]]] | None
"""Task to its logged items; None where they were not to be logged."""


def write_card(saved: Path, results: Results) -> None:
    """Write the card of a run beside its results file."""
    card = gather(results, results.evaluation)
    write_file(card_path(saved), json.dumps(card, ensure_ascii=False, indent=2) + "\n")


def write_scores(saved: Path, results: Results, samples: Samples) -> ScoresFile | None:
    """Write the scores of a run with their intervals beside its results file."""
    own = results.evaluation.tasks
    tasks = [task for task in results.get("configs", ()) if task in own]
    if not tasks:
        return None
    form = read_results(saved)
    if any(form.is_predicted(task) for task in tasks):
        return None
    if samples:
        logs = {task: _logged_items(task, samples[task]) for task in tasks if samples[task]}
        scores = scores_of(assemble_run(saved, form, logs))
    else:
        sets = {task: read_manifest(own[task].benchmark.card).splits[own[task].pointer["split"]] for task in tasks}
        run = replace(
            assemble_run(saved, form, {}),
            groups=form.groups_within(tasks),
            sets={task: split.data_set for task, split in sets.items()},
        )
        scores = scores_without_items(run, {name: form.scores_of(name) for name in (*tasks, *groups_of(run))})
    write_file(scores_path(saved), scores_text(scores))
    return scores


def _logged_items(task: str, samples: Sequence[Mapping[str, Any]]) -> list[LoggedItem]:
    """Items as they come back from the log that lmms-eval writes after its results."""
    return [LoggedItem(task, Record.from_json(sample["record"]), sample) for sample in samples]
