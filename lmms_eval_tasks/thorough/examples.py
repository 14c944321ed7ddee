"""The recorded rows and responses whose prompts and scores the version gate keeps; docs/versions.md says which."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from lmms_eval_tasks.thorough.runs import Example, Row, asks
from lmms_eval_tasks.utils.benchmark.tasks import Task
from lmms_eval_tasks.utils.core.problems import InputError

ITEM = "ITEM"
"""Stands in a response for the id of the item that it is about."""
NO_LETTER = "-"
"""The key where a recorded response states no letter: whatever is read in it is not right."""
LABEL = 40


def read_file(path: Path) -> dict[str, Any]:
    """The content of a file of a benchmark's examples, or of examples that several benchmarks share."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content
    except ValueError as error:
        raise InputError(f"{path} cannot be read as examples ({type(error).__name__}: {error}).") from error


def read_examples(path: Path) -> tuple[dict[str, Row], list[Example]]:
    """The examples of a benchmark's file, as `make_examples` makes them."""
    return make_examples(read_file(path), path.parent)


def make_examples(
    content: Mapping[str, Any], folder: Path, tasks: Iterable[Task] = ()
) -> tuple[dict[str, Row], list[Example]]:
    """The example rows of a benchmark by key, and its examples."""
    content = {"reply": {}, "row changes": {}, "shared": {}, "cases": [], **content}
    rows, runs, reply = content["rows"], content["runs"], content["reply"]
    examples = []
    for turn in range(len(runs)):
        items = [(row, runs[(turn + place) % len(runs)]) for place, row in enumerate(rows)]
        examples.append(_make_example(f"run {turn}", items, reply))
    sources = [(content, content["row changes"])]
    for name, suitable in content["shared"].items():
        shared = read_file(folder / f"{name}.json")
        sources.append((shared, {change: shared["row changes"][change] for change in suitable}))
    for (source, changes), first in product(sources, _first_rows(rows, tasks)):
        for case in source["cases"]:
            if (change := case.get("row")) is None or change in changes:
                examples.append(_make_case({**first, **changes.get(change, {})}, case, reply))
        for (batch, change), answers in _batches(source.get("answers", [])).items():
            if change in changes:
                items = _rows_of_answers({**first, **changes[change]}, answers)
                examples.append(_make_example(f"{batch}, {change}", items, reply))
    return {make_key(row): row for row in rows}, examples


def _first_rows(rows: Sequence[Row], tasks: Iterable[Task]) -> list[Row]:
    firsts = list(rows[:1])
    for task in tasks:
        firsts += list(filter(asks(task, rows), rows))[:1]
    return [row for place, row in enumerate(firsts) if row not in firsts[:place]]


def _make_case(row: Row, case: Mapping[str, Any], reply: Mapping[str, str]) -> Example:
    """A run over one row."""
    response, own_reply = _join(case["response"]), _join(case.get("reply", {}))
    if not isinstance(own_reply, dict):
        own_reply = {next(iter(reply), ""): own_reply}
    reply = {**reply, **own_reply}
    label = f"{response[:LABEL]}…" if isinstance(response, str) and len(response) > LABEL else response
    row = {**row, "answer": case.get("answer", row["answer"])}
    return _make_example(repr(label), [(row, response)], reply, case.get("environment", {}))


def _join(text: Any) -> Any:
    """A text given in pieces, anything else as it is."""
    if not isinstance(text, list):
        return text
    return "".join(part if isinstance(part, str) else part[0] * part[1] for part in text)


def _batches(answers: Sequence[Any]) -> dict[tuple[str, str], list[tuple[str, str | None]]]:
    """Recorded responses with the letter read in each, by the name of their batch and that of the changes of a row."""
    batches: defaultdict[tuple[str, str], list[tuple[str, str | None]]] = defaultdict(list)
    for name, response, letters in answers:
        for change, letter in letters.items():
            batches[name, change].append((response, letter))
    return batches


def _rows_of_answers(row: Row, answers: Sequence[tuple[str, str | None]]) -> list[tuple[Row, str]]:
    """A row for each recorded response, its key the letter that was read, so that all are right or unparsed."""
    return [
        ({**row, "item_id": f"{n // 2}_{n % 2}", "group_id": f"{n // 2}", "answer": letter or NO_LETTER}, response)
        for n, (response, letter) in enumerate(answers)
    ]


def _make_example(
    label: str, items: Sequence[tuple[Row, Any]], reply: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Example:
    filled = tuple(
        (row, response.replace(ITEM, row["item_id"]) if isinstance(response, str) else response)
        for row, response in items
    )
    key = make_key([filled, dict(reply) or "", environment or {}])
    return Example(key, label, filled, reply, environment or {})


def make_key(value: object) -> str:
    """Ten hexadecimal digits of the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]
