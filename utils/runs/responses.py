"""Saved responses: what a model said to each item.

Read from sample logs of our tasks, from plain ``{"id", "response"}`` lines, and from CaST-Bench's official prediction
files, whose ``{"prompt", "predict"}`` lines are joined with questions by what their prompt asks.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, UnscoredReason

SAMPLE_LOG = "_samples_"
ItemKey = tuple[str | None, str]
"""Task, None for any, and item id."""

_QUESTION, _OPTIONS = "Question:", "\nOptions:"
_OPTION = re.compile(r"([A-Z]):(.*)")


@dataclass(frozen=True)
class Asked:
    """What a prompt asks: question and options, white space made single spaces, options without a text left out."""

    question: str
    options: tuple[str, ...]

    @classmethod
    def of(cls, question: str, options: Iterable[str]) -> Asked:
        """Of a question and its options."""
        texts = (" ".join(option.split()) for option in options)
        return cls(" ".join(question.split()), tuple(text for text in texts if text))

    @classmethod
    def in_prompt(cls, prompt: str) -> Asked | None:
        """Of a prompt with a line ``Options:`` after ``Question:`` and then lines ``A: text``; None for any other.

        The first option may stand in the line of ``Options:`` or after blank lines. The options end with the next
        blank line, or where their letters do.
        """
        question = prompt_question(prompt)
        if not question:
            return None
        options: list[list[str]] = []
        first, *others = prompt[prompt.index(_OPTIONS, prompt.index(_QUESTION)) + len(_OPTIONS) :].splitlines() or [""]
        for line in (*([first] if _OPTION.match(first.strip()) else []), *others):
            match = _OPTION.fullmatch(line.strip())
            if match and match[1] == chr(ord("A") + len(options)):
                options.append([match[2]])
            elif options and line.strip():
                options[-1].append(line)
            elif options or line.strip():
                break
        return cls.of(question, map(" ".join, options))


@dataclass(frozen=True)
class Said:
    """A response, and the line that it stands in."""

    response: str
    where: str


def prompt_question(prompt: str) -> str:
    """The question between ``Question:`` and a line ``Options:`` of a prompt; empty where there is none.

    Source: the regular expression by which CaST-Bench-Evaluation@a216491, `evaluate_benchmark.py`, joins predictions.
    """
    start = prompt.find(_QUESTION)
    end = prompt.find(_OPTIONS, start)
    return prompt[start + len(_QUESTION) : end].strip() if 0 <= start < end else ""


@dataclass
class SavedResponses:
    """Responses by task and item id, or by what was asked.

    A response that names no task serves every task that asks for its id.
    """

    by_item: dict[ItemKey, str] = field(default_factory=dict)
    by_asked: dict[Asked, list[Said]] = field(default_factory=dict)

    def find(self, task: str, item_id: str) -> str | None:
        """The response saved for an item of a task; None where there is none."""
        own = self.by_item.get((task, item_id))
        return own if own is not None else self.by_item.get((None, item_id))

    def find_asked(self, question: str, options: Sequence[str], place: int = 0) -> str | None:
        """The response to a prompt that asked this question with these options; None where there is none.

        Args:
            question: The question.
            options: Its options.
            place: How many items before this one, in their table's order, ask the same.
        """
        said = self.by_asked.get(Asked.of(question, options), []) if self.by_asked else []
        return said[place].response if place < len(said) else None

    def unmatched(self, tables: Iterable[Iterable[Asked]], source: Path) -> str | None:
        """A message about the lines that are not one for one with the items that ask their question; None without such.

        Nothing in a line tells items apart that ask the same: their lines are theirs in order, and have to be as many.

        Args:
            tables: Every question of each of the run's tables, also those that a limit leaves out.
            source: What was read, as the user knows it.
        """
        items: dict[Asked, set[int]] = {}
        for table in tables:
            for asked, number in Counter(table).items():
                items.setdefault(asked, set()).add(number)
        questions = {asked.question for asked in items}
        problems = Problems()
        for asked, said in self.by_asked.items():
            name = repr(asked.question[:60])
            for number in sorted(items.get(asked, set()) - {len(said)}):
                if number == 1:
                    what = f"Expected one response per item, but {name} is also at {said[0].where}."
                else:
                    what = f"Expected {number} lines for the {number} items that ask {name}, but got {len(said)}."
                problems.add(said[-1].where, what)
            if asked in items:
                continue
            for one in said:
                if asked.question not in questions:
                    what = f"Expected the prompt to ask a question of this run's tasks, but got {name}."
                elif asked.options:
                    read = summarize_names(asked.options)
                    what = f"Expected the prompt to ask {name} with the item's options, but got {read:.200}."
                else:
                    what = f"Expected options of {name} as lines A: … after Options:, but found none."
                problems.add(one.where, what)
        try:
            problems.raise_if_any(f"{source} cannot be replayed", "no line is joined by its position")
        except InputError as error:
            return str(error)
        return None


def read_responses(source: Path) -> SavedResponses:
    """Read saved responses.

    A line is ``{"id": item_id, "response": text}``, with an optional ``"task"``; or ``{"prompt": text, "predict":
    text}``, where null stands for an empty text, as in the official script; or a line of an lmms-eval sample log of one
    of our tasks, which holds the item's record and the response. A sample log belongs to the task in its file name
    (``…_samples_<task>.jsonl``). Items that a run could not ask, for want of a clip, hold `NOT_ASKED`.

    Args:
        source: A file, or a folder whose sample logs are read, also those of its sub-folders; of several runs of a task
            in one folder the latest.

    Raises:
        InputError: where there is nothing to read, a line is none of the three, or an item's id is answered twice;
            all such lines are listed.
    """
    files = _latest_logs(source) if source.is_dir() else [source]
    if not files or not all(file.is_file() for file in files):
        raise InputError(
            f"{source} cannot be replayed: Expected a file of responses or a folder of sample logs "
            f"(*{SAMPLE_LOG}*.jsonl), but found none."
        )
    saved = SavedResponses()
    first_seen: dict[ItemKey, str] = {}
    problems = Problems()
    for file in files:
        task = file.stem.partition(SAMPLE_LOG)[2] or None
        for where, text in _lines(file, problems):
            entry = _read_line(text, task)
            if entry is None:
                problems.add(
                    where,
                    "Expected an object with id and response, or with predict and a prompt that has Question: and "
                    f"Options:, or a line of a sample log of one of our tasks, but got {text[:60]!r}.",
                )
                continue
            key, response = entry
            # A lone surrogate, at which lmms-eval would stop writing its sample log, becomes a question mark.
            response = response.encode("utf-8", "replace").decode("utf-8")
            if isinstance(key, Asked):
                saved.by_asked.setdefault(key, []).append(Said(response, where))
            elif key in first_seen:
                problems.add(where, f"Expected one response per item, but {key[1]} is also at {first_seen[key]}.")
            else:
                first_seen[key] = where
                saved.by_item[key] = response
    problems.raise_if_any(f"{source} cannot be replayed")
    return saved


def _latest_logs(folder: Path) -> list[Path]:
    """The sample logs in a folder and below; of several runs of a task in one folder the latest, by their date."""
    latest: dict[tuple[Path, str], Path] = {}
    for log in sorted(folder.rglob(f"*{SAMPLE_LOG}*.jsonl")):
        latest[log.parent, log.stem.partition(SAMPLE_LOG)[2]] = log
    return list(latest.values())


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


def _read_line(text: str, task: str | None) -> tuple[ItemKey | Asked, str] | None:
    """Key and response of one line; None for a line that is none of the three."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if "record" in value:
        return _read_logged(value, task)
    prompt, predicted = value.get("prompt"), value.get("predict", False)
    if isinstance(prompt, str) and (predicted is None or isinstance(predicted, str)):
        asked = Asked.in_prompt(prompt)
        return None if asked is None else (asked, predicted or "")
    item_id, response, own_task = value.get("id"), value.get("response"), value.get("task", task)
    if isinstance(item_id, str) and isinstance(response, str) and (own_task is None or isinstance(own_task, str)):
        return (own_task, item_id), response
    return None


def _read_logged(value: Mapping[str, Any], task: str | None) -> tuple[ItemKey, str] | None:
    record = value["record"]
    if not isinstance(record, dict) or not isinstance(record.get("item_id"), str):
        return None
    key = (task, record["item_id"])
    if not was_asked(record):
        return key, NOT_ASKED
    # The host leaves `resps` out where it equals `filtered_resps`, and nests either by requests and repeats.
    response = value.get("resps", value.get("filtered_resps"))
    while isinstance(response, list) and response:
        response = response[0]
    return (key, response) if isinstance(response, str) else None


def was_asked(record: Mapping[str, Any]) -> bool:
    """Whether the model was asked the item of a logged record; it was not where there was no clip."""
    fields = record.get("fields")
    earlier = (fields.get("reason"), fields.get("answer_reason")) if isinstance(fields, Mapping) else ()
    return UnscoredReason.NO_CLIP.value not in (record.get("unscored_reason"), *earlier)


def scored_responses(line: Mapping[str, Any]) -> list[str] | None:
    """What the scorer was given of a logged item; None where the line does not hold it.

    The host leaves the list out where it has one member, as it has for our tasks, also with ``--repeats``.
    """
    said = line.get("filtered_resps")
    found = [text for text in (said if isinstance(said, list) else [said]) if isinstance(text, str)]
    return found if found and (isinstance(said, str) or len(found) == len(said or ())) else None
