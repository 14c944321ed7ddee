"""Wrong options that a run and people both choose, beyond what the options' frequencies give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from beside_people import LETTERS, make_item
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.utils.people.agreement import SharedItem, share_options
from lmms_eval_tasks.utils.people.responses import UNKNOWN

Said = tuple[str, str, list[str]]
"""Key, the run's answer and people's."""
SAID = st.lists(
    st.tuples(
        st.sampled_from("AB"), st.sampled_from(LETTERS), st.lists(st.sampled_from(LETTERS), min_size=1, max_size=4)
    ),
    min_size=1,
    max_size=20,
)


def items_of(said: Sequence[Said], choices: str = LETTERS) -> list[SharedItem]:
    return [make_item(number, key, people, [run], choices) for number, (key, run, people) in enumerate(said)]


def test_by_hand() -> None:
    """Errors of half and all of the people; set beside the other item's, the run's option is chosen half of the time
    in the one direction (B beside C and B), never in the other (C beside B).
    """
    items = items_of([("A", "B", ["B", "A"]), ("A", "C", ["C", "B"]), ("D", "A", ["A"]), ("D", "D", ["A"])])
    found = share_options(items, 0)
    assert found is not None and (found.errors, found.alone) == (2, 1)
    # Of weights 1/2 and 1: B with B in all of 1/2, C with C in half of 1.
    assert found.same == pytest.approx(100 * (0.5 + 0.5) / 1.5)
    assert found.expected == pytest.approx(100 * (0.5 + 0.0) / 1.5)
    assert found.beyond == pytest.approx(100 / 3)


@settings(max_examples=40)
@given(SAID)
def test_what_is_expected_is_the_mean_over_two_items_of_a_kind(said: list[Said]) -> None:
    found = share_options(items_of(said), 0)
    erring = [(key, run, people) for key, run, people in said if run != key and any(one != key for one in people)]
    same = expected = weight = 0.0
    for key in "AB":
        kind = [(run, [one for one in people if one != key], len(people)) for own, run, people in erring if own == key]
        if len(kind) > 1:
            weight += sum(len(wrong) / number for _, wrong, number in kind)
            same += sum(wrong.count(run) / number for run, wrong, number in kind)
            others = [(run, kind[j]) for i, (run, *_) in enumerate(kind) for j in range(len(kind)) if i != j]
            expected += sum(wrong.count(run) / number for run, (_, wrong, number) in others) / (len(kind) - 1)
    assert (found is None) == (weight == 0)
    if found is not None:
        assert (found.same, found.expected) == pytest.approx((100 * same / weight, 100 * expected / weight))


@settings(max_examples=25)
@given(SAID, st.permutations(LETTERS))
def test_names_of_options_do_not_matter(said: list[Said], names: list[str]) -> None:
    other = dict(zip(LETTERS, names, strict=True))
    renamed = [(other[key], other[run], [other[one] for one in people]) for key, run, people in said]
    one, again = (share_options(items_of(given), 0, draws=20) for given in (said, renamed))
    assert (one is None) == (again is None)
    if one is not None and again is not None:
        assert (one.errors, one.alone) == (again.errors, again.alone)
        assert (one.same, one.expected) == pytest.approx((again.same, again.expected))


def world(rng: np.random.Generator, number: int, attracted: float) -> list[SharedItem]:
    """Both prefer early letters; on a share of the items, everybody who errs takes the same attractive option."""
    said: list[Said] = []
    for _ in range(number):
        key = str(rng.choice(list(LETTERS)))
        wrong = [letter for letter in LETTERS if letter != key]
        frequent = np.array([0.5, 0.25, 0.15, 0.1])
        chances = np.eye(4)[rng.choice(4, p=frequent)] if rng.random() < attracted else frequent
        answers = [key if rng.random() < 0.6 else str(rng.choice(wrong, p=chances)) for _ in range(4)]
        said.append((key, answers[0], answers[1:]))
    return items_of(said)


@pytest.mark.parametrize("attracted", [0.0, 0.5])
def test_frequencies_alone_give_nothing_beyond_and_attractive_options_do(attracted: float) -> None:
    """The same option by frequency in .25 + .0625 + .0225 + .01 of errors; where one attracts, in all."""
    rng = np.random.default_rng(2)
    truth = 100 * attracted * (1 - 0.345)
    found = [share_options(world(rng, 150, attracted), 0, draws=400) for _ in range(40)]
    known = [one for one in found if one is not None and one.interval is not None]
    assert len(known) == 40
    assert np.mean([one.beyond for one in known]) == pytest.approx(truth, abs=2.5)
    assert np.mean([one.expected for one in known]) == pytest.approx(34.5, abs=2)
    inside = [one.interval[0] <= truth <= one.interval[1] for one in known if one.interval is not None]
    assert sum(inside) >= 35


def test_what_says_nothing() -> None:
    """Two choices have one wrong option; unknown and unparsed are none."""
    assert share_options(items_of([("A", "B", ["B"])] * 4, "AB"), 0) is None
    assert share_options(items_of([("A", "B", [UNKNOWN])] * 4), 0) is None
    unparsed = [make_item(number, "A", ["B"], [None]) for number in range(4)]
    assert share_options(unparsed, 0) is None and share_options([], 0) is None
    found = share_options(items_of([("A", "B", ["B"])] * 4), 0)
    assert found is not None and (found.same, found.expected, found.interval) == (100.0, 100.0, None)
