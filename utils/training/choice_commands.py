"""`lmms-eval-tasks train BENCHMARK …` for benchmarks whose items are multiple choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.utils.core.console import show_progress
from lmms_eval_tasks.utils.training.commands import (
    ENV,
    MODEL,
    MODEL_TYPE,
    PASSED_ON,
    DryRun,
    Env,
    FramesOption,
    Model,
    ModelType,
    Out,
    Plugins,
    Rewards,
    SideOption,
    Source,
    Tests,
    Videos,
    add_shared_commands,
    run_written,
)

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark

Split = Annotated[str | None, typer.Option(help="Split of the set, where it has several.")]


def choice_app(benchmark: Benchmark) -> typer.Typer:
    """The subcommands that train on sets in the form of a benchmark that announces `read_choices`."""
    help_text = f"Train on multiple-choice sets of your own in {benchmark.card.title}'s form, on ms-swift."
    app = typer.Typer(no_args_is_help=True, help=help_text)

    @app.callback()
    def train() -> None:
        pass

    @app.command(context_settings=PASSED_ON)
    def sft(
        context: typer.Context,
        source: Source,
        out: Out,
        env: Env = ENV,
        split: Split = None,
        model: Model = MODEL,
        model_type: ModelType = MODEL_TYPE,
        videos: Videos = None,
        test: Tests = None,
        frames: FramesOption = 512,
        side: SideOption = 144,
        dry_run: DryRun = False,
    ) -> None:
        """Train on the letters of the right options: writes rows and configuration, then runs ms-swift; other options
        are its own.
        """
        from lmms_eval_tasks.utils.training.choices import write_choice_sft
        from lmms_eval_tasks.utils.training.configuration import Frames, read_options
        from lmms_eval_tasks.utils.training.staging import Inputs

        options = read_options(context.args)
        inputs = Inputs(source, out, model, model_type, videos, test or (), Frames(frames, side), options)
        with show_progress() as progress:
            written = write_choice_sft(benchmark, inputs, split, progress)
        run_written(written, out, env, dry_run)

    @app.command(context_settings=PASSED_ON)
    def grpo(
        context: typer.Context,
        source: Source,
        out: Out,
        env: Env = ENV,
        split: Split = None,
        reward: Rewards = None,
        plugin: Plugins = None,
        model: Model = MODEL,
        model_type: ModelType = MODEL_TYPE,
        videos: Videos = None,
        test: Tests = None,
        frames: FramesOption = 512,
        side: SideOption = 144,
        dry_run: DryRun = False,
    ) -> None:
        """Train by GRPO on whether the option that an answer chooses is the right one; other options as for sft."""
        from lmms_eval_tasks.utils.training.choices import write_choice_grpo
        from lmms_eval_tasks.utils.training.configuration import Frames, read_options
        from lmms_eval_tasks.utils.training.reinforcement import read_own_rewards
        from lmms_eval_tasks.utils.training.staging import Inputs

        own = read_own_rewards(reward or (), plugin or ())
        options = read_options(context.args)
        inputs = Inputs(source, out, model, model_type, videos, test or (), Frames(frames, side), options)
        with show_progress() as progress:
            written = write_choice_grpo(benchmark, inputs, own, split, progress)
        run_written(written, out, env, dry_run)

    add_shared_commands(app)
    return app
