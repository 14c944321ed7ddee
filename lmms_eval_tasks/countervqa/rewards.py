"""Former place of `lmms_eval_tasks.train.countervqa.rewards`."""

from lmms_eval_tasks.train.countervqa.rewards import *  # noqa: F403
from lmms_eval_tasks.utils.core.former import warn_of_former_place

warn_of_former_place("lmms_eval_tasks.train.countervqa.rewards")
