"""Adds the rewards to ms-swift, for `swift rlhf --external_plugins`: `--reward_funcs causal visual`.

Here `format` is ours: ms-swift's own asks for no block of claims.
"""

from swift.rewards import ORM, AsyncORM, orms

from lmms_eval_tasks.train.countervqa.rewards import REWARDS
from lmms_eval_tasks.train.rewards.adapters.swift import judged_orm_class, register
from lmms_eval_tasks.train.rewards.judge import CAUSAL, VISUAL, JudgeServer

orms.pop("format", None)
register(orms, ORM, REWARDS)
orms.update({name: judged_orm_class(AsyncORM, name, JudgeServer.from_environment) for name in (CAUSAL, VISUAL)})
