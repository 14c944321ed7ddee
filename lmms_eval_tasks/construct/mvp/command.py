"""`lmms-eval-tasks build mvp`: minimal pairs from the annotations of other sets of videos."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.construct.engine.command import pipeline_command
from lmms_eval_tasks.construct.engine.running import Pipeline


def _load() -> Pipeline[Any]:
    from lmms_eval_tasks.construct.mvp.pipeline import PIPELINE

    return PIPELINE


build = pipeline_command(_load)
