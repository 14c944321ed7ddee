"""The run card, written beside lmms-eval's results when it saves them."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.index import Results
from lmms_eval_tasks.host.run_card import gather
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.runs.results_file import RESULTS, card_path

DATE = "%Y%m%d_%H%M%S"
"""How lmms-eval writes the second in which a run started in the names of its files."""


def wrap_save(save: Callable[..., Any]) -> Callable[..., Any]:
    """The method by which lmms-eval saves its results, with a run card beside them."""
    signature = inspect.signature(save)

    @functools.wraps(save)
    def save_with_card(self: Any, *arguments: Any, **named: Any) -> Any:
        given = signature.bind(self, *arguments, **named).arguments
        try:
            given["datetime_str"] = free_date(self, given["results"], given["datetime_str"])
        except Exception as error:  # lmms-eval saves its results all the same, or says why not
            logger.debug("Whether another run has the same date is not known ({}).", error)
        saved = save(**given)
        try:
            write_card(self, given["results"])
        except Exception as error:  # the run has its results, and no card is worth losing what follows
            logger.warning("No run card was written ({}: {}).", type(error).__name__, error)
        return saved

    return save_with_card


def free_date(tracker: Any, results: Mapping[str, Any], date: str) -> str:
    """The date under which the files of a run can be saved: lmms-eval would append to the logs of a run of its second.

    Returns:
        The date, or the next second that no other run has; its results file is made, so that no other run takes it.
    """
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


def write_card(tracker: Any, results: Mapping[str, Any]) -> Path | None:
    """Write the card of a run beside the results that lmms-eval's tracker has just saved, on the first rank alone.

    Returns:
        The card; None where the run has no task of ours, or no output path.

    Raises:
        AttributeError: where the tracker is another than expected.
        OSError: where the results are not where they should be, or the card cannot be written.
    """
    if not tracker.output_path or not isinstance(results, Results):
        return None
    folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
    saved = folder / f"{tracker.date_id}{RESULTS}"
    if not saved.is_file():
        raise FileNotFoundError(f"there is no {saved}")
    path = card_path(saved)
    write_file(path, json.dumps(gather(results, results.evaluation), ensure_ascii=False, indent=2) + "\n")
    return path
