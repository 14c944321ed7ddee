"""Times: the official reading against its oracle, and none raises."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st
from oracles import unit_oracles

from lmms_eval_tasks.utils.answers.evidence_reading import (
    LAST_SECOND,
    is_clock,
    official_key,
    official_seconds,
    official_truth_key,
)

ODD_DIGITS = "0123456789٠١٢٣٤٥٦٧٨٩०१२३𝟘𝟙²³①:：.,-+eE_ smh"

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda children: st.lists(children, max_size=3) | st.tuples(children, children),
    max_leaves=4,
)
times = st.text(ODD_DIGITS, max_size=20) | anything


def test_times_as_the_official_code_reads_them() -> None:
    oracles = unit_oracles()
    for name, read in (
        ("to_seconds", official_seconds),
        ("prediction_time_to_mmss_then_to_seconds", lambda value: list(official_key(value))),
        ("normalize_time_key_then_to_seconds (GT keys)", lambda value: list(official_truth_key(value))),
    ):
        assert {key: read(ast.literal_eval(key)) for key in oracles[name]} == oracles[name]


@given(times)
def test_no_time_raises_and_all_fit_in_an_int64(value: object) -> None:
    seconds = [official_seconds(value), official_key(value)[1], official_truth_key(value)[1]]
    assert all(isinstance(second, int) and 0 <= second <= LAST_SECOND for second in seconds)


def test_a_true_key_is_not_mistaken_for_the_number_one() -> None:
    assert [official_key(value) for value in (1, True, 1.0)] == [("00:01", 1), ("True", 0), ("00:01", 1)]


def test_numbers_without_end() -> None:
    for value in ("9" * 5000, f"{'9' * 5000}:00", f"00:{'9' * 10_000_000}", 10**5000, "9" * 400):
        assert official_seconds(value) in (0, LAST_SECOND)
        assert official_key(value)[1] in (0, LAST_SECOND)


def test_what_is_asked_for_is_read_alike() -> None:
    for second in range(0, 6000, 7):
        text = f"{second // 60:02d}:{second % 60:02d}"
        assert is_clock(text) and official_key(text) == (text, second)
    assert not any(map(is_clock, ("5", "00:05.5", "00:75", "0:5", "00:00:05", "٠٠:٠٥", "")))
