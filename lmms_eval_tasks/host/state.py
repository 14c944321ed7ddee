"""The state of a task: what one hook of lmms-eval learns and a later one needs.

It belongs to the task objects that lmms-eval builds, never to a module, so that two evaluations in one process do not
see each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_eval_tasks.host.captions import CLIP
from lmms_eval_tasks.host.evaluation import Evaluation, Pointer, view_of
from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.submissions import write_submissions
from lmms_eval_tasks.host.task_view import UNANSWERED, TaskView
from lmms_eval_tasks.utils.benchmark.benchmark import Grader, Row, TaskKind, TaskSettings
from lmms_eval_tasks.utils.benchmark.data_set import DataSet
from lmms_eval_tasks.utils.benchmark.registry import find_benchmark
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.results_file import BYPASS, DATA_SET
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.rates import SAMPLE_DATA
from lmms_eval_tasks.utils.scoring.records import FRAME, HOW_ASKED, GradedItem, Outcome, UnscoredReason

if TYPE_CHECKING:
    import datasets
    from pydantic import BaseModel

SUBMISSION_ROWS = "submission_rows"
"""The score of a task that is how many rows its submission file has; the file is written when it is aggregated."""


def find_metrics(owner: str, pointer: Pointer, names: Sequence[str]) -> tuple[Metric, ...]:
    """The scores that a task or group lists, by their names.

    Args:
        owner: The task or group, as the beginning of a sentence.
        pointer: That of the task, or of one of the group's.
        names: The scores.

    Raises:
        InputError: where the benchmark has no score of one of the names.
    """
    benchmark = find_benchmark(pointer["benchmark"])
    known = {metric.name: metric for metric in benchmark.kind_of(pointer).metrics}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{owner} lists scores that {benchmark.name} lacks: {', '.join(unknown)}.")
    return tuple(known[name] for name in names)


class TaskState:
    """One task of an evaluation: its settings, and the hooks that lmms-eval calls.

    Args:
        name: The task's name.
        pointer: What of its benchmark it asks.
        metrics: Names of the scores that its YAML lists.
        evaluation: What it shares with the other tasks.

    Raises:
        InputError: where its benchmark has no score of one of the names, or no such view.
    """

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
        self.kwargs: Mapping[str, Any] = {}
        self._settings: TaskSettings | None = None

    def __deepcopy__(self, memo: object) -> TaskState:
        """The same state: lmms-eval copies a task's configuration where it prints it."""
        return self

    def __repr__(self) -> str:
        return f"<task {self.name} of {self.benchmark.name}>"

    @property
    def settings(self) -> Any:
        """The task's settings.

        Raises:
            RuntimeError: where no item has been asked yet, so that they are not known.
        """
        if self._settings is None:
            raise RuntimeError(f"Expected the settings of {self.name} to be known, but none of its items was asked.")
        return self._settings

    @settings.setter
    def settings(self, settings: TaskSettings) -> None:
        self._settings = settings

    @property
    def model(self) -> Any:
        """The model that runs; None where none does."""
        return self.evaluation.model

    def judge(self, schema: type[BaseModel]) -> Grader | None:
        """The run's judge for replies of a schema; None where nothing is to be judged."""
        if not self.evaluation.judge_needed:
            return self.verdicts
        return self.evaluation.judge(schema, self.kind.judge_optional)

    def process_docs(self, dataset: datasets.Dataset) -> datasets.Dataset:
        """Swap the one-row pointer for the prepared table.

        Raises:
            RunStopped: where it cannot be opened; lmms-eval tries again after every other exception, and hides it.
        """
        try:
            self.evaluation.check_grading(self.pointer)
            self.evaluation.check_view(self.pointer)
            table = self.evaluation.open_split(self.pointer)
        except InputError as error:
            raise RunStopped(str(error)) from None
        return self.shown.select(self.kind.rows(table) if self.kind.rows else table)

    def answered_files(self, doc: Row) -> tuple[Path, ...]:
        """The files by whose content an answer to the item is kept; they may be missing."""
        return self.shown.answered_files(doc)

    def doc_to_visual(self, doc: Row) -> list[Any]:
        """What is shown of the item's clips: paths of videos, or pictures."""
        return self.shown.visuals(doc)

    def doc_to_text(self, doc: Row, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
        """The item's prompt. lmms-eval asks for one when it builds the task: then the settings are read.

        Raises:
            RunStopped: where the settings cannot be used.
        """
        if self._settings is None:
            self.kwargs = lmms_eval_specific_kwargs or {}
            try:
                settings = self.kind.read_settings(self.kwargs, os.environ)
            except InputError as error:
                raise RunStopped(str(error)) from None
            self._settings = self.shown.adjust_settings(settings)
        settings = self._settings
        return self.shown.put(doc, lambda: self.kind.ask(doc, settings))

    def doc_to_target(self, doc: Row) -> str:
        """What lmms-eval logs as the item's target."""
        return self.kind.target(doc)

    def process_results(self, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
        """Grade the first response: the record, and what it contributes to each score."""
        graded = self._grade(doc, results[0] if results else "")
        record = graded.record
        data_set = DataSet.model_validate_json(doc[DATA_SET])
        items: dict[str, Any] = {"record": {**record.to_json(), DATA_SET: data_set.model_dump(mode="json")}}
        for metric in self.metrics:
            if metric.applies(record) and (metric is not SAMPLE_DATA or data_set.is_sample):
                items[metric.name] = metric.item(record)
        if self.submits:
            items[SUBMISSION_ROWS] = graded.to_json()
        return items

    def keep_prediction(self, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
        """What is logged beside an answer that is not graded: an unscored record that says how its item was asked."""
        record = self._grade(doc, "").record
        unscored = replace(
            record,
            answered=None,
            outcome=Outcome.UNSCORED,
            unscored_reason=UnscoredReason.ONLY_PREDICTED if record.asked else record.unscored_reason,
            detail="",
            fields={name: record.fields[name] for name in (*HOW_ASKED, FRAME, CLIP) if name in record.fields},
        )
        data_set = DataSet.model_validate_json(doc[DATA_SET])
        return {BYPASS: None, "record": {**unscored.to_json(), DATA_SET: data_set.model_dump(mode="json")}}

    def _grade(self, doc: Row, response: object) -> GradedItem:
        """Grade a response, and say in its record what was shown."""
        if why := self.evaluation.why_unanswered(self.name, doc["item_id"]):
            doc = {**doc, UNANSWERED: why}
        return self.shown.grade(doc, lambda row, answer: self.kind.grade(row, answer, self), response)

    @property
    def submits(self) -> bool:
        """Whether a leaderboard takes this task."""
        return self.benchmark.submission is not None and not (self.kind.no_submission or self.view.name)

    def finish(self, items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
        """Once the items of all ranks are graded: log warnings, and write the files for the leaderboard.

        Returns how many rows the task's file has; None where lmms-eval's command line names no output path.
        """
        logged = [GradedItem.from_json(item) for item in items]
        for warning in self.kind.warnings(logged, self) if self.kind.warnings else ():
            logger.warning(warning)
        self.evaluation.finished[frozenset(self.pointer.items())] = logged
        output_path = getattr(args, "output_path", None)
        if not output_path or not self.submits:
            return None
        return write_submissions(self.pointer, self.evaluation.finished, Path(output_path))


def bind_hooks(config: Mapping[str, Any], state: TaskState) -> dict[str, Any]:
    """A task's configuration with the hooks and scores of its state."""
    metrics = {metric.name: metric for metric in state.metrics}
    scores = []
    listed = [entry["metric"] for entry in config["metric_list"]]
    for name in listed if state.submits else [name for name in listed if name != SUBMISSION_ROWS]:
        metric = metrics.get(name)
        aggregation, higher_is_better = (metric.score, metric.higher_is_better) if metric else (state.finish, None)
        scores.append({"metric": name, "aggregation": aggregation, "higher_is_better": higher_is_better})
    hooks = ("process_docs", "doc_to_visual", "doc_to_text", "doc_to_target", "process_results")
    return {**config, **{hook: getattr(state, hook) for hook in hooks}, "metric_list": scores}
