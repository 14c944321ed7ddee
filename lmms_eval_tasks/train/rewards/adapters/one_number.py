"""Rewards for trainers that take one number for an answer and log the others: EasyR1 and verl.

EasyR1 loads a function from a file and calls it with a list of objects that have `response`, `response_length` and
`ground_truth`, in newer versions where the file says `REWARD_TYPE = "batch"`. It takes as many objects whose `overall`
is the reward, and logs the mean of every other value (hiyouga/EasyR1 at commit 46c6c21, `BatchFunctionRewardManager` in
verl/workers/reward/function.py, and examples/reward_function/math.py). `ground_truth` is the only column that it
passes, so that it holds all that the rewards need.

verl 0.9.1 calls `compute_score(data_source=…, solution_str=…, ground_truth=…, extra_info=…)`, with further named
arguments where it runs a reward model's server, and takes a number or an object whose `score` is the reward and whose
other values are logged (verl/experimental/reward_loop/reward_manager/naive.py, `run_single`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_tasks.train.rewards.combine import ALPHA, BETA, weighted_mean
from lmms_eval_tasks.train.rewards.functions import RewardFunction
from lmms_eval_tasks.train.rewards.sample import read_sample


@dataclass(frozen=True)
class Scores:
    """Which rewards an answer gets.

    Attributes:
        rewards: Name to reward.
        weights: Name to its weight in the sum; those without one are only logged.
    """

    rewards: Mapping[str, RewardFunction]
    weights: Mapping[str, float] = field(default_factory=lambda: {"causal": ALPHA, "visual": BETA})


def batch_scores(reward_inputs: Sequence[Mapping[str, Any]], scores: Scores) -> list[dict[str, float]]:
    """The scores of a batch of EasyR1's, each with its `overall`.

    A reward that does not apply has no value of its own, and an answer to which none applies an overall of 0.

    Raises:
        TypeError: one object came in place of a list.
    """
    if isinstance(reward_inputs, Mapping):
        raise TypeError("Expected a list of answers, but got one: set REWARD_TYPE to batch.")
    return [_scores(one.get("response"), one.get("ground_truth"), scores, name="overall") for one in reward_inputs]


def answer_score(solution_str: object, ground_truth: object, scores: Scores) -> dict[str, float]:
    """The scores of one answer for verl, all of `scores.rewards`, NaN where one does not apply: it wants equal keys."""
    given = _scores(solution_str, ground_truth, scores, name="score")
    return {**dict.fromkeys(scores.rewards, float("nan")), **given}


def _scores(response: object, ground_truth: object, scores: Scores, name: str) -> dict[str, float]:
    """Each reward that applies to an answer, and under `name` their weighted mean, 0 where none of them does.

    `ground_truth` is the columns of the question as an object or its JSON text; another text is the key.
    """
    sample = read_sample(_columns(ground_truth))
    given = {label: reward(response, sample) for label, reward in scores.rewards.items()}
    weighted = [label for label in given if label in scores.weights]
    mean = weighted_mean(tuple(given[one] for one in weighted), tuple(scores.weights[one] for one in weighted))
    return {name: mean or 0.0, **{label: value for label, value in given.items() if value is not None}}


def _columns(ground_truth: object) -> Mapping[str, Any]:
    if isinstance(ground_truth, str):
        try:
            ground_truth = json.loads(ground_truth)
        except (ValueError, RecursionError):
            return {"answer": ground_truth}
    return ground_truth if isinstance(ground_truth, Mapping) else {"answer": ground_truth}
