"""Models without weights: constant and random answers, saved answers, and a solver of the sample."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from loguru import logger

from lmms_eval_tasks.host.ranks import gather_objects, stop_if_any
from lmms_eval_tasks.models.base import Arguments, Request, RequestModel, Words, agree
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.sample.solver import CANNOT_TELL, solve, solve_frames
from lmms_eval_tasks.utils.answers.losses import ClipLosses, losses_of
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.forms import OneOf
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.scoring.prediction_lines import QuestionText


class ConstantArguments(Arguments):
    response: Words | None = None


class ConstantAnswer(RequestModel):
    """Gives one response to every request: a given one, or the first answer that a task's form has, such as the first
    option."""

    form = ConstantArguments
    answer_forms = frozenset(AnswerForm)

    def answer(self, request: Request) -> str:
        given: str | None = self.arguments.response
        return request.guesses[0] if given is None else given


class RandomArguments(Arguments):
    seed: int = 0


class RandomAnswer(RequestModel):
    """Gives a random answer in the form that the task asks for, such as the letter of an option; the same answer for
    the same item and seed, on any rank and in any order; each sample of an item is another draw."""

    form = RandomArguments
    draws = True
    answer_forms = frozenset({AnswerForm.WORDS, AnswerForm.CLIP_LOSSES})

    def answer(self, request: Request) -> str:
        key = f"{self.arguments.seed}\0{request.task}\0{request.doc['item_id']}"
        key += f"\0{request.sample}" if request.sample > 1 else ""
        guess = random.Random(hashlib.sha256(key.encode()).digest())
        return guess.choice(request.guesses)


class ReplayArguments(Arguments):
    predictions: Words
    missing: Annotated[str, OneOf(("error", "unparsed"))] = "error"


class Replay(RequestModel):
    """Answers every item with the response saved for it.

    Args:
        predictions: A file of ``{"id": item_id, "response": text}`` lines, a benchmark's official prediction file, a
            sample log of a run of our tasks, or a folder of sample logs (a run's output path, say). For tasks that take
            losses, a file of ``{"clip": name, "loss": number}`` lines, or a JSON object of a loss for each clip.
        missing: ``error`` stops the run where an item has no saved response; ``unparsed`` gives it an empty one.
    """

    form = ReplayArguments
    answer_forms = frozenset(AnswerForm)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.source = Path(self.arguments.predictions).expanduser()
        self.allow_missing = self.arguments.missing == "unparsed"
        kinds = [benchmark.predictions for benchmark in registry().benchmarks.values() if benchmark.predictions]
        self.saved = agree(lambda: read_responses(self.source, kinds, self.allow_missing))
        if self.saved.note and self.rank == 0:
            logger.warning("{}", self.saved.note)

    def prepare(self, requests: list[Request]) -> None:
        """Stop, on all ranks together, where items have no saved response or responses no item."""
        if self.saved.by_asked:
            tables = {
                task: dict(
                    zip(table["item_id"], map(QuestionText.of, table["question"], table["options"]), strict=True)
                )
                for task, splits in self.task_dict.items()
                for table in splits.values()
                if {"item_id", "question", "options"} <= set(table.column_names)
            }
            stop_if_any(self.saved.join(tables, self.source))
        if self.saved.by_clip:
            stop_if_any(self.saved.name_clips(self._clips(requests), self.source))
        lacking = [(request.task, request.doc["item_id"]) for request in requests if self._find(request) is None]
        unsaved = sorted({item for items in gather_objects(lacking) for item in items})
        if not unsaved or self.allow_missing:
            return
        tasks = ", ".join(dict.fromkeys(task for task, _ in unsaved))
        items = "item has" if len(unsaved) == 1 else "items have"
        what = "no loss for each of its clips" if self.saved.by_clip else "no saved response"
        stop_if_any(
            f"{self.source} cannot be replayed: {len(unsaved)} {items} {what} (of {tasks}).\n"
            f"  {summarize_names(item_id for _, item_id in unsaved)}\n"
            "Give the responses of the same task and split, or count these as unparsed:  "
            "--model_args predictions=…,missing=unparsed"
        )

    def answer(self, request: Request) -> Reply:
        return self._find(request) or Reply()

    def _clips(self, requests: Sequence[Request]) -> Iterator[str]:
        """Yield the clips of all items of the tasks that take losses, of which a run may ask a part."""
        columns = {request.task: request.columns for request in requests if request.form is not AnswerForm.WORDS}
        for task, names in columns.items():
            for table in self.task_dict[task].values():
                for name in names:
                    yield from table[name]

    def _find(self, request: Request) -> Reply | None:
        if self.saved.by_clip and request.form is not AnswerForm.WORDS:
            clips = [request.doc[column] for column in request.columns]
            is_pair = request.form is AnswerForm.LOSSES
            if measured := losses_of(clips, self.saved.by_clip, request.doc["item_id"], is_pair):
                return Reply(measured)
        return self.saved.find(request.task, request.doc["item_id"], request.sample)


class SampleSolver(RequestModel):
    """Reads the code of a clip from its decoded frames and looks the truth up; of use on sample data only."""

    answer_forms = frozenset({AnswerForm.WORDS, AnswerForm.CLIP_LOSSES})

    shows_clips = True

    def answer(self, request: Request) -> str:
        question, options = request.doc["question"], request.doc["options"]
        if request.form is AnswerForm.CLIP_LOSSES:
            answers = [solve(question, options, clip) for clip in request.clips]
            if CANNOT_TELL in answers:
                return CANNOT_TELL
            first = ("A", options[0])
            return ClipLosses(losses=[float(answer.rstrip(".") not in first) for answer in answers]).to_json()
        if question in request.prompt and request.clips:
            return solve(question, options, request.clips[0])
        if question in request.prompt and request.pictures:
            return solve_frames(question, options, np.asarray(request.pictures[0])[None])
        return CANNOT_TELL
