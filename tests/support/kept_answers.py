"""The answers that runs have kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def kept_files(folder: Path) -> list[Path]:
    """The files that hold answers, in the order of their names."""
    return sorted(folder.rglob("*.jsonl"))


def _lines(folder: Path) -> Iterator[tuple[str, int, Any]]:
    """Every answer with its file and its place there; a line that is still being written is none."""
    for path in kept_files(folder):
        for place, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            if line.endswith(b"\n"):
                yield path.name, place, json.loads(line)


def kept_lines(folder: Path) -> list[dict[str, Any]]:
    return [line for _, _, line in _lines(folder)]


def kept_answers(folder: Path) -> dict[str, tuple[str, int]]:
    """What each answer is kept by, to its file and its place there; fails where something was answered twice."""
    found: dict[str, tuple[str, int]] = {}
    for name, place, line in _lines(folder):
        assert line["key"] not in found, f"{name} and {found[line['key']][0]} have the same answer"
        found[line["key"]] = name, place
    return found
