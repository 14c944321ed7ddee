"""Make counterfactual questions from annotated clips: `lmms-eval-tasks build countervqa`."""

from importlib import import_module

from lmms_eval_tasks.construct.engine.command import pipeline_command

build = pipeline_command(lambda: import_module(f"{__name__}.pipeline").PIPELINE)
