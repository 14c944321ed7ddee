"""The rewards of CounterVQA: those of every set, and the verdict's."""

from __future__ import annotations

from collections.abc import Mapping

from lmms_eval_tasks.train.rewards.functions import REWARDS as SHARED
from lmms_eval_tasks.train.rewards.functions import RewardFunction, verdict_reward

REWARDS: Mapping[str, RewardFunction] = {**SHARED, "verdict": verdict_reward}
