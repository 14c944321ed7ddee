"""The rewards by the names that a trainer calls them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lmms_eval_tasks.train.rewards.causal import causal_reward
from lmms_eval_tasks.train.rewards.combine import graph_reward
from lmms_eval_tasks.train.rewards.correctness import choice_reward
from lmms_eval_tasks.train.rewards.form import format_reward
from lmms_eval_tasks.train.rewards.sample import RewardSample
from lmms_eval_tasks.train.rewards.visual import visual_reward

RewardFunction = Callable[[object, RewardSample], float | None]
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
