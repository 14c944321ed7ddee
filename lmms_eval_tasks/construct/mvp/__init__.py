"""Make minimal pairs from the annotations of other sets of videos: `lmms-eval-tasks build mvp`."""

from importlib import import_module

from lmms_eval_tasks.construct.engine.command import pipeline_command

build = pipeline_command(lambda: import_module(f"{__name__}.pipeline").PIPELINE)
