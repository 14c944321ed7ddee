"""The answers that runs have kept in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def kept_files(folder: Path) -> list[Path]:
    """The files that hold answers, in the order of their names."""
    return sorted(folder.rglob("*.jsonl"))


def kept_lines(folder: Path) -> list[dict[str, Any]]:
    """Every answer as its file has it; a line that is still being written is none."""
    lines = (line for path in kept_files(folder) for line in path.read_bytes().splitlines(keepends=True))
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def kept_answers(folder: Path) -> dict[str, tuple[str, int]]:
    """What each answer is kept by, to its file and its place there.

    Raises:
        AssertionError: where something was answered twice.
    """
    found: dict[str, tuple[str, int]] = {}
    for path in kept_files(folder):
        for place, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            if line.endswith(b"\n"):
                key = json.loads(line)["key"]
                assert key not in found, f"{path.name} and {found[key][0]} have the same answer"
                found[key] = path.name, place
    return found
