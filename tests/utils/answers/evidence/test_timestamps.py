"""Times: the official reading against its oracle, and none raises."""

from __future__ import annotations

import ast

import pytest
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


def test_seconds_as_the_official_code() -> None:
    expected = unit_oracles()["to_seconds"]
    assert {key: official_seconds(ast.literal_eval(key)) for key in expected} == expected


def test_prediction_keys_as_the_official_code() -> None:
    expected = unit_oracles()["prediction_time_to_mmss_then_to_seconds"]
    assert {key: list(official_key(ast.literal_eval(key))) for key in expected} == expected


def test_release_keys_as_the_official_code() -> None:
    expected = unit_oracles()["normalize_time_key_then_to_seconds (GT keys)"]
    assert {key: list(official_truth_key(ast.literal_eval(key))) for key in expected} == expected


@given(times)
def test_no_time_raises_and_all_fit_in_an_int64(value: object) -> None:
    seconds = [official_seconds(value), official_key(value)[1], official_truth_key(value)[1]]
    assert all(isinstance(second, int) and 0 <= second <= LAST_SECOND for second in seconds)


def test_a_true_key_is_not_mistaken_for_the_number_one() -> None:
    assert [official_key(value) for value in (1, True, 1.0)] == [("00:01", 1), ("True", 0), ("00:01", 1)]


@pytest.mark.parametrize(
    "value", ["9" * 5000, f"{'9' * 5000}:00", f"00:{'9' * 10_000_000}", 10**5000, "9" * 400], ids=lambda _: "huge"
)
def test_numbers_without_end(value: object) -> None:
    assert official_seconds(value) in (0, LAST_SECOND)
    assert official_key(value)[1] in (0, LAST_SECOND)


@given(st.integers(0, 5999))
def test_what_is_asked_for_is_read_alike(second: int) -> None:
    text = f"{second // 60:02d}:{second % 60:02d}"
    assert is_clock(text)
    assert official_key(text) == (text, second)


@pytest.mark.parametrize("text", ["5", "00:05.5", "00:75", "0:5", "00:00:05", "٠٠:٠٥", ""])
def test_what_is_not_asked_for(text: str) -> None:
    assert not is_clock(text)
