"""Several rewards as one."""

from __future__ import annotations

from lmms_eval_tasks.train.rewards.causal import causal_reward, ceiling
from lmms_eval_tasks.train.rewards.form import read_answer
from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.train.rewards.visual import visual_reward

ALPHA = BETA = 0.5


def weighted_mean(rewards: tuple[float | None, ...], weights: tuple[float, ...]) -> float | None:
    """Mean of those rewards that apply, by their weights, so that rows remain comparable; None where none does."""
    if len(rewards) != len(weights) or any(weight < 0 for weight in weights):
        raise ValueError(f"Expected {len(rewards)} weights of 0 or more, but got {weights}.")
    given = [(reward, weight) for reward, weight in zip(rewards, weights, strict=True) if reward is not None and weight]
    total = sum(weight for _, weight in given)
    return sum(reward * weight for reward, weight in given) / total if given else None


def graph_reward(response: object, sample: RewardSample, alpha: float = ALPHA, beta: float = BETA) -> float | None:
    """R = alpha * causal + beta * visual over alpha + beta: with the paper's 0.5 and 0.5 its formula as it stands."""
    reward = weighted_mean((causal_reward(response, sample), visual_reward(response, sample)), (alpha, beta))
    answer = read_answer(response)
    return reward if reward is None or answer is None else min(reward, ceiling(answer, sample))
