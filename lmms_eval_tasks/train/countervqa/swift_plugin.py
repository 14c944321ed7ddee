"""Adds the rewards to ms-swift, for `swift rlhf --external_plugins`: `--reward_funcs causal visual`."""

from swift.rewards import ORM, AsyncORM, orms

from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.rewards.adapters.swift import judged_orm_class, register
from lmms_eval_tasks.train.rewards.judge import JudgeServer

register(orms, ORM, REWARDS)
orms["visual_judged"] = judged_orm_class(AsyncORM, "visual_judged", JudgeServer.from_environment)
