"""Rewards for TRL.

TRL 1.16.0's GRPO trainer calls `reward(prompts=…, completions=…, completion_ids=…, **columns)` and takes a list of
floats where None becomes NaN and takes no part in the sum; completions are texts or, for conversations, lists of
messages; it logs a function by its name (trl/trainer/grpo_trainer.py, `_calculate_rewards`). It has no video input, so
this is for trainers that keep its signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lmms_eval_tasks.utils.rewards.adapters.batches import batch_rewards
from lmms_eval_tasks.utils.rewards.functions import RewardFunction


def trl_reward(name: str, reward: RewardFunction) -> Callable[..., list[float | None]]:
    """A reward as TRL calls it, under a name."""

    def call(prompts: Sequence[object], completions: Sequence[object], **columns: Any) -> list[float | None]:
        return batch_rewards(reward, completions, columns)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = reward.__doc__
    return call
