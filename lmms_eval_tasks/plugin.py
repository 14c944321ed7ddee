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

    from lmms_eval_tasks.host.index import hook_task_manager
    from lmms_eval_tasks.host.model_identity import hook_model_arguments
    from lmms_eval_tasks.host.models import CHAT_MODELS, MODELS
    from lmms_eval_tasks.host.predictions import hook_predict_only
    from lmms_eval_tasks.host.ranks import leave_process_group
    from lmms_eval_tasks.host.saving import hook_saving
    from lmms_eval_tasks.utils.benchmark.registry import registry
    from lmms_eval_tasks.utils.core.variables import KNOWN, describe_unknown_variables

    hooks = (
        (hook_task_manager, "has no tasks"),
        (hook_saving, "writes no run cards"),
        (hook_predict_only, "cannot score the answers of --predict_only later"),
        (hook_model_arguments, "keeps no answers"),
    )
    for hook, loss in hooks:
        try:
            hook()
        except (ImportError, AttributeError, TypeError) as error:
            logger.warning(
                "lmms_eval_tasks {} in this lmms-eval, which is built differently ({}: {}). It works with 0.7.3.",
                loss,
                type(error).__name__,
                error,
            )
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
