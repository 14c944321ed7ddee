"""Ways to spoil a run's folder: every value of its results, card and logged items replaced by each of others.

A mutation is a list, as `mutations.mutate` takes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEEP = "[" * 400 + "]" * 400
DEEPER = "[" * 100_000
WRONG = (
    "null", "true", "-1", "0", "7.5", "1e308", "NaN", "-Infinity", "9" * 400, '""', '"x"', '"\\ud800"', '"\\u001b[2J"',
    "[]", '["x"]', "[null]", "{}", '{"x": 1}', '{"x": {"y": []}}', DEEP,
)  # fmt: skip
"""JSON texts, most of which fit most fields badly."""
TORN = (0.0, 0.3, 0.999)
BYTES = ("\udcff", "\ufeff", "\x00", "\n", DEEPER, "{}", "[]", "7", '{"record": 7}', '{"record": {}}')


def run_mutations(run: Path) -> Iterator[list[Any]]:
    """Every mutation of a run's folder, which holds one results file, a card and sample logs."""
    for file in sorted(path for path in run.rglob("*.json*") if path.parent == run):
        name = file.relative_to(run.parent).as_posix()
        document = _document(file)
        if file.suffix == ".json":
            yield ["set raw json", name, "", DEEP]
        for where in _paths(document):
            yield ["delete json", name, where]
            yield from (["set raw json", name, where, text] for text in WRONG)
        yield from (["truncate", name, share] for share in TORN)
        yield from (["append", name, text] for text in BYTES)
        yield from (["write", name, text] for text in BYTES)
        yield from ([["delete", name], ["folder", name], ["fifo", name], ["symlink", name, "/dev/zero"]])


def _document(file: Path) -> Any:
    """A file's JSON value; of JSON lines the first, as the one line of a list."""
    text = file.read_text(encoding="utf-8")
    return [json.loads(text.split("\n")[0])] if file.suffix == ".jsonl" else json.loads(text)


def _paths(value: Any, before: tuple[str, ...] = ()) -> Iterator[str]:
    """The paths of all values in a JSON value but the whole; those with a dot in a name are left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        if "." not in str(key):
            path = (*before, str(key))
            yield ".".join(path)
            yield from _paths(part, path)
