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
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.core.wording import summarize_names

SFT = "sft"
SFT_RATE = 5e-5
"""Learning rate of CFGPT's first stage."""

ReadTest = Callable[[Path], Iterable[TestedClip]]
"""Reads the clips of a set that `--test` names; raises InputError."""


@dataclass(frozen=True)
class Inputs:
    """What every stage is given.

    Attributes:
        source: The set to train on.
        out: Folder of the stage.
        model: Name or folder of the model to begin with.
        model_type: ms-swift's name of its type.
        videos: Folder of the clips; None for where the set has them.
        tests: Sets whose clips must not be among those of the training, beside all that is prepared.
        frames: How clips are shown.
        options: Further options of ms-swift.
        rewards: The user's own, beside those of GRPO.
    """

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
    """How a stage trains.

    Attributes:
        name: Of its files.
        title: What `trained_on.json` calls it.
        subcommand: Of ms-swift.
        settings: Its own options of ms-swift; those of the user replace them.
    """

    name: str
    title: str
    subcommand: str
    settings: Mapping[str, Any]


def sft_method(title: str) -> Method:
    """A supervised stage."""
    return Method(SFT, title, SFT, {"learning_rate": SFT_RATE})


def grpo_method(title: str, weights: Mapping[str, float], plugin: Path, inputs: Inputs) -> Method:
    """A stage of GRPO.

    Args:
        title: What its rewards are called, for `trained_on.json`.
        weights: Our rewards, name to weight.
        plugin: The file that makes them known to ms-swift.
        inputs: What every stage is given.

    Raises:
        InputError: no reward has a weight, or those of the user are not beside ours.
    """
    settings = grpo_settings(weights, plugin, inputs.rewards, inputs.options)
    return Method(GRPO, f"grpo ({title}){inputs.rewards.summary}", SUBCOMMAND, settings)


@dataclass(frozen=True)
class Written:
    """A stage that is ready to run.

    Attributes:
        method: How it trains.
        configuration: Its file.
        parts: Part of the set to how many of its questions are trained on, and how many it has.
        clips: How many clips they are about.
        comparison: With which tests its clips were compared.
    """

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
    """Write a stage once its clips are known to be no test's.

    Args:
        inputs: What every stage is given.
        items: What is trained on.
        parts: As in `Written`.
        method: How it trains.
        data: The files that the items were made from; plugins of the user's rewards come behind them.
        read_test: Reads the sets of `inputs.tests`.
        progress: Called as clips are compared.

    Raises:
        InputError: an item cannot be trained on, a clip is tested on, or the folder holds another training.
    """
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
    """Compare training clips with those of all that is prepared and of further sets.

    Raises:
        InputError: a set cannot be read, or a clip is tested on.
    """
    tested = [*prepared_clips(), *(clip for test in tests for clip in read_test(test))]
    return compare_clips(training, tested, progress)


def require_clips(clips: Iterable[Path]) -> None:
    """Refuse clips that are not there.

    Raises:
        InputError: some are not.
    """
    if absent := sorted({str(clip) for clip in clips if not clip.is_file()}):
        raise InputError(f"Expected every clip to be there, but {len(absent)} are not: {summarize_names(absent, 3)}.")
