"""`lmms-eval-tasks build cast_bench`: a set of questions with evidence from clips and tracks."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.construct.engine.command import pipeline_command
from lmms_eval_tasks.construct.engine.running import Pipeline


def _load() -> Pipeline[Any]:
    from lmms_eval_tasks.construct.cast_bench.pipeline import PIPELINE

    return PIPELINE


build = pipeline_command(_load)
