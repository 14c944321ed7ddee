"""Agreement of runs with people: shared items, error consistency, difficulty, and wrong options that both choose."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from beside_people import make_record
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from lmms_eval_tasks.utils.people.agreement import (
    SharedItem,
    _same_and_expected,
    correlate_difficulty,
    find_consistency,
    find_opposed,
    kappa_bounds,
    run_with_people,
    share_items,
    share_options,
    two_people,
    two_runs,
)
from lmms_eval_tasks.utils.people.responses import UNKNOWN, AskedQuestion, Response
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

LETTERS = "ABCDE"
ASKED = {
    (item, version): AskedQuestion(key, LETTERS, item_id=f"{item}_{version}")
    for item, version, key in [("q", "0", "A"), ("q", "1", "B"), ("r", "0", "C"), ("s", "0", "D")]
}


def make_item(
    number: int, key: str, people: Sequence[str], runs: Sequence[str | None], choices: str = LETTERS, pairs: bool = True
) -> SharedItem:
    """An item that people and runs answered, each two of which are a group, unless each is one of its own."""
    group = str(number // 2 if pairs else number)
    records = tuple(make_record(str(number), group, key, answered) for answered in runs)
    judged = tuple((choice, float(choice == key)) for choice in people)
    return SharedItem("t", AskedQuestion(key, choices, item_id=str(number)), judged, records)


def responses(*given: tuple[str, str, str, float]) -> list[Response]:
    return [Response(item, version, f"p{n}", choice, credit) for n, (item, version, choice, credit) in enumerate(given)]


def test_ids_match_and_what_does_not_is_named() -> None:
    people = responses(("q", "0", "A", 1.0), ("q", "0", UNKNOWN, 0.5), ("q", "1", "C", 0.0), ("r", "0", "C", 1.0))
    said = (("q", 0, "A", "B"), ("q", 1, "B", None), ("r", 0, "A", "A"), ("s", 0, "D", "D"))
    first = [make_record(f"{group}_{version}", group, key, answer) for group, version, key, answer in said]
    unscored = Record("q_0", "q", {}, "A", None, Outcome.UNSCORED, UnscoredReason.NO_CLIP)
    shared = share_items(people, ASKED, [{"t": first}, {"t": [unscored, make_record("q_1", "q", "B", "C")]}])
    assert shared.left_out == (
        {"with another key": ("r_0",), "no person answered": ("s_0",)},
        {"unscored in the run": ("q_0",), "only people answered": ("r_0",)},
    )
    one, other = shared.items
    assert (one.record.item_id, one.share_right, one.right(0), one.right(1)) == ("q_0", 0.5, 0.0, None)
    assert one.people == (("A", 1.0), (UNKNOWN, 0.0)) and one.wrong_options == []
    assert (one.wrong_option(0), other.wrong_option(0), other.wrong_option(1)) == ("B", None, "C")
    assert (other.right(0), other.right(1), other.wrong_options) == (0.0, 0.0, ["C"])


def test_a_run_that_was_asked_otherwise_is_compared_by_right_and_wrong_alone() -> None:
    for question, expected, answered in (
        (AskedQuestion("SECOND", ("FIRST", "SECOND"), item_id="i"), "forward", "backward"),
        (AskedQuestion("A", LETTERS, item_id="i"), "the red block", "the blue block"),
        (AskedQuestion("A", LETTERS, item_id="i"), None, "B"),
        (AskedQuestion(None, LETTERS, item_id="i"), "A", "B"),
        (AskedQuestion("2", (), written=True, item_id="i"), "2.0", "3"),
    ):
        record = Record("i", "i", {}, expected, answered, Outcome.WRONG)
        (item,) = share_items(responses(("x", "", "FIRST", 0.0)), {("x", ""): question}, [{"t": [record]}]).items
        assert (item.right(0), item.share_right, item.wrong_option(0)) == (0.0, 0.0, None), question
    # Case does not matter, and versions of one item come together.
    asked = {("x", way): AskedQuestion("YES", ("YES", "NO"), item_id="x") for way in ("one", "other")}
    people = responses(("x", "one", "NO", 0.0), ("x", "other", "YES", 1.0))
    (item,) = share_items(people, asked, [{"t": [make_record("x", "x", "yes", "no")]}]).items
    assert (item.wrong_option(0), item.wrong_options, item.share_right) == ("NO", ["NO"], 0.5)


def items_of_many(answers: Sequence[tuple[Sequence[bool], Sequence[bool]]]) -> list[SharedItem]:
    """Items with who of the people and which of the runs are right."""
    said = [[["A" if right else "B" for right in side] for side in item] for item in answers]
    return [make_item(number, "A", people, runs) for number, (people, runs) in enumerate(said)]


FLAG = st.booleans()
with_people = partial(run_with_people, run=0)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(FLAG, st.lists(FLAG, min_size=1, max_size=4)), min_size=2, max_size=20))
def test_it_is_cohens_kappa_of_all_pairs_of_observers_of_which_every_item_counts_once(
    answers: list[tuple[bool, list[bool]]],
) -> None:
    """As scikit-learn has it over all that are to be compared, each with its share of its item."""
    items = items_of_many([(people, [run]) for run, people in answers])
    with_run = [(run, one, 1 / len(people)) for run, people in answers for one in people]
    together = [
        (one, other, 1 / (len(people) * (len(people) - 1)))
        for _, people in answers
        for one, other in permutations(people, 2)
    ]
    for pairs, judge in ((with_run, with_people), (together, two_people)):
        found = find_consistency(items, judge)
        assert (found is None) == (not pairs)
        if found is None:
            continue
        first, second, weights = map(list, zip(*pairs, strict=True))
        if found.kappa is None:
            assert len(set(first) | set(second)) == 1 and found.interval is found.bounds is None
            continue
        assert found.kappa == pytest.approx(cohen_kappa_score(first, second, sample_weight=weights))
        assert found.agreement == pytest.approx(np.average(np.equal(first, second), weights=weights))
        assert found.bounds is not None and found.bounds[0] - 1e-9 <= found.kappa <= found.bounds[1] + 1e-9


def test_bounds_are_those_of_geirhos_et_al() -> None:
    # Expected 0.9 * 0.6 + 0.1 * 0.4 = 0.58, at most 0.7, at least 0.5; without a second outcome there are none.
    assert kappa_bounds(0.9, 0.6) == pytest.approx((-0.08 / 0.42, 0.12 / 0.42))
    assert kappa_bounds(1.0, 1.0) is None and kappa_bounds(1.0, 0.0) == (0.0, 0.0)
    # Over all accuracies: where 0.2 or 0.62 is expected, agreement is 0 to 1 - sqrt(1 - 0.4), and sqrt(0.24) to 1.
    for expected, low, high in ((0.2, 0.0, 1 - 0.6**0.5), (0.62, 0.24**0.5, 1.0)):
        firsts = np.concatenate([np.linspace(0, 0.499, 9_999), [(1 - abs(2 * expected - 1) ** 0.5) / 2]])
        pairs = [(a, b) for a in firsts if 0 <= (b := (expected - 1 + a) / (2 * a - 1)) <= 1]
        found = [bounds for a, b in pairs if (bounds := kappa_bounds(a, b)) is not None]
        assert min(least for least, _ in found) == pytest.approx((low - expected) / (1 - expected), abs=1e-3)
        assert max(most for _, most in found) == pytest.approx((high - expected) / (1 - expected), abs=1e-3)


def test_the_interval_is_of_groups_and_what_has_no_score_or_no_second_person_is_left_out() -> None:
    """Items that are there twice in their group are no further evidence."""
    rng = np.random.default_rng(3)
    run, person = (list(rng.random(100) < 0.7) for _ in range(2))
    once = [make_item(n, "A", ["A" if person[n] else "B"], ["A" if run[n] else "B"], pairs=False) for n in range(100)]
    twice = [make_item(n, "A", ["A" if person[n // 2] else "B"], ["A" if run[n // 2] else "B"]) for n in range(200)]
    one, other = find_consistency(once, with_people), find_consistency(twice, with_people)
    assert one is not None and other is not None and (one.items, other.items, other.groups) == (100, 200, 100)
    assert one.interval == pytest.approx(other.interval)
    items = [make_item(0, "A", ["A"], ["A"]), make_item(1, "A", ["A", "B"], ["B"])]
    unscored = SharedItem(items[0].task, items[0].question, items[0].people, (None, items[0].records[0]))
    assert run_with_people(unscored, 0) is two_runs(unscored, 0, 1) is two_people(items[0]) is None
    found = find_consistency(items, two_people)
    assert found is not None and (found.items, found.agreement, found.kappa) == (1, 0.0, -1.0)
    assert find_consistency([], two_people) is None
    # It is symmetric.
    both = items_of_many([([True], pair) for pair in zip(run, person, strict=True)])
    there = find_consistency(both, lambda item: two_runs(item, 0, 1))
    back = find_consistency(both, lambda item: two_runs(item, 1, 0))
    assert there is not None and back is not None and there.right == back.right[::-1]
    assert (there.kappa, there.agreement, there.bounds) == (back.kappa, back.agreement, back.bounds)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.lists(FLAG, min_size=1, max_size=4), st.tuples(FLAG, FLAG, FLAG)), min_size=2, max_size=25)
)
def test_it_is_spearmans_rho_with_ties(answers: list[tuple[list[bool], tuple[bool, ...]]]) -> None:
    items = items_of_many(answers)
    for runs in ([0], [0, 1, 2]):
        people = [np.mean(one) for one, _ in answers]
        models = [np.mean([right[run] for run in runs]) for _, right in answers]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constant input, which scipy has no number for either
            expected = float(spearmanr(people, models).statistic)
        found = correlate_difficulty(items, runs)
        assert found is not None and found.items == len(answers)
        if np.isnan(expected):
            assert found.rho is None and found.interval is None
        else:
            assert found.rho == pytest.approx(expected)


def test_items_that_only_one_side_gets_right() -> None:
    both, none, one = (True, True), (False, False), (False, True)
    items = items_of_many(
        [(both, none), (both, one), ((True, False), none), ([False], both), (none, both), ([True], both)]
    )
    people, runs = find_opposed(items, runs_right=False), find_opposed(items, runs_right=True)
    assert people is not None and runs is not None
    assert (people.ids, people.items, runs.ids) == (("0",), 6, ("3", "4"))
    assert (people.percent, runs.percent) == pytest.approx((100 / 6, 100 / 3))
    assert people.interval[0] < people.percent < people.interval[1]
    # Of an item that one run was not scored on, nobody knows.
    unscored = SharedItem(items[0].task, items[0].question, items[0].people, (items[0].records[0], None))
    again = find_opposed([unscored, *items[1:]], runs_right=False)
    assert again is not None and (again.ids, again.items) == ((), 5)
    assert find_opposed([], runs_right=True) is None and correlate_difficulty([], [0]) is None


Said = tuple[str, str, list[str]]
"""Key, the run's answer and people's."""


def items_said(said: Sequence[Said], choices: str = LETTERS) -> list[SharedItem]:
    return [make_item(number, key, people, [run], choices) for number, (key, run, people) in enumerate(said)]


def test_shared_options_by_hand() -> None:
    """Errors of half and all of the people; set beside the other item's, the run's option is chosen half of the time
    in the one direction (B beside C and B), never in the other (C beside B).
    """
    items = items_said([("A", "B", ["B", "A"]), ("A", "C", ["C", "B"]), ("D", "A", ["A"]), ("D", "D", ["A"])])
    found = share_options(items, 0)
    assert found is not None and (found.errors, found.alone) == (2, 1)
    # Of weights 1/2 and 1: B with B in all of 1/2, C with C in half of 1.
    assert (found.same, found.expected) == pytest.approx((100 * (0.5 + 0.5) / 1.5, 100 * (0.5 + 0.0) / 1.5))
    assert found.beyond == pytest.approx(100 / 3)
    # Two choices have one wrong option; unknown and unparsed are none.
    unparsed = [make_item(number, "A", ["B"], [None]) for number in range(4)]
    unknown = items_said([("A", "B", [UNKNOWN])] * 4)
    for nothing in (items_said([("A", "B", ["B"])] * 4, "AB"), unknown, unparsed, []):
        assert share_options(nothing, 0) is None
    found = share_options(items_said([("A", "B", ["B"])] * 4), 0)
    assert found is not None and (found.same, found.expected, found.interval) == (100.0, 100.0, None)


def test_a_kind_with_one_error_counts_in_no_sum() -> None:
    """Of each kind: errors, the share of the same option, then by option those of the run and of people."""
    kinds = np.array([[2.0, 0.5, 2.0, 0.0, 0.75, 0.25], [1.0, 1.0, 1.0, 0.0, 1.0, 0.0], [0.0] * 6])
    # Of the first kind 0.5 of 1, and with the other's people (1.5 - 0.5) / 1; of items drawn again (3 - 3 * 0.5) / 1.
    assert _same_and_expected(kinds[None].reshape(1, -1), 6).tolist() == [50.0, 100.0]
    assert _same_and_expected(kinds[None].reshape(1, -1), 6, drawn=True).tolist() == [50.0, 150.0]


LETTER = st.sampled_from(LETTERS)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("AB"), LETTER, st.lists(LETTER, min_size=1, max_size=4)), max_size=20))
def test_what_is_expected_is_the_mean_over_two_items_of_a_kind(said: list[Said]) -> None:
    found = share_options(items_said(said), 0)
    erring = [(key, run, people) for key, run, people in said if run != key and any(one != key for one in people)]
    same = expected = weight = 0.0
    for key in "AB":
        kind = [(run, [one for one in people if one != key], len(people)) for own, run, people in erring if own == key]
        if len(kind) > 1:
            weight += sum(len(wrong) / number for _, wrong, number in kind)
            same += sum(wrong.count(run) / number for run, wrong, number in kind)
            others = [(one[0], other) for one, other in permutations(kind, 2)]
            expected += sum(wrong.count(run) / number for run, (_, wrong, number) in others) / (len(kind) - 1)
    assert (found is None) == (weight == 0)
    if found is not None:
        assert (found.same, found.expected) == pytest.approx((100 * same / weight, 100 * expected / weight))


def test_attractive_options_give_what_is_beyond_frequencies() -> None:
    """Both prefer early letters; on half of the items, everybody who errs takes the same attractive option. The same
    option by frequency in .25 + .0625 + .0225 + .01 of errors; where one attracts, in all.
    """
    rng, frequent = np.random.default_rng(2), np.array([0.5, 0.25, 0.15, 0.1])
    truth, found = 100 * 0.5 * (1 - 0.345), []
    for _ in range(15):
        said: list[Said] = []
        for _ in range(150):
            key = str(rng.choice(list(LETTERS)))
            wrong = [letter for letter in LETTERS if letter != key]
            chances = np.eye(4)[rng.choice(4, p=frequent)] if rng.random() < 0.5 else frequent
            answers = [key if rng.random() < 0.6 else str(rng.choice(wrong, p=chances)) for _ in range(4)]
            said.append((key, answers[0], answers[1:]))
        found.append(share_options(items_said(said), 0, draws=400))
    known = [one for one in found if one is not None]
    intervals = [one.interval for one in known if one.interval is not None]
    assert np.mean([one.beyond for one in known]) == pytest.approx(truth, abs=2.5)
    assert np.mean([one.expected for one in known]) == pytest.approx(34.5, abs=2)
    assert sum(low <= truth <= high for low, high in intervals) >= 13
