"""Bad releases of CausalVQA, MVP and CaST-Bench, row by row: refused or taken in words, in little memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from fork_server import ForkServer
from hostile_bases import Base
from hostile_rows import Row, check_row, read_tables

pytestmark = pytest.mark.slow
ROWS = read_tables("archive", "cast_bench", "causalvqa", "mvp")


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_what_is_bad_is_said_in_words(row: Row, bases: dict[str, Base], server: ForkServer, tmp_path: Path) -> None:
    check_row(row, bases, server, tmp_path)
