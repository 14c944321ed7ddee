from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.people.baseline import LinkCounts, count_links

LINKS = st.sets(st.sampled_from([(a, b) for a in "abcd" for b in "abcd" if a != b]))


def links(text: str) -> list[tuple[str, str]]:
    return [(link[0], link[1]) for link in text.split()]


def test_agreement_by_hand() -> None:
    # Of six pairs of four actions: a-b and c-d are linked in both, b-c in the prediction alone, a-d in the truth alone.
    counts = count_links(links("ab cd bc"), links("ab cd ad"), "abcd")
    assert counts == LinkCounts(hits=2, extra=1, missed=1, neither=2)
    assert (counts.precision, counts.recall, counts.f1, counts.accuracy) == pytest.approx((2 / 3, 2 / 3, 2 / 3, 4 / 6))
    # The wrong direction is a link of another pair, which the order of time does not have.
    turned = count_links(links("ba"), links("ab"), "ab")
    assert turned == LinkCounts(hits=0, extra=1, missed=1, neither=0)
    assert (turned.precision, turned.f1, turned.accuracy) == (0.0, 0.0, 0.0)


def test_what_cannot_be_said_is_none() -> None:
    nothing = count_links([], [], "abc")
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.accuracy) == (None, None, None, 1.0)
    assert count_links([], [], "a").accuracy is None
    assert count_links(links("ab"), [], None).recall is None
    assert count_links(links("ab"), links("ab"), None).accuracy is None
    assert (LinkCounts(1, 0, 0, 5) + LinkCounts(1, 1, 1, None)) == LinkCounts(2, 1, 1, None)


@given(LINKS, LINKS)
def test_properties(predicted: set[tuple[str, str]], truth: set[tuple[str, str]]) -> None:
    counts = count_links(predicted, truth, "abcd")
    turned = count_links(truth, predicted, "abcd")
    assert (counts.precision, counts.recall) == (turned.recall, turned.precision)
    assert (counts.f1, counts.accuracy) == (turned.f1, turned.accuracy)
    for value in (counts.precision, counts.recall, counts.f1, counts.accuracy):
        assert value is None or 0.0 <= value <= 1.0
    if counts.precision and counts.recall:
        harmonic = 2 * counts.precision * counts.recall / (counts.precision + counts.recall)
        assert counts.f1 == pytest.approx(harmonic)
    same = count_links(truth, truth, "abcd")
    assert same.accuracy == 1.0
    assert same.f1 == (1.0 if truth else None)
