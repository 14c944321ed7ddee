"""`lmms-eval-tasks train countervqa …`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.utils.core.console import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.wording import summarize_names

if TYPE_CHECKING:
    from lmms_eval_tasks.countervqa.training.stages import Inputs, Written

MODEL = "Qwen/Qwen3-VL-8B-Instruct"
"""The paper's best."""
MODEL_TYPE = "qwen3_vl"

app = typer.Typer(no_args_is_help=True, help="CFGPT, the paper's post-training: a reimplementation, on ms-swift.")

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Options that a command does not know are ms-swift's."""

Source = Annotated[
    Path, typer.Option(help="The set to train on, in the form that `prepare` takes.", show_default=False)
]
Out = Annotated[
    Path, typer.Option(help="Folder of this training; the same command again goes on there.", show_default=False)
]
Env = Annotated[Path, typer.Option(help="Virtual environment with ms-swift: make train-env.")]
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


@app.callback()
def train() -> None:
    """CFGPT, the paper's post-training: a reimplementation, on ms-swift."""


@app.command()
def cot(
    source: Source,
    out: Annotated[Path, typer.Option(help="Folder for the reasoning, with every reply.", show_default=False)],
    teacher: Annotated[
        str,
        typer.Option(help="A model that sees images: model=NAME,url=…,max_tokens=…, as a judge.", show_default=False),
    ],
    videos: Videos = None,
    test: Tests = None,
    frames: Annotated[int, typer.Option(help="Frames of a clip that the teacher sees, evenly spread.", min=1)] = 32,
    without_annotations: Annotated[
        bool, typer.Option("--without-annotations", help="Ablation: the clip alone, without its timed actions.")
    ] = False,
) -> None:
    """Have a teacher write reasoning for stage I, kept where its verdict is right.

    Replies are kept as they come: a command that was cut short goes on where it was, and pays for none twice.
    """
    from lmms_eval_tasks.countervqa.training.questions import read_set
    from lmms_eval_tasks.countervqa.training.stages import tested_clips
    from lmms_eval_tasks.countervqa.training.teacher import REPLIES, TaughtReply, teach, write_teaching
    from lmms_eval_tasks.host.judge import open_judge, read_settings
    from lmms_eval_tasks.utils.core.problems import InputError
    from lmms_eval_tasks.utils.judge.record import ReplyRecord
    from lmms_eval_tasks.utils.training.leaks import refuse_shared_clips

    settings = read_settings(teacher)
    if settings is None:
        raise InputError("Expected --teacher to name a model, but got none.")
    questions = read_set(source, videos)
    clips = sorted({questions.clip(question) for question in questions.questions})
    if absent := [str(clip) for clip in clips if not clip.is_file()]:
        raise InputError(f"Expected every clip to be there, but {len(absent)} are not: {summarize_names(absent, 3)}.")
    judge = open_judge(TaughtReply, settings, record=ReplyRecord(out / REPLIES))
    with show_progress() as progress:
        refuse_shared_clips(clips, tested_clips(test or ()), progress)
        teaching = teach(questions, judge, frames, not without_annotations, progress)
    console = make_console()
    table = text_table(None, "outcome", "questions")
    for outcome, number in teaching.outcomes.items():
        table.add_row(outcome, f"{number:,}")
    console.print(table)
    if not teaching.rows:
        raise InputError("No reasoning could be kept, and nothing was written but the replies.")
    path = write_teaching(out, teaching, judge, frames, not without_annotations)
    asked = len(questions.questions)
    console.print(f"kept: {len(teaching.rows):,} of {asked:,} questions ({100 * teaching.share:.1f}%)")
    console.print(f"Next:  lmms-eval-tasks train countervqa sft --reasoning {path}", soft_wrap=True)


@app.command(context_settings=PASSED_ON)
def sft(
    context: typer.Context,
    source: Source,
    out: Out,
    env: Env = Path(".train-venv"),
    reasoning: Annotated[
        Path | None,
        typer.Option(help="A teacher's reasoning, as cot writes it; without it the set's answers are trained on."),
    ] = None,
    model: Model = MODEL,
    model_type: ModelType = MODEL_TYPE,
    videos: Videos = None,
    test: Tests = None,
    frames: FramesOption = 512,
    side: SideOption = 144,
    dry_run: DryRun = False,
) -> None:
    """Train on reasoning (stage I): writes rows and configuration, then runs ms-swift; other options are its own."""
    from lmms_eval_tasks.countervqa.training.stages import SFT, Inputs, write_sft
    from lmms_eval_tasks.utils.training.configuration import Frames, read_options

    options = read_options(context.args)
    inputs = Inputs(source, out, model, model_type, videos, test or (), Frames(frames, side), options)
    with show_progress() as progress:
        written = write_sft(inputs, reasoning, progress)
    _run(inputs, written, (SFT, SFT), env, dry_run)


@app.command(context_settings=PASSED_ON)
def grpo(
    context: typer.Context,
    source: Source,
    out: Out,
    env: Env = Path(".train-venv"),
    ablation: Annotated[
        str, typer.Option(help="A row of the paper's Table 3: full, standard-reward, no-distillation or grpo-only.")
    ] = "full",
    causal_weight: Annotated[
        float, typer.Option(help="Weight of the causal reward, the paper's alpha.", min=0.0)
    ] = 0.5,
    visual_weight: Annotated[float, typer.Option(help="Weight of the visual reward, the paper's beta.", min=0.0)] = 0.5,
    model: Model = MODEL,
    model_type: ModelType = MODEL_TYPE,
    videos: Videos = None,
    test: Tests = None,
    frames: FramesOption = 512,
    side: SideOption = 144,
    dry_run: DryRun = False,
) -> None:
    """Train by GRPO on rewards over the causal graph (stage II), from exported weights; other options as for sft."""
    from lmms_eval_tasks.countervqa.training.reinforcement import GRPO, SUBCOMMAND, write_grpo
    from lmms_eval_tasks.countervqa.training.stages import Inputs
    from lmms_eval_tasks.utils.training.configuration import Frames, read_options

    options = read_options(context.args)
    inputs = Inputs(source, out, model, model_type, videos, test or (), Frames(frames, side), options)
    with show_progress() as progress:
        written = write_grpo(inputs, ablation, causal_weight, visual_weight, progress)
    _run(inputs, written, (GRPO, SUBCOMMAND), env, dry_run)


@app.command()
def export(
    training: Annotated[Path, typer.Argument(help="Folder of a training: its last checkpoint.")],
    out: Annotated[Path, typer.Option(help="Folder for the merged weights, a new one.", show_default=False)],
    env: Env = Path(".train-venv"),
) -> None:
    """Write the merged weights of a training, as lmms-eval takes them, with what they were trained on."""
    from lmms_eval_tasks.utils.training.stage import export_weights

    trained = export_weights(training, out, env)
    console = make_console()
    console.print(trained.summary())
    console.print(f"Weights: {out.absolute()}", soft_wrap=True)


@app.command()
def curves(
    training: Annotated[Path, typer.Argument(help="Folder of a training; it may be running.")],
) -> None:
    """Show the loss and each reward of a training, and draw them as a picture beside its log."""
    from lmms_eval_tasks.utils.core.problems import InputError

    if not _show_curves(training):
        raise InputError(f"Expected the folder of a training that has logged a step, but got {training}.")


def _show_curves(training: Path) -> bool:
    """Show the curves of a training; False where it has logged none."""
    from lmms_eval_tasks.utils.training.curves import PICTURE, draw_curves, read_curves, spark_line
    from lmms_eval_tasks.utils.training.stage import log_path

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


def _run(inputs: Inputs, written: Written, names: tuple[str, str], env: Path, dry_run: bool) -> None:
    """Show what was written, and run it unless nothing is to be run."""
    from lmms_eval_tasks.utils.training.stage import run_training

    console = make_console()
    console.print(f"{written.items:,} of {written.questions:,} questions, {written.clips:,} clips")
    for source, clips in written.compared.items():
        console.print(f"none is one of the {clips:,} clips of {source}")
    if not written.compared:
        console.print(
            "warning: no test set is prepared, and none is named by --test: no clip was looked for.", style="yellow"
        )
    for source, clips in written.missing.items():
        console.print(f"warning: {clips:,} clips of {source} are not here, and were not looked for.", style="yellow")
    name, subcommand = names
    console.print(f"Configuration: {written.configuration.absolute()}", soft_wrap=True)
    if dry_run:
        return
    if not run_training(inputs.out, name, subcommand, env):
        console.print("All steps were made before.")
    _show_curves(inputs.out)
