"""Several rewards of one answer with their sum, for trainers that take one number and log the others."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


def score_response(response: object, ground_truth: object, scores: Scores, name: str) -> dict[str, float]:
    """Each reward that applies to an answer, and under `name` their weighted mean, 0 where none of them does.

    Args:
        response: What the model said.
        ground_truth: The columns of the question as an object or its JSON text; another text is the key.
        scores: The rewards.
        name: Under which the mean is given.
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
