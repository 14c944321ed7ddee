"""Rewards for EasyR1.

EasyR1 loads a function from a file and calls it with a list of objects that have `response`, `response_length` and
`ground_truth`, in newer versions where the file says `REWARD_TYPE = "batch"`. It takes as many objects whose `overall`
is the reward, and logs the mean of every other value (hiyouga/EasyR1 at commit 46c6c21, `BatchFunctionRewardManager` in
verl/workers/reward/function.py, and examples/reward_function/math.py). `ground_truth` is the only column that it
passes, so that it holds all that the rewards need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_tasks.train.rewards.adapters.scores import Scores, score_response


def batch_scores(reward_inputs: Sequence[Mapping[str, Any]], scores: Scores) -> list[dict[str, float]]:
    """The scores of a batch, each with its `overall`.

    A reward that does not apply has no value of its own, and an answer to which none applies an overall of 0.

    Raises:
        TypeError: one object came in place of a list.
    """
    if isinstance(reward_inputs, Mapping):
        raise TypeError("Expected a list of answers, but got one: set REWARD_TYPE to batch.")
    return [
        score_response(one.get("response"), one.get("ground_truth"), scores, name="overall") for one in reward_inputs
    ]
