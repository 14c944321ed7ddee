"""Make a set of CaST-Bench's kind from clips and tracks of what is in them: `lmms-eval-tasks build cast_bench`."""

from importlib import import_module

from lmms_eval_tasks.construct.engine.command import pipeline_command

build = pipeline_command(lambda: import_module(f"{__name__}.pipeline").PIPELINE)
