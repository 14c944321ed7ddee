"""Error consistency: Cohen's kappa of right and wrong, its bounds, and several people to an item."""

from __future__ import annotations

import numpy as np
import pytest
from beside_people import LETTERS, make_item
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from lmms_eval_tasks.utils.people.agreement import (
    SharedItem,
    expected_agreement,
    find_consistency,
    kappa_bounds,
    people_consistency,
    run_consistency,
    run_with_people,
    two_people,
    two_runs,
)


def items_of(*observers: list[bool], runs: int = 1) -> list[SharedItem]:
    """Items that some observers get right or wrong; the first ones are runs, the others people."""
    said = [["A" if right else "B" for right in observer] for observer in observers]
    return [
        make_item(number, "A", [one[number] for one in said[runs:]] or ["A"], [one[number] for one in said[:runs]])
        for number in range(len(observers[0]))
    ]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.lists(st.booleans(), min_size=1, max_size=4)), min_size=2, max_size=20))
def test_it_is_cohens_kappa_of_all_pairs_of_observers_of_which_every_item_counts_once(
    answers: list[tuple[bool, list[bool]]],
) -> None:
    """As scikit-learn has it over all that are to be compared, each with its share of its item."""
    items = [
        make_item(number, "A", ["A" if one else "B" for one in people], ["A" if run else "B"])
        for number, (run, people) in enumerate(answers)
    ]
    with_run = [(run, one, 1 / len(people)) for run, people in answers for one in people]
    together = [
        (one, other, 1 / (len(people) * (len(people) - 1)))
        for _, people in answers
        for place, one in enumerate(people)
        for second, other in enumerate(people)
        if place != second
    ]
    for pairs, found in ((with_run, run_consistency(items, 0)), (together, people_consistency(items))):
        if not pairs:
            assert found is None
            continue
        first, second, weights = map(list, zip(*pairs, strict=True))
        assert found is not None
        if found.kappa is None:
            assert len(set(first) | set(second)) == 1 and found.interval is found.bounds is None
            continue
        assert found.kappa == pytest.approx(cohen_kappa_score(first, second, sample_weight=weights))
        assert found.agreement == pytest.approx(np.average(np.equal(first, second), weights=weights))
        assert found.bounds is not None and found.bounds[0] - 1e-9 <= found.kappa <= found.bounds[1] + 1e-9


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_it_is_symmetric_and_one_of_copies(answers: list[tuple[bool, bool]]) -> None:
    first, second = map(list, zip(*answers, strict=True))
    items = items_of(first, second, runs=2)
    one = find_consistency((item, two_runs(item, 0, 1)) for item in items)
    other = find_consistency((item, two_runs(item, 1, 0)) for item in items)
    assert one is not None and other is not None
    assert (one.kappa, one.agreement, one.bounds) == (other.kappa, other.agreement, other.bounds)
    assert one.right == other.right[::-1]
    if len(set(first)) > 1:
        for found in (run_consistency(items_of(first, first), 0), people_consistency(items_of(first, first, first))):
            assert found is not None and found.bounds is not None
            assert found.kappa == pytest.approx(1.0) and found.bounds[1] == pytest.approx(1.0)


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.sampled_from(LETTERS)] * 4), min_size=2, max_size=20), st.permutations(LETTERS))
def test_names_of_options_do_not_matter(answers: list[tuple[str, ...]], names: list[str]) -> None:
    other = dict(zip(LETTERS, names, strict=True))
    renamed = [tuple(map(other.__getitem__, one)) for one in answers]
    found, again = (
        run_consistency([make_item(n, key, people, [run]) for n, (key, run, *people) in enumerate(given)], 0)
        for given in (answers, renamed)
    )
    assert found == again


def test_independent_observers_have_kappa_zero_within_the_interval() -> None:
    rng = np.random.default_rng(0)
    inside, kappas = 0, []
    for _ in range(30):
        run, *people = (list(rng.random(120) < chance) for chance in (0.6, 0.85, 0.8, 0.9))
        found = run_consistency(items_of(run, *people), 0)
        assert found is not None and found.kappa is not None and found.interval is not None
        kappas.append(found.kappa)
        inside += found.interval[0] <= 0 <= found.interval[1]
    assert abs(np.mean(kappas)) < 0.03 and inside >= 26


@settings(max_examples=40)
@given(st.integers(0, 30), st.integers(0, 30))
def test_the_bounds_are_reached_by_a_copy_and_by_its_opposite(first: int, second: int) -> None:
    """A copy is right on nothing that the better one gets wrong; the opposite first on what that one gets wrong."""
    one, copy = ([place < right for place in range(30)] for right in (first, second))
    bounds = kappa_bounds(first / 30, second / 30)
    kappas = []
    for other in (copy[::-1], copy):
        found = run_consistency(items_of(one, other), 0)
        assert found is not None
        kappas.append(found.kappa)
    if bounds is None:
        assert kappas == [None, None] and first == second and first in (0, 30)
    else:
        assert kappas == pytest.approx(bounds)


@pytest.mark.parametrize("expected", [0.2, 0.35, 0.5, 0.62, 0.8, 0.95])
def test_bounds_over_all_accuracies_are_the_papers(expected: float) -> None:
    """Geirhos et al. bound the agreement by what is expected alone: these are ours, at the accuracies of that value
    that allow most and least. With the accuracies at a and b from one half, expected = 1/2 + 2ab, and agreement is at
    most 1 - |a - b| and at least |a + b|. Below one half, a and b have opposite signs and |a - b| >= 2 sqrt(|ab|), so
    that agreement is 0 to 1 - sqrt(1 - 2 expected); above it, sqrt(2 expected - 1) to 1.
    """
    firsts = np.concatenate([np.linspace(0, 1, 20_001), [(1 + s * abs(2 * expected - 1) ** 0.5) / 2 for s in (-1, 1)]])
    firsts = firsts[firsts != 0.5]
    seconds = (expected - 1 + firsts) / (2 * firsts - 1)
    known = [(a, b) for a, b in zip(firsts, seconds, strict=True) if 0 <= b <= 1]
    if expected == 0.5:
        known = [(0.5, b) for b in np.linspace(0, 1, 101)] + known
    assert all(expected_agreement(a, b) == pytest.approx(expected) for a, b in known)
    found = [bounds for a, b in known if (bounds := kappa_bounds(a, b)) is not None]
    low = 0.0 if expected < 0.5 else (2 * expected - 1) ** 0.5
    high = 1 - (1 - 2 * expected) ** 0.5 if expected < 0.5 else 1.0
    assert min(least for least, _ in found) == pytest.approx((low - expected) / (1 - expected), abs=1e-3)
    assert max(most for _, most in found) == pytest.approx((high - expected) / (1 - expected), abs=1e-3)


def test_known_bounds() -> None:
    # Expected 0.9 * 0.6 + 0.1 * 0.4 = 0.58, at most 0.7, at least 0.5.
    assert kappa_bounds(0.9, 0.6) == pytest.approx((-0.08 / 0.42, 0.12 / 0.42))
    assert kappa_bounds(0.5, 0.5) == (-1.0, 1.0)
    assert kappa_bounds(1.0, 1.0) is None and kappa_bounds(0.0, 0.0) is None
    assert kappa_bounds(1.0, 0.0) == (0.0, 0.0)


def test_what_has_no_score_or_no_second_person_is_left_out() -> None:
    items = [make_item(0, "A", ["A"], ["A"]), make_item(1, "A", ["A", "B"], ["B"])]
    unscored = SharedItem(items[0].task, items[0].question, items[0].people, (None, items[0].records[0]))
    assert run_with_people(unscored, 0) is None and two_runs(unscored, 0, 1) is None
    assert two_people(items[0]) is None
    found = people_consistency(items)
    assert found is not None and (found.items, found.agreement, found.kappa) == (1, 0.0, -1.0)
    assert find_consistency([]) is None


def test_the_interval_is_of_groups() -> None:
    """Items that are there twice in their group are no further evidence."""
    rng = np.random.default_rng(3)
    run, person = (list(rng.random(100) < 0.7) for _ in range(2))
    once = [make_item(n, "A", ["A" if person[n] else "B"], ["A" if run[n] else "B"], pairs=False) for n in range(100)]
    twice = [make_item(n, "A", ["A" if person[n // 2] else "B"], ["A" if run[n // 2] else "B"]) for n in range(200)]
    one, other = run_consistency(once, 0), run_consistency(twice, 0)
    assert one is not None and other is not None and (one.items, other.items, other.groups) == (100, 200, 100)
    assert one.interval == pytest.approx(other.interval)
