"""The answers that runs have kept in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def kept_files(folder: Path) -> list[Path]:
    """The files that hold answers, in the order of their names."""
    return sorted(folder.rglob("*.jsonl"))


def kept_lines(folder: Path) -> list[dict[str, Any]]:
    """Every answer; a line that is still being written is none."""
    lines = (line for file in kept_files(folder) for line in file.read_bytes().splitlines(keepends=True))
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def kept_answers(folder: Path) -> dict[str, dict[str, Any]]:
    """Every answer by what it is kept by; fails where something was answered twice."""
    lines = kept_lines(folder)
    found = {line["key"]: line for line in lines}
    assert len(found) == len(lines), "the same was answered twice"
    return found
