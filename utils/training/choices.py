"""Training on multiple-choice sets of one's own, by their keys, for every benchmark that announces `read_choices`."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils import rewards
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, TaskSettings
from lmms_eval_tasks.utils.benchmark.released_choices import ReleasedChoices
from lmms_eval_tasks.utils.benchmark.task_files import task_configs
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.building import make_table
from lmms_eval_tasks.utils.data.counts import counts
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK, find_marks
from lmms_eval_tasks.utils.data.release import LinkedClip
from lmms_eval_tasks.utils.training.leaks import TestedClip
from lmms_eval_tasks.utils.training.reinforcement import GRPO, SUBCOMMAND, OwnRewards, grpo_settings
from lmms_eval_tasks.utils.training.rows import TrainingItem
from lmms_eval_tasks.utils.training.staging import SFT, SFT_RATE, Inputs, Method, Written, write_stage

PLUGIN = Path(rewards.__file__).with_name("swift_plugin.py")
"""Makes the rewards known to ms-swift; it imports them from the package in ms-swift's environment."""
KEYS = "sft on keys"
WEIGHTS: Mapping[str, float] = {"choice": 1.0}


def write_choice_sft(
    benchmark: Benchmark, inputs: Inputs, split: str | None = None, progress: Progress = no_progress
) -> Written:
    """Write a supervised stage on the letters of the right options.

    Args:
        benchmark: Whose form the set has.
        inputs: What every stage is given.
        split: The set's split; None where it has one alone.
        progress: Called as clips are compared.

    Raises:
        InputError: the set cannot be used or is the benchmark itself, a clip is missing or tested on, or the folder
            holds another training.
    """
    questions = read_training_set(benchmark, inputs.source, inputs.videos, split)
    items = [_item(benchmark, questions, row, response=row["answer"]) for row in questions.rows]
    method = Method(SFT, KEYS, SFT, {"learning_rate": SFT_RATE})
    return _write(benchmark, inputs, questions, items, method, questions.files, progress)


def write_choice_grpo(
    benchmark: Benchmark,
    inputs: Inputs,
    own: OwnRewards | None = None,
    split: str | None = None,
    progress: Progress = no_progress,
) -> Written:
    """Write a stage of GRPO whose reward is `choice`: 1 where the letter that the evaluation reads is the key, else 0.

    Args:
        benchmark: Whose form the set has.
        inputs: What every stage is given.
        own: Rewards of the user's beside it.
        split: The set's split; None where it has one alone.
        progress: Called as clips are compared.

    Raises:
        InputError: no reward has a weight, or as for `write_choice_sft`.
    """
    own = own or OwnRewards()
    settings = grpo_settings(WEIGHTS, PLUGIN, own, inputs.options)
    questions = read_training_set(benchmark, inputs.source, inputs.videos, split)
    items = [_item(benchmark, questions, row) for row in questions.rows]
    method = Method(GRPO, f"grpo (choice){own.summary}", SUBCOMMAND, settings)
    return _write(benchmark, inputs, questions, items, method, (*questions.files, *own.plugins), progress)


def _write(
    benchmark: Benchmark,
    inputs: Inputs,
    questions: ReleasedChoices,
    items: list[TrainingItem],
    method: Method,
    data: Iterable[Path],
    progress: Progress,
) -> Written:
    return write_stage(
        inputs, items, len(questions.rows), method, tuple(data), lambda test: tested_choices(benchmark, test), progress
    )


def read_training_set(
    benchmark: Benchmark, source: Path, videos: Path | None = None, split: str | None = None
) -> ReleasedChoices:
    """Read a set with keys that is not the benchmark itself.

    Raises:
        InputError: it cannot be read, has several splits and none or another is named, has questions without keys, or
            as many of each kind as the benchmark's release.
    """
    sets = {questions.split: questions for questions in _read(benchmark, source, videos)}
    if split is None and len(sets) == 1:
        (split,) = sets
    if split not in sets:
        got = "none" if split is None else repr(split)
        raise InputError(f"Expected --split to be one of {', '.join(sets)}, which {source} has, but got {got}.")
    questions = sets[split]
    if without := sum(row["answer"] is None for row in questions.rows):
        raise InputError(
            f"Expected a key to every question, but {without:,} of {len(questions.rows):,} in {source} have none. "
            "Nothing was written."
        )
    _refuse_release(benchmark, questions, source)
    return questions


def tested_choices(benchmark: Benchmark, test: Path) -> list[TestedClip]:
    """The clips of all splits of a set that a model is tested on; keys are not needed.

    Raises:
        InputError: it cannot be read.
    """
    tested = []
    for questions in _read(benchmark, test, None):
        asked: dict[str, set[str]] = defaultdict(set)
        for row in questions.rows:
            asked[row["clip"]].add(row["question"])
        tested += [
            TestedClip(
                str(test),
                clip.removeprefix(f"{questions.split}/"),
                path if path.is_file() else None,
                asked[clip],
                benchmark.clip_names_are_ids,
            )
            for clip, path in questions.clips.items()
        ]
    return tested


def _read(benchmark: Benchmark, source: Path, videos: Path | None) -> Sequence[ReleasedChoices]:
    if benchmark.read_choices is None:
        raise InputError(f"{benchmark.card.title} has no multiple-choice sets to train on.")
    sets = benchmark.read_choices(source, videos)
    if not sets:
        raise InputError(f"Expected a set in {benchmark.card.title}'s form, but {source} has no questions.")
    return sets


def _refuse_release(benchmark: Benchmark, questions: ReleasedChoices, source: Path) -> None:
    """Refuse the benchmark's own split, also where it is not prepared: it has as many of each kind as its card says."""
    card = benchmark.card
    clips = map(LinkedClip, questions.clips.values())
    if questions.split not in card.splits or SAMPLE_MARK in find_marks(source, clips):
        return
    table = make_table([{**row, "clip_present": True} for row in questions.rows], benchmark.schema())
    compared = counts(card, questions.split, table)
    if compared and all(count.expected == count.found for count in compared):
        raise InputError(
            f"Expected a set of your own, but {source} has as many questions of each kind as {card.title}, split "
            f"{questions.split}, and benchmarks are not trained on. Nothing was written."
        )


def _item(
    benchmark: Benchmark, questions: ReleasedChoices, row: Mapping[str, Any], response: str | None = None
) -> TrainingItem:
    columns = {"options": json.dumps(list(row["options"]), ensure_ascii=False), "answer": row["answer"]}
    return TrainingItem(
        row["item_id"],
        questions.clips[row["clip"]],
        ask(benchmark, row),
        response,
        columns={**columns, "question": row["question"]} if response is None else {},
        question=row["question"],
    )


def ask(benchmark: Benchmark, row: Mapping[str, Any]) -> str:
    """What the model is asked: as in the evaluation, also where LMMS_EVAL_TASKS_PROMPT chooses the prompt."""
    kind = next(iter(benchmark.kinds.values()))
    return kind.ask({**row, "asked": True}, task_settings(benchmark))


def task_settings(benchmark: Benchmark) -> TaskSettings:
    """The settings of a benchmark's first task."""
    configs = task_configs(benchmark.folder).values()
    kwargs: Mapping[str, Any] = next(
        (config["lmms_eval_specific_kwargs"]["default"] for config in configs if "group" not in config), {}
    )
    return next(iter(benchmark.kinds.values())).read_settings(kwargs, os.environ)
