"""What tasks ask about the example rows, and which scores fixed responses to them get."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from loguru import logger

from lmms_eval_tasks.host import judge as judges
from lmms_eval_tasks.host.hosting import session

ITEM = "ITEM"
"""Stands in a response for the id of the item that it is about."""
FILES = "submission_rows"
"""The metric whose aggregation writes files."""
CHOICES = {"LMMS_EVAL_TASKS_PROMPT": None, "LMMS_EVAL_TASKS_BOXES": None, "LMMS_EVAL_TASKS_JUDGE": "none"}
"""Settings of a run, and what they are here."""

Rows = Sequence[Mapping[str, Any]]


def rendered(config: Mapping[str, Any], rows: Rows) -> dict[str, list[str]]:
    """What a task asks about rows, for every model that it asks otherwise."""
    ask = _function(config["doc_to_text"])
    texts: dict[str, list[str]] = {}
    for model, settings in (config.get("lmms_eval_specific_kwargs") or {"default": {}}).items():
        with _run():
            texts[model] = [ask(row, settings) for row in rows]
    return texts


def example_scores(config: Mapping[str, Any], rows: Rows, responses: Sequence[str]) -> dict[str, list[float | None]]:
    """Score to its values in as many runs as there are responses, in each of which every row gets another one.

    Without a judge: what it would have said of the responses is no matter of the task's.
    """
    grade = _function(config["process_results"])
    metrics = {metric["metric"]: metric["aggregation"] for metric in config["metric_list"]}
    scores: dict[str, list[float | None]] = {name: [] for name in metrics if name != FILES}
    for turn in range(len(responses)):
        with _run():
            items = [
                grade(row, [responses[(turn + place) % len(responses)].replace(ITEM, row["item_id"])])
                for place, row in enumerate(rows)
            ]
            for name, values in scores.items():
                values.append(_score(metrics[name], [item[name] for item in items if name in item]))
    return scores


def _score(aggregation: str, items: Sequence[Any]) -> float | None:
    """A score of items, to nine digits; None without items, as in a run."""
    found = _function(aggregation)(items) if items else None
    return None if found is None else round(float(found), 9)


def _function(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


@contextmanager
def _run() -> Iterator[None]:
    """A run by itself, whatever the environment says."""
    session.start(clips_needed=True)
    logger.disable("lmms_eval_tasks")
    try:
        with patch.dict(os.environ), patch.dict(judges._judges, clear=True):
            for name, value in CHOICES.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            yield
    finally:
        logger.enable("lmms_eval_tasks")
        session.start(clips_needed=True)
