"""Every reader of a model's or a judge's output reads any text without an error.

How long they take is measured by benchmarks/output_readers.py, which `make nightly` runs.
"""

from __future__ import annotations

from hypothesis import given, settings
from model_output import outputs, pieces, readers


def test_the_table_of_pieces() -> None:
    assert len(pieces()) == len(set(pieces())) >= 200
    assert "cast_bench" in readers() and len(readers()) >= 10


@settings(max_examples=40)
@given(outputs())
def test_any_output_is_read(text: str) -> None:
    for read in readers().values():
        read(text)
