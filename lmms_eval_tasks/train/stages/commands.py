"""Commands of every training: `sft` and `grpo` with a benchmark's additions, `export`, and `curves` of a log."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.cli.options import own_options, with_options
from lmms_eval_tasks.train.stages.new_stage import ClipComparison, Earned, Written
from lmms_eval_tasks.train.stages.stage import (
    GRPO,
    SFT,
    Frames,
    Inputs,
    export_weights,
    log_path,
    read_options,
    read_own_rewards,
    run_training,
)
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.core.output import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.text import summarize_names

MODEL = "Qwen/Qwen3-VL-8B-Instruct"
"""The best of CFGPT's paper."""
MODEL_TYPE = "qwen3_vl"

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Options that a command does not know are ms-swift's."""

Source = Annotated[
    Path, typer.Option(help="The set to train on, in the form that `prepare` takes.", show_default=False)
]
Out = Annotated[Path, typer.Option(help="Training folder; repeat the command to resume.", show_default=False)]
Env = Annotated[Path, typer.Option(help="Virtual environment with ms-swift: make train-env.")]
ENV = Path(".train-venv")
Model = Annotated[str, typer.Option(help="Name or folder of the model to begin with.")]
ModelType = Annotated[str, typer.Option(help="ms-swift's name of its type and template, such as qwen2_5_vl.")]
Videos = Annotated[Path | None, typer.Option(help="Folder of the clips; by default the one beside the questions.")]
Tests = Annotated[
    list[Path] | None,
    typer.Option(help="A set whose clips must not be trained on, beside all that is prepared; may be repeated."),
]
FramesOption = Annotated[int, typer.Option(help="Frames of a clip at most, evenly spread.", min=4)]
SideOption = Annotated[int, typer.Option(help="Pixels of a frame's side, were it square.", min=28)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write everything and run nothing.")]
Rewards = Annotated[
    list[str] | None,
    typer.Option(help="A reward beside ours, NAME or NAME=WEIGHT, of ms-swift or a --plugin; may be repeated."),
]
Plugins = Annotated[
    list[Path] | None,
    typer.Option(help="A Python file that adds rewards to ms-swift's; may be repeated."),
]

WriteStage = Callable[..., Written]
"""Writes a stage from what every stage is given and where to show progress.

Its docstring is the subcommand's help, and its keyword-only parameters are options that the subcommand has beside ours.
"""


def add_commands(app: typer.Typer, sft: WriteStage, grpo: WriteStage) -> None:
    _add_stage(app, SFT, sft)
    _add_stage(app, GRPO, grpo)
    app.command()(export)
    app.command()(curves)


def _add_stage(app: typer.Typer, name: str, write: WriteStage) -> None:
    def run(
        context: typer.Context,
        source: Source,
        out: Out,
        env: Env = ENV,
        reward: Rewards = None,
        plugin: Plugins = None,
        model: Model = MODEL,
        model_type: ModelType = MODEL_TYPE,
        videos: Videos = None,
        test: Tests = None,
        frames: FramesOption = 512,
        side: SideOption = 144,
        dry_run: DryRun = False,
        **own: Any,
    ) -> None:
        rewards = read_own_rewards(reward or (), plugin or ())
        options = read_options(context.args)
        inputs = Inputs(source, out, model, model_type, videos, test or (), Frames(frames, side), options, rewards)
        with show_progress() as progress:
            written = write(inputs, progress, **own)
        _run_written(written, out, env, dry_run)

    shared = [option for option in own_options(run) if name == GRPO or option.name not in ("reward", "plugin")]
    first = [option.name for option in shared].index("env") + 1
    own = [
        option.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for option in own_options(write)
        if option.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    options = [*shared[:first], *own, *shared[first:]]
    app.command(name, help=inspect.getdoc(write), context_settings=PASSED_ON)(with_options(run, options))


def export(
    training: Annotated[Path, typer.Argument(help="Folder of a training: its last checkpoint.")],
    out: Annotated[Path, typer.Option(help="Folder for the merged weights, a new one.", show_default=False)],
    env: Env = ENV,
) -> None:
    """Write the merged weights of a training, as lmms-eval takes them, with what they were trained on.

    Examples:
        {command} out/sft --out weights/sft
        {command} out/grpo --out weights/grpo --env .train-venv
    """
    trained = export_weights(training, out, env)
    console = make_console()
    console.print(trained.summary())
    console.print(f"Weights: {out.absolute()}", soft_wrap=True)


def curves(
    training: Annotated[Path, typer.Argument(help="Folder of a training; it may be running.")],
) -> None:
    """Show the loss and each reward of a training, and draw them as a picture beside its log.

    Examples:
        {command} out/sft
        {command} out/grpo
    """
    if not _show_curves(training):
        raise InputError(f"Expected the folder of a training that has logged a step, but got {training}.")


def _show_curves(training: Path) -> bool:
    log = log_path(training)
    logged = read_curves(log)
    if not logged:
        return False
    table = text_table("Curves", "curve", "steps", "first", "last", "")
    for name, curve in logged.items():
        values = list(curve.values())
        table.add_row(name, f"{len(values):,}", f"{values[0]:.4g}", f"{values[-1]:.4g}", spark_line(values))
    console = make_console()
    console.print(table)
    picture = log.with_name(PICTURE)
    draw_curves(logged, picture)
    console.print(f"Picture: {picture.absolute()}", soft_wrap=True)
    return True


def _run_written(written: Written, out: Path, env: Path, dry_run: bool) -> None:
    console = make_console()
    kept, every = map(sum, zip(*written.parts.values(), strict=True))
    console.print(f"{kept:,} of {every:,} questions, {written.clips:,} clips")
    if len(written.parts) > 1:
        console.print(", ".join(f"{part}: {one:,} of {of:,}" for part, (one, of) in written.parts.items()))
    if written.earned:
        settings = written.method.settings
        weights = dict(zip(settings["reward_funcs"], settings["reward_weights"], strict=True))
        _show_earned(written.earned, [name for name, weight in weights.items() if weight])
    show_comparison(written.comparison)
    console.print(f"Configuration: {written.configuration.absolute()}", soft_wrap=True)
    if dry_run:
        return
    if not run_training(out, written.method.name, written.method.subcommand, env):
        console.print("All steps were made before.")
    _show_curves(out)


def _show_earned(earned: Earned, rewards: Sequence[str]) -> None:
    """Say what can be earned in each part, so that a reward by which a wrong verdict loses nothing is seen before."""
    summed = " + ".join(f"{weight:g} · {name}" for name, weight in earned.weights.items())
    others = [name for name in rewards if name not in earned.weights]
    added = f", and what {' and '.join(others)} adds" if others else ""
    table = text_table(
        f"What the best answer to a question earns: {summed or 'nothing'}{added}",
        "level", "questions", "with a chain", "right verdict", "wrong verdict",
    )  # fmt: skip
    for part, one in earned.parts.items():
        table.add_row(part, f"{one.questions:,}", f"{one.with_chain:,}", _range(one.right), _range(one.wrong))
    make_console().print(table)


def _range(values: Sequence[float]) -> str:
    ends = dict.fromkeys((f"{min(values):.2f}", f"{max(values):.2f}"))
    return " to ".join(ends)


def show_comparison(comparison: ClipComparison) -> None:
    """Say with which tests clips were compared, and with which they could not be."""
    console = make_console()
    for source, clips in comparison.compared.items():
        console.print(f"none is one of the {clips:,} clips of {source}")
    if not comparison.compared:
        console.print(
            "warning: no test set is prepared, and none is named by --test: no clip was looked for.", style="yellow"
        )
    for source, clips in comparison.missing.items():
        console.print(
            f"warning: {clips:,} clips of {source} are not here, and only their names were looked for.", style="yellow"
        )
    for source, names in comparison.same_names.items():
        console.print(
            f"warning: {len(names):,} clips are called as clips of {source}, and are other files: "
            f"{summarize_names(names, 3)}. See that they are not the same clips, cut or coded anew.",
            style="yellow",
        )


PICTURE = "curves.png"
STEP = "global_step/max_steps"
BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 40

_CURVE = re.compile(r"loss|reward|rewards/(?P<reward>[^/]*)/mean")
Curve = Mapping[int, float]
"""Step to value."""


def read_curves(log: Path) -> dict[str, Curve]:
    """Loss, reward, and the mean of each reward apart, from a `logging.jsonl`; empty where nothing is logged yet."""
    curves: dict[str, dict[int, float]] = {}
    if not log.is_file():
        return {}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            logged = json.loads(line)
            step = int(str(logged[STEP]).partition("/")[0])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        for field, value in logged.items():
            named = _CURVE.fullmatch(field)
            if named and isinstance(value, (int, float)) and abs(value) <= sys.float_info.max:
                reward = named["reward"]
                name = field if reward is None else f"reward: {reward.removesuffix('Reward').lower() or reward}"
                curves.setdefault(name, {})[step] = float(value)
    ordered = sorted(curves, key=lambda name: (name != "loss", name != "reward", name))
    return {name: dict(sorted(curves[name].items())) for name in ordered}


def spark_line(values: Sequence[float], width: int = WIDTH) -> str:
    """A curve as a line of blocks, from its least value to its greatest; means of neighbours where there are many."""
    if not values:
        return ""
    number = min(width, len(values))
    bounds = [len(values) * place // number for place in range(number + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(bounds)]
    least, span = min(means), max(means) - min(means)
    return "".join(BLOCKS[round((mean - least) / span * (len(BLOCKS) - 1)) if span else 0] for mean in means)


def draw_curves(curves: Mapping[str, Curve], path: Path) -> None:
    """Write the curves, one at least, as a PNG file, one below the other, with the step as their axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 1.8 * len(curves) + 0.6), layout="constrained")
    rows = figure.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, curve) in zip(rows, curves.items(), strict=True):
        axes.plot(list(curve), list(curve.values()), linewidth=1.2)
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
    rows[-1].set_xlabel("step")
    with replacing(path) as beside:
        figure.savefig(beside, format="png", dpi=120)
