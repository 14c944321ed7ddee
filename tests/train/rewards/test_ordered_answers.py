"""Answers that were ordered by hand: each reward is to put them into the same order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import fmean

import pytest
from oracles import measurement
from ordered_answers import OrderedGroup, read_formed

from lmms_eval_tasks.train.countervqa.rewards import REWARDS

GROUPS = list(read_formed())


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_better_answer_earns_more(group: OrderedGroup) -> None:
    reward = REWARDS["graph" if group.reward == "combined" else group.reward]
    levels = [[reward(answer, group.sample) for answer in level] for level in group.levels]
    assert all(value is not None and 0.0 <= value <= 1.0 for level in levels for value in level)
    # What claims nothing and what claims only wrong things both earn nothing.
    assert all(min(better) > max(worse) or not any((*better, *worse)) for better, worse in pairwise(levels)), levels
    assert any(levels[0])


@pytest.mark.slow
def test_neither_distance_nor_order_earn_what_the_links_do() -> None:
    attacks = measurement("reward_attacks")
    samples = attacks.samples_of_tests()
    of = {
        key: Counter(attacks.distance(one) for one in samples if attacks.expected_verdict(one) == key)
        for key in ("yes", "no")
    }
    assert of["yes"] == of["no"] and len(of["yes"]) >= 10 and len(samples) >= 250
    for name in ("the two before, not the asked", "no from a distance of 3 on", "links and verdict by shared words"):
        answers = [attacks.KNOWING_NOTHING[name](one, None) for one in samples[::3]]
        assert fmean(map(attacks.causal_reward, answers, samples[::3])) < 0.3, name
