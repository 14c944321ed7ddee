import numpy as np
import pytest
from scipy import stats

from lmms_eval_tasks.utils.bootstrap import macro_interval, ratio_draws


def test_one_ratio_of_yes_and_no_is_binomial() -> None:
    # 397 of 793 pairs right: the bootstrap of a proportion is the binomial distribution itself.
    low, high = macro_interval([[(100.0, 1.0)] * 397 + [(0.0, 1.0)] * 396]) or (0, 0)
    exact = 100 * stats.binom.ppf([0.025, 0.975], 793, 397 / 793) / 793
    assert (low, high) == pytest.approx(tuple(exact), abs=0.3)


def test_the_same_seed_gives_the_same_interval_in_any_order() -> None:
    part = [(100.0, 2.0), (0.0, 1.0), (200.0, 2.0)] * 10
    assert macro_interval([part], seed=3) == macro_interval([part[::-1]], seed=3)
    assert macro_interval([part], seed=3) != macro_interval([part], seed=4)


def test_a_mean_of_parts_is_surer_than_one_part() -> None:
    part = [(100.0, 1.0), (0.0, 1.0)] * 50
    one, four = macro_interval([part]), macro_interval([part] * 4)
    assert one and four
    assert (four[1] - four[0]) == pytest.approx((one[1] - one[0]) / 2, rel=0.1)


def test_a_certain_score_has_no_width() -> None:
    assert macro_interval([[(100.0, 1.0)] * 5]) == (100.0, 100.0)


def test_no_groups_no_interval() -> None:
    assert macro_interval([]) is None
    assert macro_interval([[(100.0, 1.0)], []]) is None
    assert np.isnan(ratio_draws([], np.random.default_rng(0), 3)).all()
