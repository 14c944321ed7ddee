"""`lmms-eval-tasks train countervqa …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.train.stages.commands import Source, Tests, Videos, add_commands, show_comparison
from lmms_eval_tasks.train.stages.staging import Inputs, Written
from lmms_eval_tasks.utils.core.output import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.work import Progress

app = typer.Typer(no_args_is_help=True, help="CFGPT, the paper's post-training: a reimplementation, on ms-swift.")


@app.callback()
def train() -> None:
    """CFGPT, the paper's post-training: a reimplementation, on ms-swift."""


@app.command()
def cot(
    source: Source,
    out: Annotated[Path, typer.Option(help="Folder for the reasoning, with every reply.", show_default=False)],
    teacher: Annotated[
        str,
        typer.Option(
            help="A model that sees images, as a judge: model=NAME,url=…, or model=NAME,provider=transformers.",
            show_default=False,
        ),
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

    Examples:
        {command} --source set --out out/cot --teacher gpt-4o
        {command} --source set --out out/cot --teacher gpt-4o --frames 16
    """
    from lmms_eval_tasks.train.countervqa.questions import read_set
    from lmms_eval_tasks.train.countervqa.stages import asked_of_clips, tested_clips
    from lmms_eval_tasks.train.countervqa.teacher import REPLIES, TaughtReply, teach, write_teaching
    from lmms_eval_tasks.train.stages.staging import compare_with_tests, require_clips
    from lmms_eval_tasks.utils.core.errors import InputError
    from lmms_eval_tasks.utils.judge.named import open_named_judge
    from lmms_eval_tasks.utils.judge.replies import ReplyRecord

    judge = open_named_judge(TaughtReply, teacher, "--teacher", ReplyRecord(out / REPLIES))
    questions = read_set(source, videos)
    clips = {questions.clips / name: asked for name, asked in asked_of_clips(questions).items()}
    require_clips(clips)
    with show_progress() as progress:
        comparison = compare_with_tests(clips, test or (), tested_clips, progress)
        teaching = teach(questions, judge, frames, not without_annotations, progress)
    show_comparison(comparison)
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


def sft(
    inputs: Inputs,
    progress: Progress,
    *,
    reasoning: Annotated[
        Path | None,
        typer.Option(help="A teacher's reasoning, as cot writes it; without it the set's answers are trained on."),
    ] = None,
) -> Written:
    """Train on reasoning (stage I): writes rows and configuration, then runs ms-swift; other options are its own."""
    from lmms_eval_tasks.train.countervqa.stages import write_sft

    return write_sft(inputs, reasoning, progress)


def grpo(
    inputs: Inputs,
    progress: Progress,
    *,
    ablation: Annotated[
        str, typer.Option(help="A row of the paper's Table 3: full, standard-reward, no-distillation or grpo-only.")
    ] = "full",
    causal_weight: Annotated[
        float | None, typer.Option(help="Weight of the causal reward, alpha; by default the paper's, 0.5.", min=0.0)
    ] = None,
    visual_weight: Annotated[
        float | None, typer.Option(help="Weight of the visual reward, beta; by default the paper's, 0.5.", min=0.0)
    ] = None,
) -> Written:
    """Train by GRPO on rewards over the causal graph (stage II), from exported weights; other options as for sft."""
    from lmms_eval_tasks.train.countervqa.reinforcement import write_grpo

    return write_grpo(inputs, ablation, causal_weight, visual_weight, progress)


add_commands(app, sft, grpo)
