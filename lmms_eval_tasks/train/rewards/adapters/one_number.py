"""Rewards for trainers that take one number for an answer and log the others: EasyR1 and verl."""

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
    """Rewards of an answer and their weights."""

    rewards: Mapping[str, RewardFunction]
    weights: Mapping[str, float] = field(default_factory=lambda: {"causal": ALPHA, "visual": BETA})


def batch_scores(reward_inputs: Sequence[Mapping[str, Any]], scores: Scores) -> list[dict[str, float]]:
    """The scores of a batch of EasyR1's, each with its `overall`."""
    if isinstance(reward_inputs, Mapping):
        raise TypeError("Expected a list of answers, but got one: set REWARD_TYPE to batch.")
    return [_scores(one.get("response"), one.get("ground_truth"), scores, name="overall") for one in reward_inputs]


def answer_score(solution_str: object, ground_truth: object, scores: Scores) -> dict[str, float]:
    """The scores of one answer for verl, all of `scores.rewards`, NaN where one does not apply: it wants equal keys."""
    given = _scores(solution_str, ground_truth, scores, name="score")
    return {**dict.fromkeys(scores.rewards, float("nan")), **given}


def _scores(response: object, ground_truth: object, scores: Scores, name: str) -> dict[str, float]:
    """Each reward that applies to an answer, and under `name` their weighted mean, 0 where none of them does."""
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
