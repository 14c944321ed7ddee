"""Agreement of runs with people: shared items, error consistency, difficulty, and wrong options that both choose."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from beside_people import make_record
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from lmms_eval_tasks.utils.people.agreement import (
    SharedItem,
    correlate_difficulty,
    expected_agreement,
    find_consistency,
    find_opposed,
    kappa_bounds,
    people_consistency,
    run_consistency,
    run_with_people,
    share_items,
    share_options,
    spearman,
    sum_groups,
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
    first = [
        make_record("q_0", "q", "A", "B"),
        make_record("q_1", "q", "B", None),
        make_record("r_0", "r", "A", "A"),
        make_record("s_0", "s", "D", "D"),
    ]
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


def test_a_group_adds_one_sum_to_its_task() -> None:
    # Items 0 and 1 are one group, 2 is of another.
    items = [make_item(number, "A", "A", "A") for number in range(3)]
    assert sum_groups((item, (1.0, 10.0 * at)) for at, item in enumerate(items)) == [[(2.0, 10.0), (1.0, 20.0)]]


@pytest.mark.parametrize(
    ("question", "expected", "answered"),
    [
        (AskedQuestion("SECOND", ("FIRST", "SECOND"), item_id="i"), "forward", "backward"),
        (AskedQuestion("A", LETTERS, item_id="i"), "the red block", "the blue block"),
        (AskedQuestion("A", LETTERS, item_id="i"), None, "B"),
        (AskedQuestion(None, LETTERS, item_id="i"), "A", "B"),
        (AskedQuestion("2", (), written=True, item_id="i"), "2.0", "3"),
    ],
)
def test_a_run_that_was_asked_otherwise_is_compared_by_right_and_wrong_alone(
    question: AskedQuestion, expected: str | None, answered: str
) -> None:
    record = Record("i", "i", {}, expected, answered, Outcome.WRONG)
    (item,) = share_items(responses(("x", "", "FIRST", 0.0)), {("x", ""): question}, [{"t": [record]}]).items
    assert (item.right(0), item.share_right, item.wrong_option(0)) == (0.0, 0.0, None)


def test_case_does_not_matter_and_versions_of_one_item_come_together() -> None:
    asked = {("x", way): AskedQuestion("YES", ("YES", "NO"), item_id="x") for way in ("one", "other")}
    people = responses(("x", "one", "NO", 0.0), ("x", "other", "YES", 1.0))
    (item,) = share_items(people, asked, [{"t": [make_record("x", "x", "yes", "no")]}]).items
    assert (item.wrong_option(0), item.wrong_options, item.share_right) == ("NO", ["NO"], 0.5)


def right_or_wrong(*observers: list[bool], runs: int = 1) -> list[SharedItem]:
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
    items = right_or_wrong(first, second, runs=2)
    one = find_consistency((item, two_runs(item, 0, 1)) for item in items)
    other = find_consistency((item, two_runs(item, 1, 0)) for item in items)
    assert one is not None and other is not None
    assert (one.kappa, one.agreement, one.bounds) == (other.kappa, other.agreement, other.bounds)
    assert one.right == other.right[::-1]
    if len(set(first)) > 1:
        for found in (
            run_consistency(right_or_wrong(first, first), 0),
            people_consistency(right_or_wrong(first, first, first)),
        ):
            assert found is not None and found.bounds is not None
            assert found.kappa == pytest.approx(1.0) and found.bounds[1] == pytest.approx(1.0)


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.sampled_from(LETTERS)] * 4), min_size=2, max_size=20), st.permutations(LETTERS))
def test_names_of_options_do_not_matter_to_kappa(answers: list[tuple[str, ...]], names: list[str]) -> None:
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
        found = run_consistency(right_or_wrong(run, *people), 0)
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
        found = run_consistency(right_or_wrong(one, other), 0)
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


def items_of_many(answers: list[tuple[list[bool], list[bool]]]) -> list[SharedItem]:
    """Items with who of the people and which of the runs are right."""
    said = [[["A" if right else "B" for right in side] for side in item] for item in answers]
    return [make_item(number, "A", people, runs) for number, (people, runs) in enumerate(said)]


ANSWERS = st.lists(
    st.tuples(st.lists(st.booleans(), min_size=1, max_size=4), st.lists(st.booleans(), min_size=3, max_size=3)),
    min_size=2,
    max_size=25,
)


@settings(max_examples=25)
@given(ANSWERS)
def test_it_is_spearmans_rho_with_ties(answers: list[tuple[list[bool], list[bool]]]) -> None:
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


def test_tables_of_counts_may_be_many() -> None:
    tables = np.array([[[2.0, 0.0], [0.0, 3.0]], [[0.0, 2.0], [3.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]])
    one, other, none = spearman(tables)
    assert (one, other) == pytest.approx((1.0, -1.0)) and np.isnan(none)


def test_its_interval_holds_what_a_large_world_has() -> None:
    rng = np.random.default_rng(5)

    def world(number: int) -> list[SharedItem]:
        hard = rng.normal(size=number)
        chance = 1 / (1 + np.exp(-0.5 - hard))
        people = rng.random((number, 5)) < chance[:, None]
        run = rng.random(number) < chance
        return items_of_many([(list(one), [bool(right)]) for one, right in zip(people, run, strict=True)])

    truth = correlate_difficulty(world(3_000), [0])
    assert truth is not None and truth.rho is not None
    inside = 0
    for _ in range(20):
        found = correlate_difficulty(world(100), [0])
        assert found is not None and found.interval is not None
        inside += found.interval[0] <= truth.rho <= found.interval[1]
    assert inside >= 17


def test_items_that_only_one_side_gets_right() -> None:
    answers = [
        ([True, True], [False, False]),
        ([True, True], [False, True]),
        ([True, False], [False, False]),
        ([False], [True, True]),
        ([False, False], [True, True]),
        ([True], [True, True]),
    ]
    items = items_of_many(answers)
    people, runs = find_opposed(items, runs_right=False), find_opposed(items, runs_right=True)
    assert people is not None and runs is not None
    assert (people.ids, people.items, people.percent) == (("0",), 6, pytest.approx(100 / 6))
    assert (runs.ids, runs.percent) == (("3", "4"), pytest.approx(100 / 3))
    assert people.interval[0] < people.percent < people.interval[1]
    # Of an item that one run was not scored on, nobody knows.
    unscored = [SharedItem(one.task, one.question, one.people, (one.records[0], None)) for one in items[:1]]
    again = find_opposed([*unscored, *items[1:]], runs_right=False)
    assert again is not None and (again.ids, again.items) == ((), 5)
    assert find_opposed([], runs_right=True) is None and correlate_difficulty([], [0]) is None


Said = tuple[str, str, list[str]]
"""Key, the run's answer and people's."""
SAID = st.lists(
    st.tuples(
        st.sampled_from("AB"), st.sampled_from(LETTERS), st.lists(st.sampled_from(LETTERS), min_size=1, max_size=4)
    ),
    min_size=1,
    max_size=20,
)


def items_said(said: Sequence[Said], choices: str = LETTERS) -> list[SharedItem]:
    return [make_item(number, key, people, [run], choices) for number, (key, run, people) in enumerate(said)]


def test_by_hand() -> None:
    """Errors of half and all of the people; set beside the other item's, the run's option is chosen half of the time
    in the one direction (B beside C and B), never in the other (C beside B).
    """
    items = items_said([("A", "B", ["B", "A"]), ("A", "C", ["C", "B"]), ("D", "A", ["A"]), ("D", "D", ["A"])])
    found = share_options(items, 0)
    assert found is not None and (found.errors, found.alone) == (2, 1)
    # Of weights 1/2 and 1: B with B in all of 1/2, C with C in half of 1.
    assert found.same == pytest.approx(100 * (0.5 + 0.5) / 1.5)
    assert found.expected == pytest.approx(100 * (0.5 + 0.0) / 1.5)
    assert found.beyond == pytest.approx(100 / 3)


@settings(max_examples=40)
@given(SAID)
def test_what_is_expected_is_the_mean_over_two_items_of_a_kind(said: list[Said]) -> None:
    found = share_options(items_said(said), 0)
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
    one, again = (share_options(items_said(given), 0, draws=20) for given in (said, renamed))
    assert (one is None) == (again is None)
    if one is not None and again is not None:
        assert (one.errors, one.alone) == (again.errors, again.alone)
        assert (one.same, one.expected) == pytest.approx((again.same, again.expected))


def world_of_options(rng: np.random.Generator, number: int, attracted: float) -> list[SharedItem]:
    """Both prefer early letters; on a share of the items, everybody who errs takes the same attractive option."""
    said: list[Said] = []
    for _ in range(number):
        key = str(rng.choice(list(LETTERS)))
        wrong = [letter for letter in LETTERS if letter != key]
        frequent = np.array([0.5, 0.25, 0.15, 0.1])
        chances = np.eye(4)[rng.choice(4, p=frequent)] if rng.random() < attracted else frequent
        answers = [key if rng.random() < 0.6 else str(rng.choice(wrong, p=chances)) for _ in range(4)]
        said.append((key, answers[0], answers[1:]))
    return items_said(said)


def test_attractive_options_give_what_is_beyond_frequencies() -> None:
    """The same option by frequency in .25 + .0625 + .0225 + .01 of errors; where one attracts, in all."""
    attracted = 0.5
    rng = np.random.default_rng(2)
    truth = 100 * attracted * (1 - 0.345)
    found = [share_options(world_of_options(rng, 150, attracted), 0, draws=400) for _ in range(40)]
    known = [one for one in found if one is not None and one.interval is not None]
    assert len(known) == 40
    assert np.mean([one.beyond for one in known]) == pytest.approx(truth, abs=2.5)
    assert np.mean([one.expected for one in known]) == pytest.approx(34.5, abs=2)
    inside = [one.interval[0] <= truth <= one.interval[1] for one in known if one.interval is not None]
    assert sum(inside) >= 35


def test_what_says_nothing() -> None:
    """Two choices have one wrong option; unknown and unparsed are none."""
    assert share_options(items_said([("A", "B", ["B"])] * 4, "AB"), 0) is None
    assert share_options(items_said([("A", "B", [UNKNOWN])] * 4), 0) is None
    unparsed = [make_item(number, "A", ["B"], [None]) for number in range(4)]
    assert share_options(unparsed, 0) is None and share_options([], 0) is None
    found = share_options(items_said([("A", "B", ["B"])] * 4), 0)
    assert found is not None and (found.same, found.expected, found.interval) == (100.0, 100.0, None)
