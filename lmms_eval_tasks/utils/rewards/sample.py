"""Former place of `lmms_eval_tasks.train.rewards.sample`."""

from lmms_eval_tasks.train.rewards.sample import *  # noqa: F403
from lmms_eval_tasks.utils.core.former import warn_of_former_place

warn_of_former_place("lmms_eval_tasks.train.rewards.sample")
