"""The stages of the paper's training with its settings, and the rows of its Table 3 as configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.countervqa.training.questions import (
    QuestionSet,
    answer_items,
    read_reasoning,
    read_set,
    reasoning_items,
)
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.training.configuration import Frames
from lmms_eval_tasks.utils.training.leaks import TestClips, prepared_clips, refuse_shared_clips
from lmms_eval_tasks.utils.training.rows import TrainingItem
from lmms_eval_tasks.utils.training.stage import Training, write_training

SFT = "sft"
SFT_RATE = 5e-5
REASONING, ANSWERS = "sft on reasoning", "sft on answers"
"""What a supervised stage is called in `trained_on.json`."""


@dataclass(frozen=True)
class Inputs:
    """What every stage is given.

    Attributes:
        source: The set to train on: its folder, or its file of questions.
        out: Folder of the stage.
        model: Name or folder of the model to begin with.
        model_type: ms-swift's name of its type.
        videos: Folder of the clips; None for that beside the questions.
        tests: Sets whose clips must not be among those of the training, beside all that is prepared.
        frames: How clips are shown.
        options: Further options of ms-swift.
    """

    source: Path
    out: Path
    model: str
    model_type: str
    videos: Path | None = None
    tests: Sequence[Path] = ()
    frames: Frames = field(default_factory=Frames)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """A stage that is ready to run.

    Attributes:
        configuration: Its file.
        items: How many questions it trains on.
        questions: How many the set has.
        clips: How many clips they are about.
        compared: With which tests its clips were compared, to the number of their clips.
        missing: Tests to the number of clips that are not here to compare with.
    """

    configuration: Path
    items: int
    questions: int
    clips: int
    compared: Mapping[str, int]
    missing: Mapping[str, int]


def write_sft(inputs: Inputs, reasoning: Path | None, progress: Progress = no_progress) -> Written:
    """Write the first stage: supervised, on a teacher's reasoning or, without one, on the answers of the set.

    Raises:
        InputError: a file cannot be used, a clip is missing or tested on, or the folder holds another training.
    """
    questions = read_set(inputs.source, inputs.videos)
    if reasoning is None:
        items = answer_items(questions)
    else:
        items = reasoning_items(questions, read_reasoning(reasoning, questions))
    data = (*questions.files, *([reasoning] if reasoning else []))
    method = ANSWERS if reasoning is None else REASONING
    return write_stage(inputs, questions, items, (SFT, method, SFT), {"learning_rate": SFT_RATE}, data, progress)


def write_stage(
    inputs: Inputs,
    questions: QuestionSet,
    items: Sequence[TrainingItem],
    names: tuple[str, str, str],
    settings: Mapping[str, Any],
    data: Sequence[Path],
    progress: Progress,
) -> Written:
    """Write a stage once its clips are known to be no test's.

    Args:
        inputs: What every stage is given.
        questions: The set.
        items: What is trained on.
        names: Of its files, of its method, and of the subcommand of ms-swift.
        settings: Its own options; those of the user replace them.
        data: The files that the items were made from.
        progress: Called as clips are compared.

    Raises:
        InputError: as for `write_sft`.
    """
    tested = tested_clips(inputs.tests)
    refuse_shared_clips([item.clip for item in items if item.clip.is_file()], tested, progress)
    compared = {source: list(tested.sources.values()).count(source) for source in sorted(set(tested.sources.values()))}
    name, method, subcommand = names
    training = Training(
        name=name,
        method=method,
        subcommand=subcommand,
        items=items,
        data=data,
        # ms-swift runs in the folder of the stage.
        model=str(Path(inputs.model).absolute()) if Path(inputs.model).is_dir() else inputs.model,
        model_type=inputs.model_type,
        frames=inputs.frames,
        options={**settings, **inputs.options},
        compared_with=tuple(compared),
    )
    path = write_training(inputs.out, training)
    clips = len({item.clip for item in items})
    return Written(path, len(items), len(questions.questions), clips, compared, tested.missing)


def tested_clips(tests: Sequence[Path]) -> TestClips:
    """The clips of all that is prepared and of further sets.

    Raises:
        InputError: a set cannot be read.
    """
    prepared = prepared_clips()
    sources, missing = dict(prepared.sources), dict(prepared.missing)
    for test in tests:
        questions = read_set(test)
        for clip in sorted({question.clip for question in questions.questions}):
            if (path := questions.clips / clip).is_file():
                sources.setdefault(path, str(test))
            else:
                missing[str(test)] = missing.get(str(test), 0) + 1
    return TestClips(sources, missing)
