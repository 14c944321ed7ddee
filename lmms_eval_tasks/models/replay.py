"""`replay`: gives saved responses again, so that a run can be scored without its model, its GPU and its clips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.ranks import gather_objects, stop_if_any
from lmms_eval_tasks.models.base import Request, RequestModel
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.scoring.record import QuestionText


class Replay(RequestModel):
    """Answers every item with the response saved for it.

    Args:
        predictions: A file of ``{"id": item_id, "response": text}`` lines, a benchmark's official prediction file, a
            sample log of a run of our tasks, or a folder of sample logs (a run's output path, say).
        missing: ``error`` stops the run where an item has no saved response; ``unparsed`` gives it an empty one.
        **host: What lmms-eval passes to every model.
    """

    answer_forms = frozenset(AnswerForm)

    def __init__(self, predictions: str, missing: str = "error", **host: Any) -> None:
        super().__init__(**host)
        self.source = Path(str(predictions)).expanduser()
        self.allow_missing = missing == "unparsed"
        problem = None
        try:
            if missing not in ("error", "unparsed"):
                raise InputError(f"Expected missing to be error or unparsed, not {missing!r}.")
            kinds = [benchmark.predictions for benchmark in registry().benchmarks.values() if benchmark.predictions]
            self.saved = read_responses(self.source, kinds, self.allow_missing)
        except InputError as error:
            problem = str(error)
        stop_if_any(problem)
        self.unanswered, self.cut_off = self.saved.unanswered, self.saved.cut_off
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
        lacking = [(request.task, request.doc["item_id"]) for request in requests if self._find(request) is None]
        unsaved = sorted({item for items in gather_objects(lacking) for item in items})
        if not unsaved or self.allow_missing:
            return
        tasks = ", ".join(dict.fromkeys(task for task, _ in unsaved))
        items = "item has" if len(unsaved) == 1 else "items have"
        stop_if_any(
            f"{self.source} cannot be replayed: {len(unsaved)} {items} no saved response (of {tasks}).\n"
            f"  {summarize_names(item_id for _, item_id in unsaved)}\n"
            "Give the responses of the same task and split, or count these as unparsed:  "
            "--model_args predictions=…,missing=unparsed"
        )

    def answer(self, request: Request) -> str:
        """The saved response; empty where there is none and that is allowed."""
        return self._find(request) or ""

    def _find(self, request: Request) -> str | None:
        return self.saved.find(request.task, request.doc["item_id"])
