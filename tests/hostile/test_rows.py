"""Tables of bad releases and files, row by row: what is spoilt in which of them, and what the command must then say.

A table is a file of JSON lines, those that begin with `//` being comments. A row has what is done to the files of its
base (``do``, see tests/support/mutations.py), a regular expression of what is ``refused`` (with status 1) or
``accepted``, and perhaps the ``command`` in place of the base's own, and the data ``home``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fork_server import ForkServer
from hostile_bases import Base, write_bases
from mutations import mutate

pytestmark = pytest.mark.slow
MOST_MEMORY = 1_000_000_000
"""Bytes."""
LONGEST = 20.0
"""Seconds of processor time."""
ROWS = {
    f"{file.stem}:{number}": json.loads(line)
    for file in sorted(Path(__file__).parent.glob("*.jsonl"))
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    if line.strip() and not line.startswith("//")
}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Base]:
    """The good releases and files, by the names of their tables."""
    return write_bases(tmp_path_factory.mktemp("bases"))


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer() as running:
        yield running


def test_every_table_is_of_a_base_and_they_are_many(bases: dict[str, Base]) -> None:
    assert {name.partition(":")[0] for name in ROWS} == bases.keys() and len(ROWS) >= 400
    assert all(("refused" in row) != ("accepted" in row) for row in ROWS.values())


@pytest.mark.parametrize("name", ROWS)
def test_what_is_bad_is_said_in_words(name: str, bases: dict[str, Base], server: ForkServer, tmp_path: Path) -> None:
    row: dict[str, Any] = ROWS[name]
    base, root, home = bases[name.partition(":")[0]], tmp_path / "base", row.get("home", "home")
    shutil.copytree(base.folder, root, symlinks=True)
    for mutation in row["do"]:
        mutate(root, mutation)
    command = row["command"].split(" ") if "command" in row else base.command
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "LMMS_EVAL_TASKS_HOME": str(root / home)}
    finished = server.run(command, root, environment)
    text = " ".join(finished.output.split())
    is_prepare = command[0] == "prepare" and base is not bases["run"]
    wrong = {
        "a traceback": "Traceback" in text,
        f"status {finished.status}": finished.status != int("refused" in row),
        "not these words": not re.search(row.get("refused", row.get("accepted")), text),
        f"{finished.peak / 1e6:.0f} MB": finished.peak >= MOST_MEMORY,
        f"{finished.seconds:.1f} s": finished.seconds >= LONGEST,
        "odd characters": any(not (char.isprintable() or char == "\n") for char in finished.output),
        "a manifest was written": is_prepare and "refused" in row and any((root / home).glob("*/manifest.json")),
    }
    assert not [what for what, is_wrong in wrong.items() if is_wrong], f"{row}\n{finished.output[-3000:]}"
