"""Entry point `lmms_eval.models`: declares our models, and puts the tasks of every benchmark into lmms-eval's index."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING

from loguru import logger

if TYPE_CHECKING:
    from lmms_eval.models.registry_v2 import ModelManifest


def register() -> list[ModelManifest]:
    """Add our tasks to lmms-eval and return our models; called by lmms-eval when its models are imported."""
    # Not at the top: importing lmms-eval's models calls this function, which must be there by then.
    from lmms_eval.models.registry_v2 import ModelManifest

    from lmms_eval_tasks.host.ranks import leave_process_group
    from lmms_eval_tasks.host.replacements import replace_first
    from lmms_eval_tasks.models import CHAT_MODELS, MODELS
    from lmms_eval_tasks.registry import registry
    from lmms_eval_tasks.utils.core.text import KNOWN, describe_unknown_variables

    replace_first()
    unknown = describe_unknown_variables(os.environ, {*KNOWN, *registry().variables})
    for warning in (*registry().faults, *unknown):
        logger.warning("{}", warning)
    atexit.register(leave_process_group)
    ours = [
        ModelManifest(model_id=name, simple_class_path=f"lmms_eval_tasks.models.{path}")
        for name, path in MODELS.items()
    ]
    chat = [
        ModelManifest(model_id=name, chat_class_path=f"lmms_eval_tasks.models.{path}")
        for name, path in CHAT_MODELS.items()
    ]
    return ours + chat
