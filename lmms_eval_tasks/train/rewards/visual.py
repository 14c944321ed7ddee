"""The visual reward: how well the actions that an answer says took place agree with those of the clip.

Source: CounterVQA (arXiv 2511.19923), section 3.2, rewards that reasoning names what is seen and invents nothing, and
does not say how it is measured. This measure is ours; docs/training.md says what it does and why.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from lmms_eval_tasks.train.rewards.actions import ABSENT, action_finder
from lmms_eval_tasks.train.rewards.form import read_answer
from lmms_eval_tasks.train.rewards.sample import RewardSample


def visual_reward(response: object, sample: RewardSample) -> float | None:
    """The visual reward of an answer, in [0, 1]; raises nothing, and takes time that is linear in its length."""
    if not sample.actions:
        return None
    answer = read_answer(response)
    if answer is None:
        return 0.0
    named = [action_finder(sample).find(phrase) for phrase in answer.happened]
    invented = sum(places in (frozenset(), {ABSENT}) for places in named)
    seen = list(dict.fromkeys(places for places in named if places not in (frozenset(), {ABSENT})))
    if not seen or invented > len(seen):
        return 0.0
    covered = len(sample.relevant & frozenset().union(*seen)) / len(sample.relevant)
    return covered * _in_order(seen) / (len(seen) + invented)


def _in_order(seen: Iterable[frozenset[int]]) -> int:
    """The most of the actions that stand in the order of the clip, where each may be any of its places."""
    ends: list[int] = []
    for places in seen:
        for place in sorted(places, reverse=True):
            at = bisect_left(ends, place)
            ends[at : at + 1] = [place]
    return len(ends)
