"""The rewards of CounterVQA: those of every set, and the verdict's."""

from __future__ import annotations

from collections.abc import Mapping

from lmms_eval_tasks.train.rewards.functions import REWARDS as SHARED
from lmms_eval_tasks.train.rewards.functions import RewardFunction, correctness_reward
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample
from lmms_eval_tasks.utils.answers.verdict import UNCLEAR, read_verdict


def verdict_reward(response: object, sample: RewardSample) -> float | None:
    """1 where the verdict of an answer is the key, else 0: the binary reward of the paper's ablation."""
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
