"""`lmms-eval-tasks train BENCHMARK …` for benchmarks whose items are multiple choice."""

from __future__ import annotations

from typing import Annotated

import typer

from lmms_eval_tasks.train.stages.commands import add_commands
from lmms_eval_tasks.train.stages.released_choices import ChoiceSets
from lmms_eval_tasks.train.stages.staging import Inputs, Written
from lmms_eval_tasks.utils.core.work import Progress

Split = Annotated[str | None, typer.Option(help="Split of the set, where it has several.")]


def choice_app(sets: ChoiceSets) -> typer.Typer:
    """The subcommands that train on sets in the form of a benchmark whose trainer reads such."""
    help_text = f"Train on multiple-choice sets of your own in {sets.benchmark.card.title}'s form, on ms-swift."
    app = typer.Typer(no_args_is_help=True, help=help_text)

    @app.callback()
    def train() -> None:
        pass

    def sft(inputs: Inputs, progress: Progress, *, split: Split = None) -> Written:
        """Train on the letters of the right options: writes rows and configuration, then runs ms-swift; other options
        are its own."""
        from lmms_eval_tasks.train.stages.choices import write_choice_sft

        return write_choice_sft(sets, inputs, split, progress)

    def grpo(inputs: Inputs, progress: Progress, *, split: Split = None) -> Written:
        """Train by GRPO on whether the option that an answer chooses is the right one; other options as for sft."""
        from lmms_eval_tasks.train.stages.choices import write_choice_grpo

        return write_choice_grpo(sets, inputs, split, progress)

    add_commands(app, sft, grpo)
    return app
