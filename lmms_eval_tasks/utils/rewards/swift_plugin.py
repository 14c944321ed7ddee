"""Former place of `lmms_eval_tasks.train.rewards.swift_plugin`."""

import lmms_eval_tasks.train.rewards.swift_plugin  # noqa: F401
from lmms_eval_tasks.utils.core.former import warn_of_former_place

warn_of_former_place("lmms_eval_tasks.train.rewards.swift_plugin")
