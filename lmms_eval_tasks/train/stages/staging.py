"""A stage of a training from what a command was given: clips are compared with those of tests, then it is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.train.stages.configuration import Frames
from lmms_eval_tasks.train.stages.leaks import ClipComparison, TestedClip, TrainedClips, compare_clips, prepared_clips
from lmms_eval_tasks.train.stages.reinforcement import GRPO, SUBCOMMAND, OwnRewards, grpo_settings
from lmms_eval_tasks.train.stages.rows import TrainingItem
from lmms_eval_tasks.train.stages.stage import Training, write_training
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.core.work import Progress, no_progress

SFT = "sft"
SFT_RATE = 5e-5
"""Learning rate of CFGPT's first stage."""

ReadTest = Callable[[Path], Iterable[TestedClip]]
"""Reads the clips of a set that `--test` names; raises InputError."""


@dataclass(frozen=True)
class Inputs:
    """Inputs that every stage receives."""

    source: Path
    out: Path
    model: str
    model_type: str
    videos: Path | None = None
    tests: Sequence[Path] = ()
    frames: Frames = field(default_factory=Frames)
    options: Mapping[str, Any] = field(default_factory=dict)
    rewards: OwnRewards = field(default_factory=OwnRewards)


@dataclass(frozen=True)
class Method:
    """Training method of a stage."""

    name: str
    title: str
    subcommand: str
    settings: Mapping[str, Any]


def sft_method(title: str) -> Method:
    """A supervised stage."""
    return Method(SFT, title, SFT, {"learning_rate": SFT_RATE})


def grpo_method(title: str, weights: Mapping[str, float], plugin: Path, inputs: Inputs) -> Method:
    """A stage of GRPO."""
    settings = grpo_settings(weights, plugin, inputs.rewards, inputs.options)
    return Method(GRPO, f"grpo ({title}){inputs.rewards.summary}", SUBCOMMAND, settings)


@dataclass(frozen=True)
class Written:
    """A stage that is ready to run."""

    method: Method
    configuration: Path
    parts: Mapping[str, tuple[int, int]]
    clips: int
    comparison: ClipComparison


def write_stage(
    inputs: Inputs,
    items: Sequence[TrainingItem],
    parts: Mapping[str, tuple[int, int]],
    method: Method,
    data: Sequence[Path],
    read_test: ReadTest,
    progress: Progress = no_progress,
) -> Written:
    """Write a stage once its clips are known to be no test's."""
    asked: dict[Path, set[str]] = defaultdict(set)
    for item in items:
        asked[item.clip].add(item.question)
    comparison = compare_with_tests(asked, inputs.tests, read_test, progress)
    training = Training(
        name=method.name,
        method=method.title,
        subcommand=method.subcommand,
        items=items,
        data=(*data, *inputs.rewards.plugins),
        # ms-swift runs in the folder of the stage.
        model=str(Path(inputs.model).absolute()) if Path(inputs.model).is_dir() else inputs.model,
        model_type=inputs.model_type,
        frames=inputs.frames,
        options={**method.settings, **inputs.options},
        compared_with=tuple(comparison.compared),
    )
    path = write_training(inputs.out, training)
    return Written(method, path, parts, len(asked), comparison)


def compare_with_tests(
    training: TrainedClips, tests: Sequence[Path], read_test: ReadTest, progress: Progress = no_progress
) -> ClipComparison:
    """Compare training clips with those of all that is prepared and of further sets."""
    tested = [*prepared_clips(), *(clip for test in tests for clip in read_test(test))]
    return compare_clips(training, tested, progress)


def require_clips(clips: Iterable[Path]) -> None:
    """Refuse clips that are not there."""
    if absent := sorted({str(clip) for clip in clips if not clip.is_file()}):
        raise InputError(f"Expected every clip to be there, but {len(absent)} are not: {summarize_names(absent, 3)}.")
