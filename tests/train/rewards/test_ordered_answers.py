"""Answers that were ordered by hand: each reward is to put them into the same order."""

from __future__ import annotations

from itertools import pairwise

import pytest
from ordered_answers import HELD_OUT, ORDERED, OrderedGroup, read_groups

from lmms_eval_tasks.train.countervqa.rewards import REWARDS

GROUPS = list(read_groups(ORDERED))
HELD_OUT_GROUPS = list(read_groups(HELD_OUT))
IN_ORDER_OF_THE_HELD_OUT = 51
"""No rule is made by these: this number may rise, but not by looking at them."""


def level_rewards(group: OrderedGroup) -> list[list[float]]:
    reward = REWARDS["graph" if group.reward == "combined" else group.reward]
    levels = [[reward(answer, group.sample) for answer in level] for level in group.levels]
    assert all(value is not None and 0.0 <= value <= 1.0 for level in levels for value in level)
    return [[float(value or 0.0) for value in level] for level in levels]


def in_order(levels: list[list[float]]) -> bool:
    return all(min(better) > max(worse) for better, worse in pairwise(levels))


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_better_answer_earns_more(group: OrderedGroup) -> None:
    levels = level_rewards(group)
    assert in_order(levels), levels


def test_most_orders_of_answers_that_no_rule_was_made_by_are_right() -> None:
    assert sum(in_order(level_rewards(group)) for group in HELD_OUT_GROUPS) >= IN_ORDER_OF_THE_HELD_OUT


def test_there_are_enough_groups() -> None:
    assert len(GROUPS) >= 80 and len(HELD_OUT_GROUPS) >= 50
    assert {group.reward for group in GROUPS} == {"causal", "visual", "combined", "format", "verdict", "choice"}
