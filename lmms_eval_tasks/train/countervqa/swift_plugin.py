"""Adds the rewards to ms-swift, for `swift rlhf --external_plugins`: `--reward_funcs causal visual`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swift.rewards import ORM, AsyncORM, orms

from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.rewards.functions import JUDGED_CAUSAL, JUDGED_VISUAL
from lmms_eval_tasks.train.rewards.swift_classes import judged_orm_class, orm_class, register

if TYPE_CHECKING:
    from lmms_eval_tasks.train.rewards.judged import RewardJudge


def _judge() -> RewardJudge:
    # Only where a judged reward is used: a judge needs what the other rewards do not.
    from lmms_eval_tasks.train.rewards.judged import RewardJudge

    return RewardJudge.from_environment()


register(orms, ORM, REWARDS)
orms["format"] = orm_class(ORM, "format", REWARDS["format"])
orms.update({name: judged_orm_class(AsyncORM, name, _judge) for name in (JUDGED_CAUSAL, JUDGED_VISUAL)})
