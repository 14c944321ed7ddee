"""Stage I of the paper's training, supervised, and the clips that no stage may be trained on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lmms_eval_tasks.train.countervqa.questions import (
    QuestionSet,
    answer_items,
    kept_by_level,
    read_reasoning,
    read_set,
    reasoning_items,
)
from lmms_eval_tasks.train.stages.leaks import TestedClip
from lmms_eval_tasks.train.stages.staging import Inputs, Written, sft_method, write_stage
from lmms_eval_tasks.utils.core.work import Progress, no_progress

REASONING, ANSWERS = "sft on reasoning", "sft on answers"
"""What a supervised stage is called in `trained_on.json`."""


def write_sft(inputs: Inputs, reasoning: Path | None, progress: Progress = no_progress) -> Written:
    """Write the first stage: supervised, on a teacher's reasoning or, without one, on the answers of the set."""
    questions = read_set(inputs.source, inputs.videos)
    if reasoning is None:
        items = answer_items(questions)
    else:
        items = reasoning_items(questions, read_reasoning(reasoning, questions))
    data = (*questions.files, *([reasoning] if reasoning else []))
    method = sft_method(ANSWERS if reasoning is None else REASONING)
    return write_stage(inputs, items, kept_by_level(questions, items), method, data, tested_clips, progress)


def tested_clips(test: Path) -> list[TestedClip]:
    """The clips of a set that a model is tested on."""
    questions = read_set(test)
    return [
        TestedClip(str(test), name, path if (path := questions.clips / name).is_file() else None, asked)
        for name, asked in sorted(asked_of_clips(questions).items())
    ]


def asked_of_clips(questions: QuestionSet) -> Mapping[str, list[str]]:
    """Each clip's name to the questions about it."""
    asked: dict[str, list[str]] = {}
    for question in questions.questions:
        asked.setdefault(question.clip, []).append(question.question)
    return asked
