"""`lmms-eval-tasks train …`: post-training as a benchmark's paper does it, or by the keys of a multiple-choice set."""

from __future__ import annotations

import typer

from lmms_eval_tasks.cli.options import TRAIN, print_warnings
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.train.stages.choice_commands import choice_app
from lmms_eval_tasks.train.stages.released_choices import ChoiceSets
from lmms_eval_tasks.utils.benchmark.catalog import load_announced

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
