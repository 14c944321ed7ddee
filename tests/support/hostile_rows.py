"""Tables of bad releases and files: what is spoilt in which of them, and what the command must then say."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fork_server import Finished, ForkServer
from hostile_bases import Base
from mutations import mutate

TABLES = Path(__file__).parents[1] / "hostile"
MOST_MEMORY = 1_000_000_000
"""Bytes."""
LONGEST = 20.0
"""Seconds of processor time."""


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Attributes:
        name: Table and line.
        base: Name of the base that is spoilt.
        mutations: As `mutations.mutate` takes them.
        command: Arguments in place of the base's own; None for those.
        home: The data home, below the test's folder.
        refused: Whether the command must end with status 1; else it must end with 0.
        pattern: Regular expression that what it prints must match, any white space there being one space.
    """

    name: str
    base: str
    mutations: tuple[list[Any], ...]
    command: tuple[str, ...] | None
    home: str
    refused: bool
    pattern: str


def read_table(file: Path) -> list[Row]:
    """The rows of a table, a file of JSON lines; lines that begin with `//` are comments."""
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("//"):
            rows.append(make_row(f"{file.stem}:{number}", file.stem, json.loads(line)))
    return rows


def read_tables(*names: str) -> list[Row]:
    """The rows of several tables, by their names."""
    return [row for name in names for row in read_table(TABLES / f"{name}.jsonl")]


def make_row(name: str, base: str, value: Mapping[str, Any]) -> Row:
    """A row from a line of a table: ``do``, ``refused`` or ``accepted``, and perhaps ``command`` and ``home``."""
    assert ("refused" in value) != ("accepted" in value), name
    command = tuple(value["command"].split(" ")) if "command" in value else None
    refused = "refused" in value
    pattern = value["refused" if refused else "accepted"]
    return Row(name, base, tuple(value["do"]), command, value.get("home", "home"), refused, pattern)


def run_row(row: Row, bases: Mapping[str, Base], server: ForkServer, folder: Path) -> Finished:
    """Spoil a copy of the row's base in a folder, and run its command there."""
    base = bases[row.base]
    root = folder / "base"
    shutil.copytree(base.folder, root, symlinks=True)
    for mutation in row.mutations:
        mutate(root, mutation)
    environment = {"LMMS_EVAL_TASKS_HOME": str(root / row.home), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    return server.run(row.command or base.command, root, environment)


def check_row(row: Row, bases: Mapping[str, Base], server: ForkServer, folder: Path) -> None:
    """Run a row and compare how its command ended with what the row says."""
    finished = run_row(row, bases, server, folder)
    assert not (wrong := faults(row, finished, folder)), f"{wrong}\n{finished.output[-3000:]}"


def faults(row: Row, finished: Finished, folder: Path) -> list[str]:
    """What is wrong with how a row's command ended; empty where all is as the row says."""
    text = " ".join(finished.output.split())
    wrong = []
    if "Traceback" in text:
        wrong.append("a traceback")
    if finished.status != int(row.refused):
        wrong.append(f"status {finished.status}")
    if not re.search(row.pattern, text):
        wrong.append(f"no {row.pattern!r}")
    if finished.peak >= MOST_MEMORY:
        wrong.append(f"{finished.peak / 1e6:.0f} MB")
    if finished.seconds >= LONGEST:
        wrong.append(f"{finished.seconds:.1f} s")
    if odd := {char for char in finished.output if not (char.isprintable() or char in "\n")}:
        wrong.append(f"characters {odd!r}")
    is_prepare = (row.command or ("prepare",))[0] == "prepare"
    if row.refused and is_prepare and row.base != "run" and list((folder / "base" / row.home).glob("*/manifest.json")):
        wrong.append("a manifest was written")
    return wrong
