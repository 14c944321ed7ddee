import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.scoring.groups import (
    GroupCounts,
    count_groups,
    macro_mean,
    pair_accuracy,
    pair_accuracy_strata_mean,
    pairs_scored,
    rate,
    single_accuracy,
    total,
)

Credits = list[dict[str, object]]
FLAGS = st.sampled_from([True, False, None])


def pairs(*flags: tuple[bool | None, bool | None]) -> Credits:
    return [{"group_id": str(index), "correct": flag} for index, pair in enumerate(flags) for flag in pair]


credit_lists = st.lists(st.tuples(FLAGS, FLAGS), max_size=30).map(lambda flags: pairs(*flags))


def test_counts_by_hand() -> None:
    credits = pairs((True, True), (True, False), (False, False), (True, None))
    assert count_groups(credits) == GroupCounts(groups=3, groups_right=1, items=7, items_right=4, unscored=1)
    assert pair_accuracy(credits) == pytest.approx(100 / 3)
    assert single_accuracy(credits) == pytest.approx(100 * 4 / 7)


def test_a_pair_cut_in_two_leaves_the_pairs_and_stays_in_the_items() -> None:
    credits = [*pairs((True, True)), {"group_id": "cut", "correct": False}]
    assert pair_accuracy(credits) == 100
    assert single_accuracy(credits) == pytest.approx(200 / 3)


def test_a_group_of_three_is_no_pair() -> None:
    # The official CausalVQA code gives three right answers to one question 0 and two of three a full pair.
    credits = [{"group_id": "q", "correct": True}] * 3
    assert pair_accuracy(credits) is None
    assert single_accuracy(credits) == 100


@pytest.mark.parametrize("score", [pair_accuracy, single_accuracy, pair_accuracy_strata_mean, rate])
def test_nothing_scored_is_no_score(score: Callable[[list[object]], float | None]) -> None:
    assert score([]) is None


def test_nothing_but_unscored_items_is_no_score() -> None:
    credits = pairs((None, None), (None, None))
    assert pair_accuracy(credits) is None
    assert single_accuracy(credits) is None


def test_strata_weigh_alike_whatever_their_size() -> None:
    big = [{**credit, "stratum": "big"} for credit in pairs((True, True), (False, True), (False, True), (True, True))]
    small = [{"group_id": "s", "correct": True, "stratum": "small"}] * 2
    assert pair_accuracy_strata_mean(big + small) == pytest.approx((50 + 100) / 2)
    assert pair_accuracy(big + small) == pytest.approx(60)


def test_rate_leaves_out_what_was_not_asked() -> None:
    assert rate([100.0, 0.0, None, 0.0, 0.0]) == 25


def test_macro_mean_needs_every_part() -> None:
    assert macro_mean([10.0, 20.0], [1, 1000], weight_by_size=False) == 15
    assert macro_mean([10.0, None]) is None
    assert macro_mean([]) is None


def test_scored_pairs_are_counted() -> None:
    assert pairs_scored(pairs((True, True), (True, None), (False, True))) == 2
    assert total([2, 3]) == 5
    assert total([2, None]) is None


@given(credit_lists)
def test_bounds(credits: Credits) -> None:
    pair, single = pair_accuracy(credits), single_accuracy(credits)
    assert pair is None or 0 <= pair <= 100
    assert single is None or 0 <= single <= 100
    if single is not None and not any(credit["correct"] is None for credit in credits):
        assert pair is not None and pair <= single + 1e-9 and single <= (100 + pair) / 2 + 1e-9


@given(credit_lists, st.randoms(use_true_random=False))
def test_order_does_not_matter(credits: Credits, shuffle: random.Random) -> None:
    shuffled = list(credits)
    shuffle.shuffle(shuffled)
    assert count_groups(shuffled) == count_groups(credits)


@given(credit_lists, credit_lists)
def test_shards_of_whole_groups_merge(left: Credits, right: Credits) -> None:
    apart = [{**credit, "group_id": f"other {credit['group_id']}"} for credit in right]
    assert count_groups(left) + count_groups(apart) == count_groups(left + apart)


@given(st.integers(min_value=1, max_value=50))
def test_always_the_same_letter_gets_no_minimal_pair(number: int) -> None:
    # Members of a minimal pair have different keys, so a constant answer is right on exactly one of them.
    credits = pairs(*[(True, False)] * number)
    assert (pair_accuracy(credits), single_accuracy(credits)) == (0, 50)
