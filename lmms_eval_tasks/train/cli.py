"""The commands `lmms-eval-tasks train …`: post-training as a paper does it, or by the keys of a multiple-choice set."""

from __future__ import annotations

from typing import Annotated

import typer

from lmms_eval_tasks.cli.help import TRAIN, print_warnings
from lmms_eval_tasks.registry import load_announced, registry
from lmms_eval_tasks.train.stages.choices import KEYS, PLUGIN, WEIGHTS, ChoiceSets, write_choices
from lmms_eval_tasks.train.stages.commands import add_commands
from lmms_eval_tasks.train.stages.new_stage import Written
from lmms_eval_tasks.train.stages.stage import Inputs, grpo_method, sft_method
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
        are its own.

        Examples:
            {command} --source set --out out/sft --dry-run
            {command} --source set --out out/sft --frames 16 --num_train_epochs 2
        """
        return write_choices(sets, inputs, sft_method(KEYS), split, progress)

    def grpo(inputs: Inputs, progress: Progress, *, split: Split = None) -> Written:
        """Train by GRPO on whether the option that an answer chooses is the right one; other options as for sft.

        Examples:
            {command} --source set --out out/grpo --dry-run
            {command} --source set --out out/grpo --max_steps 200
        """
        return write_choices(
            sets, inputs, grpo_method("choice", WEIGHTS, PLUGIN, inputs.rewards, inputs.options), split, progress
        )

    add_commands(app, sft, grpo)
    return app


train_app = typer.Typer(
    no_args_is_help=True,
    help="Train a video model on data of your own: as a benchmark's paper does, or by the keys of multiple choice.",
    rich_help_panel=TRAIN,
)
TRAINERS = load_announced("lmms_eval_tasks.trainers", "trainer")
for _name, _trainer in TRAINERS.found.items():
    if isinstance(_trainer, typer.Typer):
        train_app.add_typer(_trainer, name=_name)
    elif _name in registry().benchmarks:
        train_app.add_typer(choice_app(ChoiceSets(registry().benchmarks[_name], _trainer)), name=_name)


@train_app.callback()
def train() -> None:
    """Train a video model on data of your own: as a benchmark's paper does, or by the keys of multiple choice."""
    print_warnings(TRAINERS.faults)
