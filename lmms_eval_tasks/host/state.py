"""The state of a task: what one hook of lmms-eval learns and a later one needs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_eval_tasks.host.evaluation import Evaluation, Pointer, view_of
from lmms_eval_tasks.host.failed_requests import NO_CONTENT, why_no_answer
from lmms_eval_tasks.host.models import is_ours
from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.submissions import write_submissions
from lmms_eval_tasks.host.task_view import UNANSWERED, ItemKey, TaskView
from lmms_eval_tasks.host.weights import get_nested_attr
from lmms_eval_tasks.installed.registry import find_benchmark
from lmms_eval_tasks.installed.settings import read_task_settings
from lmms_eval_tasks.utils.benchmark.benchmark import Grader, TaskKind, TaskSettings
from lmms_eval_tasks.utils.benchmark.data_set import DataSet
from lmms_eval_tasks.utils.benchmark.rows import Row
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.core.collection import no_collection
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.runs.results_file import DATA_SET, name_model
from lmms_eval_tasks.utils.scoring.hooks import Ask, Grade, RunningTask, Warn
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.rates import SAMPLE_DATA
from lmms_eval_tasks.utils.scoring.records import GradedItem, Record

if TYPE_CHECKING:
    import datasets
    from pydantic import BaseModel


def find_metrics(owner: str, pointer: Pointer, names: Sequence[str]) -> tuple[Metric, ...]:
    """The scores that a task or group lists, by their names."""
    benchmark = find_benchmark(pointer["benchmark"])
    known = {metric.name: metric for metric in benchmark.kind_of(pointer).metrics}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{owner} lists scores that {benchmark.name} lacks: {', '.join(unknown)}.")
    return tuple(known[name] for name in names)


@cache
def _describe(data_set: DataSet) -> Mapping[str, Any]:
    """What records say of a set."""
    return data_set.model_dump(mode="json")


LEAST_TOKENS = 0.9
"""Share of its tokens that the text of an answer that was cut off has; a few are lost where it is read again."""


class TaskRequests:
    """lmms-eval's requests of a task on this rank, once they were answered."""

    def __init__(self, task: Any) -> None:
        self._task = task

    @cached_property
    def _by_item(self) -> Mapping[str, Any]:
        items = self._task.eval_docs.select_columns("item_id").to_dict()["item_id"]
        return {items[request.doc_id]: request for request in self._task.instances}

    def returned(self, item_id: str) -> object:
        """What the model returned first, before any filter; None where it was not asked here."""
        request = self._by_item.get(item_id)
        return request.resps[0] if request and request.resps else None

    def is_cut_off(self, item_id: str, model: Any) -> bool:
        """Whether what a model returned first used all of its tokens, as lmms-eval counts them."""
        request = self._by_item.get(item_id)
        counts = request.token_counts[0] if request and request.token_counts else None
        try:
            limit = int((self._task.config.generation_kwargs or {}).get("max_new_tokens") or 0)
        except (TypeError, ValueError, OverflowError):
            return False
        if not (limit and counts and (counts.output_tokens or 0) >= limit):
            return False
        return not _is_padded(self.returned(item_id), limit, model)


def _is_padded(text: object, limit: int, model: Any) -> bool:
    """Whether an answer is much shorter than its count of tokens: adapters count what pads it in its batch."""
    tokenizer = get_nested_attr(model, "tokenizer")
    if not isinstance(text, str) or not callable(tokenizer) or is_ours(type(model)):
        return False
    try:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"]) < LEAST_TOKENS * limit
    except Exception:  # a tokenizer of another kind
        return False


class TaskState(RunningTask):
    """One task of an evaluation: its settings, and what the hooks that its YAML names do."""

    def __init__(self, name: str, pointer: Pointer, metrics: Sequence[str], evaluation: Evaluation) -> None:
        self.name = name
        self.pointer = pointer
        self.benchmark = find_benchmark(pointer["benchmark"])
        self.kind: TaskKind = self.benchmark.kind_of(pointer)
        scores = [metric for metric in metrics if metric != SUBMISSION_ROWS]
        self.metrics = find_metrics(f"The task {name}", pointer, scores)
        self.view = view_of(pointer)
        self.shown = TaskView(self.view, self.benchmark, pointer, evaluation)
        self.evaluation = evaluation
        self.verdicts: Grader | None = None
        self.requests: TaskRequests | None = None
        self.kwargs: Mapping[str, Any] = {}
        self.process_results: Callable[..., Mapping[str, Any]] | None = None
        self._settings: TaskSettings | None = None

    def __deepcopy__(self, memo: object) -> TaskState:
        """The same state: lmms-eval copies a task's configuration where it prints it."""
        return self

    def __repr__(self) -> str:
        return f"<task {self.name} of {self.benchmark.name}: {json.dumps(dict(self.pointer))}>"

    @property
    def settings(self) -> Any:
        """The task's settings."""
        if self._settings is None:
            raise RuntimeError(f"Expected the settings of {self.name} to be known, but none of its items was asked.")
        return self._settings

    @settings.setter
    def settings(self, settings: TaskSettings) -> None:
        self._settings = settings

    @cached_property
    def data_set(self) -> DataSet:
        """What the prepared set is: the official release, a part of it, a set of one's own, or sample data."""
        return read_manifest(self.benchmark.card).splits[self.pointer["split"]].data_set

    @property
    def model(self) -> Any:
        """The model that runs; None where none does."""
        return self.evaluation.model

    def judge(self, schema: type[BaseModel]) -> Grader | None:
        """The run's judge for replies of a schema; None where nothing is to be judged."""
        if not self.evaluation.judge_needed:
            return self.verdicts
        return self.evaluation.judge(schema, self.kind.judge == "optional")

    def open_table(self) -> datasets.Dataset:
        """The prepared table, for the one-row pointer that lmms-eval has read."""
        try:
            self.evaluation.check_grading(self.pointer)
            self.evaluation.check_view(self.pointer)
            table = self.evaluation.open_items(self.pointer)
            _ = self.data_set  # of this table: another set may be prepared before the first item is graded
        except InputError as error:
            raise RunStopped(str(error)) from None
        return self.shown.select(table)

    def answered_items(self, table: datasets.Dataset) -> Callable[[int], ItemKey]:
        """What an answer to each row of the task's table is kept by."""
        return self.shown.answered_items(table)

    def show(self, doc: Row) -> list[Any]:
        """What is shown of the item's clips: paths of videos, or pictures."""
        return self.shown.visuals(doc)

    def put(self, doc: Row, kwargs: Mapping[str, Any] | None, ask: Ask) -> str:
        """The item's prompt. lmms-eval asks for one when it builds the task: then the settings are read."""
        try:
            if self._settings is None:
                self.kwargs = kwargs or {}
                self._settings = self.shown.adjust_settings(self._read_settings(self.kwargs))
            settings = self._settings
            return self.shown.put(doc, lambda: ask(doc, settings))
        except InputError as error:
            raise RunStopped(str(error)) from None

    def check_settings(self, kwargs: Mapping[str, Any]) -> None:
        """Refuse settings that cannot be used before a model is loaded."""
        try:
            self._read_settings(kwargs)
        except InputError as error:
            raise RunStopped(str(error)) from None

    def _read_settings(self, kwargs: Mapping[str, Any]) -> TaskSettings:
        return read_task_settings(self.benchmark, self.kind, kwargs, os.environ)

    def grade_first(self, doc: Row, results: Sequence[Any], grade: Grade) -> dict[str, Any]:
        """What the first response brings: the item's record, and what that contributes to each score."""
        item_id, response = doc["item_id"], results[0] if results else ""
        returned = self.requests.returned(item_id) if self.requests else response
        response = "" if response == NO_CONTENT else response  # in a log of an earlier version
        if why := self.evaluation.why_unanswered(self.name, item_id) or why_no_answer(returned):
            self.evaluation.unanswered[self.name, item_id] = why
            doc = {**doc, UNANSWERED: why}
        if self.evaluation.is_cut_off(self.name, item_id) or (
            self.requests and self.requests.is_cut_off(item_id, self.model)
        ):
            doc = {**doc, "cut_off": True}
        graded = self.shown.grade(doc, lambda row, answer: grade(row, answer, self), response)
        record = graded.record
        self.evaluation.is_heard |= not record.unanswered
        items: dict[str, Any] = {
            "record": {**record.to_json(), DATA_SET: dict(_describe(self.data_set))},
            **self.gather(record, self.data_set.is_sample),
        }
        if self.submits:
            items[SUBMISSION_ROWS] = graded.to_json()
        return items

    def gather(self, record: Record, sample: bool) -> dict[str, Any]:
        """What a record contributes to each score that it counts in; `sample` says whether its data is simulated."""
        return {
            metric.name: metric.item(record)
            for metric in self.metrics
            if metric.applies(record) and (sample or metric is not SAMPLE_DATA)
        }

    @property
    def submits(self) -> bool:
        """Whether a leaderboard takes this task."""
        return self.benchmark.submission is not None and not (self.kind.no_submission or self.view.name)

    def finish(self, items: Sequence[Mapping[str, Any]], args: Any, warn: Warn | None = None) -> int | None:
        """Once the items of all ranks are graded: log warnings, and write the files for the leaderboard."""
        logged = [GradedItem.from_json(item) for item in items]
        for warning in warn(logged, self) if warn else ():
            logger.warning(warning)
        self.evaluation.finished[frozenset(self.pointer.items())] = logged
        output_path = getattr(args, "output_path", None)
        if not output_path or not self.submits or self.evaluation.shard:
            return None
        model = name_model(getattr(args, "model", ""), getattr(args, "model_args", ""))
        with no_collection():
            return write_submissions(self.benchmark, self.pointer, self.evaluation.finished, Path(output_path), model)
