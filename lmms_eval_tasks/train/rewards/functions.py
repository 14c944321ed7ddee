"""Rewards by the names that trainers call them by: alone, combined, and as one number for any trainer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lmms_eval_tasks.train.rewards.answer_form import answer_text, answered_verdict, format_reward, read_answer
from lmms_eval_tasks.train.rewards.graph_rewards import causal_reward, ceiling, visual_reward
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample, read_sample
from lmms_eval_tasks.utils.answers.choice import read_choice

ALPHA = BETA = 0.5


def weighted_mean(rewards: tuple[float | None, ...], weights: tuple[float, ...]) -> float | None:
    """Mean of those rewards that apply, by their weights, so that rows remain comparable; None where none does."""
    if len(rewards) != len(weights) or any(weight < 0 for weight in weights):
        raise ValueError(f"Expected {len(rewards)} weights of 0 or more, but got {weights}.")
    given = [(reward, weight) for reward, weight in zip(rewards, weights, strict=True) if reward is not None and weight]
    total = sum(weight for _, weight in given)
    return sum(reward * weight for reward, weight in given) / total if given else None


def graph_reward(response: str, sample: RewardSample, alpha: float = ALPHA, beta: float = BETA) -> float | None:
    """R = alpha * causal + beta * visual over alpha + beta: with the paper's 0.5 and 0.5 its formula as it stands."""
    reward = weighted_mean((causal_reward(response, sample), visual_reward(response, sample)), (alpha, beta))
    answer = read_answer(response)
    return reward if reward is None or answer is None else min(reward, ceiling(answer, sample))


_OPTIONS = range(2, 27)


def _is_key(answered: str | None, sample: RewardSample) -> float | None:
    if sample.key is None:
        return None
    return float(answered is not None and answered.casefold() == sample.key.casefold())


def choice_reward(response: str, sample: RewardSample) -> float | None:
    """Correctness of the option letter, read as the multiple-choice benchmarks read it."""
    return _is_key(read_choice(response, sample.options), sample) if len(sample.options) in _OPTIONS else None


def verdict_reward(response: str, sample: RewardSample) -> float | None:
    """1 where the answer is the key, a yes or no in the form, else 0: the binary reward of the paper's ablation."""
    return _is_key(answered_verdict(response), sample)


RewardFunction = Callable[[str, RewardSample], float | None]
"""From what a model said and the question to a reward in [0, 1], or None where it does not apply."""

JUDGED_CAUSAL, JUDGED_VISUAL = "judged_causal", "judged_visual"
"""The rewards that a judge gives, by `RewardJudge`."""


REWARDS: Mapping[str, RewardFunction] = {
    "causal": causal_reward,
    "visual": visual_reward,
    "graph": graph_reward,
    "choice": choice_reward,
    "format": format_reward,
}


def score_answer(
    response: object,
    ground_truth: object,
    weights: Mapping[str, float],
    rewards: Mapping[str, RewardFunction] = REWARDS,
) -> dict[str, float]:
    """Return the rewards of one answer and, as ``score``, their mean by some weights; for EasyR1, verl and others.

    Args:
        response: What the model said: a text, or a list of messages, of which the assistant's last is the answer.
        ground_truth: The columns of the training row (docs/training.md), as a mapping or as one JSON text; any other
            text is the key.
        weights: Names of rewards to their weights, of which the mean is made; those of the others are 0.
        rewards: The rewards, by name.

    Returns:
        ``score`` from 0 to 1, 0 where no reward with a weight applies, and every reward: NaN where it does not apply.

    Raises:
        KeyError: a weight is of no reward.
        TypeError: the response is no answer.
        ValueError: the ground truth has neither a graph nor a key.
    """
    text, sample = answer_text(response), read_sample(_columns(ground_truth))
    if not sample.actions and sample.key is None:
        raise ValueError(
            "Expected a ground truth with the columns of a training row, graph or answer at least, but got "
            f"{type(ground_truth).__name__}: {repr(ground_truth)[:200]}"
        )
    given = {name: reward(text, sample) for name, reward in rewards.items()}
    mean = weighted_mean(tuple(given[name] for name in weights), tuple(weights.values()))
    return {"score": mean or 0.0, **{name: float("nan") if one is None else one for name, one in given.items()}}


def _columns(ground_truth: object) -> Mapping[str, Any]:
    if isinstance(ground_truth, str):
        try:
            ground_truth = json.loads(ground_truth)
        except (ValueError, RecursionError):
            return {"answer": ground_truth}
    return ground_truth if isinstance(ground_truth, Mapping) else {"answer": ground_truth}
