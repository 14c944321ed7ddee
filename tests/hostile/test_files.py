"""Bad releases of YoCausal, own videos, and files that other commands read, row by row."""

from __future__ import annotations

from pathlib import Path

import pytest
from fork_server import ForkServer
from hostile_bases import Base
from hostile_rows import TABLES, Row, check_row, read_tables

pytestmark = pytest.mark.slow
ROWS = read_tables("humans", "prompts", "run", "videos", "yocausal")


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_what_is_bad_is_said_in_words(row: Row, bases: dict[str, Base], server: ForkServer, tmp_path: Path) -> None:
    check_row(row, bases, server, tmp_path)


def test_every_table_is_read_and_they_are_many() -> None:
    names = sorted(file.stem for file in TABLES.glob("*.jsonl"))
    assert names == sorted({row.base for row in (*ROWS, *read_tables("archive", "cast_bench", "causalvqa", "mvp"))})
    assert len(read_tables(*names)) >= 400
