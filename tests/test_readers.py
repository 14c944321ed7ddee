"""Every reader of a model's or a judge's output: it reads any text of any length in good time and without an error."""

from __future__ import annotations

import time
from collections import defaultdict

import pytest
from hypothesis import given
from model_output import long_texts, outputs, pieces, readers

SIZE = 4_000
ALLOWED = 0.2
"""CPU seconds for one text. A whole megabyte is given to each reader by benchmarks/reader_growth.py."""


def test_the_table_of_pieces() -> None:
    assert len(pieces()) == len(set(pieces())) >= 200
    assert "cast_bench" in readers() and len(readers()) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("name", readers())
def test_no_repeated_piece_takes_long(name: str) -> None:
    read = readers()[name]
    slow = defaultdict(list)
    for piece, text in long_texts(name, SIZE, every=False):
        for _ in range(3):
            started = time.process_time()
            read(text)
            slow[piece].append(time.process_time() - started)
            if slow[piece][-1] < ALLOWED:
                del slow[piece]
                break
    assert not slow


@given(outputs())
def test_any_output_is_read(text: str) -> None:
    for read in readers().values():
        read(text)
