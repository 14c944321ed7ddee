"""Bad releases and files, row by row: refused or taken in words, never a traceback, in little memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from fork_server import ForkServer
from hostile_bases import Base
from hostile_rows import TABLES, Row, faults, read_table, run_row

pytestmark = pytest.mark.slow
ROWS = [row for file in sorted(TABLES.glob("*.jsonl")) for row in read_table(file)]


def test_there_are_many_rows() -> None:
    assert len(ROWS) >= 400


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_what_is_bad_is_said_in_words(row: Row, bases: dict[str, Base], server: ForkServer, tmp_path: Path) -> None:
    finished = run_row(row, bases, server, tmp_path)
    assert not (wrong := faults(row, finished, tmp_path)), f"{wrong}\n{finished.output[-3000:]}"
