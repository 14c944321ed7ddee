"""Rewards of CounterVQA for trainers, with what loads a file by its path: EasyR1 and verl take functions from this
one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_tasks.train.rewards.functions import (
    ALPHA,
    BETA,
    RewardFunction,
    Scores,
    answer_score,
    batch_scores,
    correctness_reward,
)
from lmms_eval_tasks.train.rewards.functions import REWARDS as SHARED
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample
from lmms_eval_tasks.utils.answers.verdict import UNCLEAR, read_verdict

REWARD_NAME = "countervqa"
"""For EasyR1."""
REWARD_TYPE = "batch"
"""For EasyR1: its function takes a list."""


def verdict_reward(response: object, sample: RewardSample) -> float | None:
    """1 where the verdict of an answer is the key, else 0: the binary reward of the paper's ablation; raises
    nothing."""
    return correctness_reward(response, sample, _read)


def _read(response: str, sample: RewardSample) -> str | None:
    """The verdict of a response; None where its tagged answer alone has another, as the tag stresses its beginning."""
    head, closed, tail = response.rpartition("</answer>")
    _, opened, tagged = head.rpartition("<answer>")
    is_tagged = bool(closed and opened) and not tail.strip()
    verdict = read_verdict(response, sample.question)
    is_clear = verdict != UNCLEAR and (not is_tagged or read_verdict(tagged, sample.question) == verdict)
    return verdict if is_clear else None


REWARDS: Mapping[str, RewardFunction] = {**SHARED, "verdict": verdict_reward}
_OF_A_VERDICT = {name: reward for name, reward in REWARDS.items() if name not in ("choice", "graph")}


def compute_scores(
    reward_inputs: Sequence[Mapping[str, Any]],
    alpha: float = ALPHA,
    beta: float = BETA,
    verdict: float = 0.0,
    form: float = 0.0,
) -> list[dict[str, float]]:
    """The rewards of a batch, for EasyR1; `overall` is their mean by the weights that are given."""
    return batch_scores(reward_inputs, _scores(alpha, beta, verdict, form))


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: object = None,
    alpha: float = ALPHA,
    beta: float = BETA,
    verdict: float = 0.0,
    form: float = 0.0,
    **others: object,
) -> dict[str, float]:
    """The rewards of an answer, for verl; `score` is their mean by the weights that are given."""
    return answer_score(solution_str, ground_truth, _scores(alpha, beta, verdict, form))


def _scores(alpha: float, beta: float, verdict: float, form: float) -> Scores:
    return Scores(_OF_A_VERDICT, {"causal": alpha, "visual": beta, "verdict": verdict, "format": form})
