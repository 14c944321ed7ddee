"""Adds the rewards of every set to ms-swift, for `swift rlhf --external_plugins`: `--reward_funcs choice`."""

from swift.rewards import ORM, orms

from lmms_eval_tasks.train.rewards.functions import REWARDS
from lmms_eval_tasks.train.rewards.swift_classes import register

register(orms, ORM, REWARDS)
