"""Training on a user's multiple-choice sets, by their keys, for every benchmark whose trainer reads such."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.train import rewards
from lmms_eval_tasks.train.stages.new_stage import TestedClip, Written, write_stage
from lmms_eval_tasks.train.stages.stage import SFT, Inputs, Method, TrainingItem
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.tasks import task_configs
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK, counts, find_marks
from lmms_eval_tasks.utils.data.prepare import make_table


@dataclass(frozen=True)
class ReleasedChoices:
    """A split of a set: questions with lettered options and, where the set has them, keys."""

    split: str
    rows: Sequence[Mapping[str, Any]]
    clips: Mapping[str, Path]
    files: Sequence[Path]


@dataclass(frozen=True)
class ChoiceSets:
    benchmark: Benchmark
    read: Callable[[Path, Path | None], Sequence[ReleasedChoices]]


PLUGIN = Path(rewards.__file__).with_name("swift_plugin.py")
"""Makes the rewards known to ms-swift; it imports them from the package in ms-swift's environment."""
KEYS = "sft on keys"
WEIGHTS: Mapping[str, float] = {"choice": 1.0}


def write_choices(
    sets: ChoiceSets, inputs: Inputs, method: Method, split: str | None, progress: Progress = no_progress
) -> Written:
    """Write a stage on the letters of the right options, or on the reward `choice`."""
    questions = read_training_set(sets, inputs.source, inputs.videos, split)
    ask = asker(sets.benchmark)
    items = []
    for row in questions.rows:
        item = TrainingItem(row["item_id"], questions.clips[row["clip"]], ask(row), question=row["question"])
        if method.name == SFT:
            items.append(replace(item, response=row["answer"]))
        else:
            options = json.dumps(list(row["options"]), ensure_ascii=False)
            columns = {"options": options, "answer": row["answer"], "question": row["question"]}
            items.append(replace(item, columns=columns))
    parts = {"": (len(items), len(questions.rows))}
    return write_stage(inputs, items, parts, method, questions.files, partial(tested_choices, sets), progress)


def read_training_set(
    sets: ChoiceSets, source: Path, videos: Path | None = None, split: str | None = None
) -> ReleasedChoices:
    """Read a set with keys that is not the benchmark itself."""
    splits = {questions.split: questions for questions in _read(sets, source, videos)}
    if split is None and len(splits) == 1:
        (split,) = splits
    if split not in splits:
        got = "none" if split is None else repr(split)
        raise InputError(f"Expected --split to be one of {', '.join(splits)}, which {source} has, but got {got}.")
    questions = splits[split]
    if without := sum(row["answer"] is None for row in questions.rows):
        raise InputError(
            f"Expected a key to every question, but {without:,} of {len(questions.rows):,} in {source} have none. "
            "Nothing was written."
        )
    card = sets.benchmark.card
    if split in card.splits and SAMPLE_MARK not in find_marks(source, questions.clips.values()):
        # The benchmark's own split, also where it is not prepared, has as many of each kind as its card says.
        table = make_table([{**row, "clip_present": True} for row in questions.rows], sets.benchmark.schema())
        compared = counts(card, split, table)
        if compared and all(count.expected == count.found for count in compared):
            raise InputError(
                f"Expected a set of your own, but {source} has as many questions of each kind as {card.title}, split "
                f"{split}, and benchmarks are not trained on. Nothing was written."
            )
    return questions


def tested_choices(sets: ChoiceSets, test: Path) -> list[TestedClip]:
    """The clips of all splits of a set that a model is tested on; keys are not needed."""
    tested = []
    for questions in _read(sets, test, None):
        asked: dict[str, set[str]] = defaultdict(set)
        for row in questions.rows:
            asked[row["clip"]].add(row["question"])
        for clip, path in questions.clips.items():
            name = clip.removeprefix(f"{questions.split}/")
            tested.append(TestedClip(str(test), name, path, asked[clip], sets.benchmark.clip_names_are_ids))
    return tested


def _read(sets: ChoiceSets, source: Path, videos: Path | None) -> Sequence[ReleasedChoices]:
    splits = sets.read(source, videos)
    if not splits:
        raise InputError(f"Expected a set in {sets.benchmark.card.title}'s form, but {source} has no questions.")
    return splits


def asker(benchmark: Benchmark) -> Callable[[Mapping[str, Any]], str]:
    """What asks about a row, as the benchmark's first task does, also where LMMS_EVAL_TASKS_PROMPT chooses."""
    task = next(iter(registry().tasks_of(benchmark.name).values()))
    config = task_configs(benchmark.folder)[task.name]
    state = TaskState(task.name, task.pointer, (), Evaluation())
    hook = state.bind({**config, "metric_list": ()})["doc_to_text"]

    def ask(row: Mapping[str, Any]) -> str:
        try:
            return str(hook({**row, "asked": True}, config["lmms_eval_specific_kwargs"]["default"]))
        except RunStopped as error:
            raise InputError(str(error)) from None

    return ask
