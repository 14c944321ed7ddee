"""Saved responses: what a model said to each item, read from sample logs and from plain id/response lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.problems import InputError, Problems
from lmms_eval_tasks.utils.records import NOT_ASKED

SAMPLE_LOG = "_samples_"


@dataclass
class SavedResponses:
    """Responses by task and item id; a response that names no task serves every task that asks for its id."""

    by_item: dict[tuple[str | None, str], str] = field(default_factory=dict)

    def find(self, task: str, item_id: str) -> str | None:
        """The response saved for an item of a task; None where there is none."""
        own = self.by_item.get((task, item_id))
        return own if own is not None else self.by_item.get((None, item_id))


def read_responses(source: Path) -> SavedResponses:
    """Read saved responses.

    A line is either ``{"id": item_id, "response": text}``, with an optional ``"task"``, or a line of an lmms-eval
    sample log of one of our tasks, which holds the item's record and the response. A sample log belongs to the task in
    its file name (``…_samples_<task>.jsonl``). Items that a run could not ask, for want of a clip, hold `NOT_ASKED`.

    Args:
        source: A file, or a folder in which every ``.jsonl`` sample log is read, also those in its sub-folders.

    Raises:
        InputError: where there is nothing to read, a line is neither of the two, or an item is answered twice; all
            such lines are listed.
    """
    files = sorted(source.rglob(f"*{SAMPLE_LOG}*.jsonl")) if source.is_dir() else [source]
    if not files or not all(file.is_file() for file in files):
        raise InputError(
            f"{source} cannot be replayed: Expected a file of responses or a folder of sample logs "
            f"(*{SAMPLE_LOG}*.jsonl), but found none."
        )
    saved = SavedResponses()
    first_seen: dict[tuple[str | None, str], str] = {}
    problems = Problems()
    for file in files:
        task = file.stem.partition(SAMPLE_LOG)[2] or None
        for where, text in _lines(file, problems):
            entry = _read_line(text, task)
            if entry is None:
                problems.add(
                    where,
                    "Expected an object with id and response, or a line of a sample log of one of our tasks, "
                    f"but got {text[:60]!r}.",
                )
                continue
            key, response = entry
            if key in first_seen:
                problems.add(where, f"Expected one response per item, but {key[1]} is also at {first_seen[key]}.")
                continue
            first_seen[key] = where
            saved.by_item[key] = response
    problems.raise_if_any(f"{source} cannot be replayed")
    return saved


def _lines(file: Path, problems: Problems) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        where = f"{file.name}, line {number}"
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            problems.add(where, f"Expected UTF-8 text, but byte {error.start + 1} of the line is not.")
            continue
        if text:
            yield where, text


def _read_line(text: str, task: str | None) -> tuple[tuple[str | None, str], str] | None:
    """Key and response of one line; None for a line that is neither of the two."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if "record" in value:
        return _read_logged(value, task)
    item_id, response, own_task = value.get("id"), value.get("response"), value.get("task", task)
    if isinstance(item_id, str) and isinstance(response, str) and (own_task is None or isinstance(own_task, str)):
        return (own_task, item_id), response
    return None


def _read_logged(value: Mapping[str, Any], task: str | None) -> tuple[tuple[str | None, str], str] | None:
    record = value["record"]
    if not isinstance(record, dict) or not isinstance(record.get("item_id"), str):
        return None
    key = (task, record["item_id"])
    if isinstance(record.get("fields"), dict) and record["fields"].get("reason") == "no clip":
        return key, NOT_ASKED
    # The host leaves `resps` out where it equals `filtered_resps`, and nests either by requests and repeats.
    response = value.get("resps", value.get("filtered_resps"))
    while isinstance(response, list) and response:
        response = response[0]
    return (key, response) if isinstance(response, str) else None
