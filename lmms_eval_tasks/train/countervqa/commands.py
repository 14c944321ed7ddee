"""The commands `lmms-eval-tasks train countervqa …`.

Source: CounterVQA (arXiv 2511.19923): supervised training (stage I), GRPO with rewards over the clip's graph (stage
II), and the ablations of Table 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.runs.run_card import read_trained_on
from lmms_eval_tasks.train.countervqa.training_set import (
    ANSWERS,
    REASONING,
    TaughtReply,
    answer_items,
    asked_of_clips,
    earned_by_level,
    kept_by_level,
    read_reasoning,
    read_set,
    reasoning_items,
    reward_items,
    tested_clips,
)
from lmms_eval_tasks.train.stages.commands import Source, Tests, Videos, add_commands, show_comparison
from lmms_eval_tasks.train.stages.new_stage import Written, compare_with_tests, write_stage
from lmms_eval_tasks.train.stages.stage import Inputs, grpo_method, sft_method
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.text import summarize_names
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

    Replies are kept as they come: an interrupted command resumes when it is repeated, and pays for none twice.

    Examples:
        {command} --source set --out out/cot --teacher gpt-4o
        {command} --source set --out out/cot --teacher gpt-4o --frames 16
    """
    from lmms_eval_tasks.train.countervqa.teacher import REPLIES, teach, write_teaching
    from lmms_eval_tasks.utils.judge.client import open_named_judge
    from lmms_eval_tasks.utils.judge.replies import ReplyRecord

    judge = open_named_judge(TaughtReply, teacher, "--teacher", ReplyRecord(out / REPLIES))
    questions = read_set(source, videos)
    clips = {questions.clips / name: asked for name, asked in asked_of_clips(questions).items()}
    if absent := sorted(str(clip) for clip in clips if not clip.is_file()):
        names = summarize_names(absent, 3)
        raise InputError(f"Expected every clip to be there, but {len(absent)} are not: {names}.")
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
    """Train on reasoning (stage I): writes rows and configuration, then runs ms-swift; other options are its own.

    Examples:
        {command} --source set --reasoning out/cot/cot.jsonl --out out/sft
        {command} --source set --out out/sft --dry-run
    """
    questions = read_set(inputs.source, inputs.videos)
    if reasoning is None:
        method, items = sft_method(ANSWERS), answer_items(questions)
    else:
        method, items = sft_method(REASONING), reasoning_items(questions, read_reasoning(reasoning, questions))
    data = (*questions.files, *([reasoning] if reasoning else []))
    return write_stage(inputs, items, kept_by_level(questions, items), method, data, tested_clips, progress)


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
    """Train by GRPO on rewards over the causal graph (stage II), from exported weights; other options as for sft.

    Examples:
        {command} --source set --model weights/sft --out out/grpo
        {command} --source set --out out/grpo --ablation grpo-only --dry-run
    """
    # Only here: the rewards take long to import.
    from lmms_eval_tasks.train.rewards.functions import ALPHA, BETA

    if ablation not in ABLATIONS:
        raise InputError(f"Expected --ablation to be one of {', '.join(ABLATIONS)}, but got {ablation!r}.")
    by_graph = ablation != BY_VERDICT
    if not by_graph and (causal_weight is not None or visual_weight is not None):
        given = "--causal-weight" if causal_weight is not None else "--visual-weight"
        raise InputError(f"Expected no {given} with --ablation {ablation}, whose reward is the verdict alone.")
    # Rewards of weight 0 are logged and teach nothing.
    weights = {"verdict": 1.0, "causal": 0.0, "visual": 0.0}
    if by_graph:
        causal = ALPHA if causal_weight is None else causal_weight
        visual = BETA if visual_weight is None else visual_weight
        weights = {"causal": causal, "visual": visual, "verdict": 0.0}
    method = grpo_method(ablation, weights, PLUGIN, inputs.rewards, inputs.options)
    _check_model(inputs.model, ablation)
    questions = read_set(inputs.source, inputs.videos)
    weights |= inputs.rewards.weights
    rewards = [name for name, weight in weights.items() if weight]
    items = reward_items(questions, rewards)
    if not items:
        raise InputError(
            f"Expected {inputs.source} to have questions to which {' or '.join(rewards)} applies, but it has none."
        )
    levels = kept_by_level(questions, items)
    written = write_stage(inputs, items, levels, method, questions.files, tested_clips, progress)
    return replace(written, earned=earned_by_level(questions, items, weights))


add_commands(app, sft, grpo)

PLUGIN = Path(__file__).with_name("swift_plugin.py")
"""Makes the rewards known to ms-swift; it imports them from the package in ms-swift's environment."""


BY_VERDICT = "standard-reward"
"""The one row whose reward is not computed from the graph."""
ABLATIONS: Mapping[str, str | None] = {
    "full": REASONING,
    BY_VERDICT: REASONING,
    "no-distillation": ANSWERS,
    "grpo-only": None,
}
"""The rows of the paper's Table 3, each with the stage before it."""


def _check_model(model: str, ablation: str) -> None:
    """Refuse a model whose stages before are not those of the row."""
    trained = read_trained_on(Path(model))
    stages = [stage.method for stage in trained.stages] if trained else []
    before = ABLATIONS[ablation]
    if stages != ([before] if before else []):
        wanted = f"weights of one stage, {before}" if before else "a model that was not trained here"
        remedy = {
            REASONING: "Remedy: train countervqa sft --reasoning cot.jsonl, then export, and give --model its folder.",
            ANSWERS: "Remedy: train countervqa sft without --reasoning, then export, and give --model its folder.",
            None: "Remedy: give --model a model as it was released.",
        }[before]
        raise InputError(
            f"Expected --model to be {wanted}, for --ablation {ablation}, but {model} has "
            f"{', then '.join(stages) or 'none'} behind it.\n{remedy}"
        )
