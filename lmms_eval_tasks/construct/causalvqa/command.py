"""`lmms-eval-tasks build causalvqa`: questions in two versions from annotators' questions about clips."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.construct.engine.command import pipeline_command
from lmms_eval_tasks.construct.engine.running import Pipeline


def _load() -> Pipeline[Any]:
    from lmms_eval_tasks.construct.causalvqa.pipeline import PIPELINE

    return PIPELINE


build = pipeline_command(_load)
