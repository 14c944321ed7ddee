"""The state of an evaluation and its tasks, their hooks bound to it, and the leaderboard files that they write."""

from __future__ import annotations

import copy
import hashlib
import importlib
import json
import os
import re
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from loguru import logger

from lmms_eval_tasks.host.model.identity import ModelFacts, get_nested_attr, is_ours
from lmms_eval_tasks.host.ranks import RunStopped, current_exchange
from lmms_eval_tasks.host.tasks import task_view
from lmms_eval_tasks.prompting import check_choice, read_task_settings
from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.runs.run_files import DATA_SET, Shard, name_model, read_shard
from lmms_eval_tasks.utils.answers.hooks import (
    Ask,
    Grade,
    Grader,
    Restored,
    RunningTask,
    TaskSettings,
    Warn,
    doc_to_visual,
    explain,
    is_hook,
)
from lmms_eval_tasks.utils.answers.reply import Reply, Why
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS, RECORD, SUBMISSION_ROWS, task_configs, tasks_of_part
from lmms_eval_tasks.utils.benchmark.views import View, find_view
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import first_line
from lmms_eval_tasks.utils.data.card import Card, DataSet, Row, SetKind
from lmms_eval_tasks.utils.data.home import absent_clips, load_table, read_manifest, read_table
from lmms_eval_tasks.utils.data.sampling import Drawn, SampleChoice, read_sample
from lmms_eval_tasks.utils.judge.client import LoggedVerdicts, check_judge, open_judge, read_settings
from lmms_eval_tasks.utils.scoring.metrics import SAMPLE_DATA, Metric, Units, mean_of_known, score_tasks
from lmms_eval_tasks.utils.scoring.record import GradedItem, Record, UnscoredReason
from lmms_eval_tasks.utils.submission.form import Table, read_prepared

if TYPE_CHECKING:
    import datasets
    from pydantic import BaseModel

Pointer = Mapping[str, Any]


@dataclass(frozen=True)
class RunChoices:
    """What is chosen of a run before a model is loaded.

    Attributes:
        clips_needed: Whether its model looks at clips.
        judge_needed: Whether answers are judged.
        splits: Whether it may be a part of a run, as the environment says.
    """

    clips_needed: bool = True
    judge_needed: bool = True
    splits: bool = True

    @property
    def shard(self) -> Shard | None:
        return read_shard() if self.splits else None

    @property
    def sample(self) -> SampleChoice | None:
        return read_sample() if self.splits else None


class OpenSplit:
    """A prepared split, each part of which is read once for all tasks of an evaluation."""

    def __init__(self, card: Card, name: str) -> None:
        self.card, self.name = card, name
        self.absent: Mapping[str, str] | None = None
        """The clips that the first rank has not found, of several ranks."""
        self._tables: dict[bool, datasets.Dataset] = {}

    def table(self, clips_needed: bool) -> datasets.Dataset:
        if clips_needed not in self._tables:
            self._tables[clips_needed] = load_table(self.card, self.name, clips_needed, self.absent)
            _ = self.data_set  # of this table: another set may be prepared before the first item is graded
        return self._tables[clips_needed]

    @cached_property
    def data_set(self) -> DataSet:
        """The official release, a part of it, one's own, or sample data."""
        return read_manifest(self.card).splits[self.name].data_set

    @cached_property
    def submitted(self) -> Table:
        """The rows from which files for the leaderboard are made."""
        return read_prepared(self.card, self.name)


@dataclass(frozen=True, eq=False)
class Evaluation(RunChoices):
    """A run with its tasks, and with the prepared tables and judges that these share."""

    tasks: Mapping[str, TaskState] = field(default_factory=dict)
    _splits: dict[tuple[str, str], OpenSplit] = field(default_factory=dict)
    _judges: dict[type, Grader | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, state: TaskState) -> None:
        cast(dict[str, TaskState], self.tasks)[state.name] = state

    def split_of(self, pointer: Pointer) -> OpenSplit:
        key = benchmark, split = pointer["benchmark"], pointer["split"]
        if key not in self._splits:
            self._splits[key] = OpenSplit(read_card(benchmark), split)
        return self._splits[key]

    def open_split(self, pointer: Pointer) -> datasets.Dataset:
        """Return the rows of the prepared table that a task's pointer names, at the index that they have there."""
        import datasets
        import pyarrow as pa
        import pyarrow.compute as pc

        benchmark, split = pointer["benchmark"], pointer["split"]
        check_choice(benchmark)
        clips_needed = self.clips_needed and view_of(pointer).needs_clip
        whole = self.split_of(pointer).table(clips_needed)
        table, known = whole.data.table, whole._fingerprint
        if subset := pointer.get("subset"):
            table = table.filter(pc.equal(table["subset"], subset))
            if not table.num_rows:
                raise InputError(
                    f"Expected items of {subset} in {benchmark}, {split}, but the prepared data has none. "
                    "Name the tasks of the others one by one."
                )
        table = table.append_column("split", pa.repeat(split, table.num_rows))
        asked = table["clip_present"] if clips_needed else pa.repeat(True, table.num_rows)
        # Without a fingerprint, datasets makes one of all that the table holds.
        fingerprint = hashlib.sha256(repr((known, split, subset, clips_needed)).encode()).hexdigest()[:16]
        return datasets.Dataset(table.append_column("asked", asked), fingerprint=fingerprint)

    def open_items(self, pointer: Pointer) -> datasets.Dataset:
        table, kind = self.open_split(pointer), find_benchmark(pointer["benchmark"]).kind_of(pointer)
        return kind.rows(table) if kind.rows else table

    def check_grading(self, pointer: Pointer) -> None:
        benchmark = find_benchmark(pointer["benchmark"])
        kind = benchmark.kind_of(pointer)
        if kind.judge and self.judge_needed:
            try:
                check_judge(kind.judge == "optional")
            except InputError as error:
                raise InputError(f"{benchmark.card.title}'s free answers need a judge. {error}") from None

    def check_view(self, pointer: Pointer) -> None:
        view = view_of(pointer)
        if self.clips_needed:
            asked = task_view.Asked(clips_needed=True)
            task_view.TaskView(view, find_benchmark(pointer["benchmark"]), pointer, asked).check()

    def look_for_clips(self, pointers: Sequence[Pointer]) -> None:
        """Look for the clips of tasks on the first of several ranks alone; every rank has to call this."""
        ranks, absent = current_exchange(), dict[tuple[str, str], Mapping[str, str]]()
        if ranks.size == 1:
            return
        for pointer in () if ranks.rank else pointers:
            with suppress(InputError):
                card, split = read_card(pointer["benchmark"]), pointer["split"]
                if self.clips_needed and view_of(pointer).needs_clip:
                    absent[card.name, split] = absent_clips(card, split, read_table(card, split)[0])
        found, *_ = ranks.gather(absent)
        for (benchmark, split), clips in found.items():
            self.split_of({"benchmark": benchmark, "split": split}).absent = clips

    def problems(self, pointers: Sequence[Pointer]) -> str | None:
        reasons: dict[str, None] = {}
        for pointer in pointers:
            for check in (self.open_items, self.check_grading, self.check_view):
                try:
                    check(pointer)
                except InputError as error:
                    reasons[str(error)] = None
        return "\n\n".join(reasons) or None

    def judge(self, schema: type[BaseModel], optional: bool = False) -> Grader | None:
        """Return the judge of $LMMS_EVAL_TASKS_JUDGE, opened once; None where it is ``none``."""
        with self._lock:
            if schema not in self._judges:
                settings = read_settings(optional=optional)
                self._judges[schema] = open_judge(schema, settings) if settings else None
            return self._judges[schema]


@dataclass(frozen=True)
class FinishedRun:
    """A run that has just ended in this process, with what its stages found.

    Attributes:
        answers_kept: How many answers were kept from before; None where none are kept.
        spent: What the answers of each task cost, by the names of the run card's fields.
        shared: How many items of each task have the answer to an equal request.
        throughput: Of all ranks together, by the names of the run card's fields.
    """

    evaluation: Evaluation
    facts: ModelFacts = field(default_factory=ModelFacts)
    answers_kept: int | None = None
    spent: Mapping[tuple[str, str], float] = field(default_factory=dict)
    shared: Mapping[str, int] = field(default_factory=dict)
    throughput: Mapping[str, Any] = field(default_factory=dict)


class Results(dict[str, Any]):
    """lmms-eval's results, with the run that they are of, for the run card."""

    def __init__(self, results: Mapping[str, Any], run: FinishedRun) -> None:
        super().__init__(results)
        self.run = run

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """Return the numbers alone, as lmms-eval's loggers take them."""
        whole: dict[str, Any] = copy.deepcopy(dict(self), memo)
        for section in ("results", "groups"):
            for name, scores in whole.get(section, {}).items():
                whole[section][name] = {key: value for key, value in scores.items() if not isinstance(value, list)}
        return whole


def view_of(pointer: Pointer) -> View:
    name, benchmark = pointer.get("view", ""), find_benchmark(pointer["benchmark"])
    view, kind = find_view(name), benchmark.kind_of(pointer)
    if view is None or not kind.offers(view):
        raise InputError(
            f"Expected a view of {benchmark.name}, any of {', '.join(kind.views) or 'none'}, but got {name!r}."
        )
    return view


def shows_videos(evaluation: Evaluation) -> bool:
    return evaluation.clips_needed and any(state.view.shows_video for state in evaluation.tasks.values())


def find_metrics(owner: str, pointer: Pointer, names: Sequence[str]) -> tuple[Metric, ...]:
    benchmark = find_benchmark(pointer["benchmark"])
    known = {metric.name: metric for metric in benchmark.kind_of(pointer).metrics}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{owner} lists scores that {benchmark.name} lacks: {', '.join(unknown)}.")
    return tuple(known[name] for name in names)


@cache
def _describe(data_set: DataSet) -> Mapping[str, Any]:
    return data_set.model_dump(mode="json")


LEAST_TOKENS = 0.9
"""Share of its tokens that the text of an answer that was cut off has; a few are lost where it is read again."""


class ShownLast(NamedTuple):
    """What was shown last to a model of a task's items, and when."""

    when: float
    item: str
    visuals: Sequence[Any]


class Replies(Protocol):
    """The replies to the items of a task."""

    def find(self, item_id: str, sample: int = 1) -> Reply | None:
        """The reply to one sample of an item; None where it is not known here."""


class TaskRequests:
    """The replies to lmms-eval's requests of a task on this rank, before any filter, once they were answered."""

    def __init__(self, task: Any, model: Any) -> None:
        self._task, self._model = task, model
        self._noted: dict[tuple[int, int], Reply] = {}
        """Replies of which more is known than their texts and counts, by document and sample."""

    def note(self, document: int, sample: int, reply: Reply) -> None:
        self._noted[document, sample] = reply

    @cached_property
    def _by_item(self) -> Mapping[str, Any]:
        items = self._task.eval_docs.select_columns("item_id").to_dict()["item_id"]
        return {items[request.doc_id]: request for request in self._task.instances}

    def find(self, item_id: str, sample: int = 1) -> Reply | None:
        request = self._by_item.get(item_id)
        if request is None or len(request.resps) < sample:
            return None
        counts = request.token_counts[sample - 1] if len(request.token_counts) >= sample else None
        reply = self._noted.get((request.doc_id, sample)) or Reply.of_response(request.resps[sample - 1], counts)
        return reply.used_all() if not reply.missing and self._used_all(reply) else reply

    def _used_all(self, reply: Reply) -> bool:
        """Whether a reply used all of its tokens, as lmms-eval counts them."""
        counts, text = reply.counts, reply.text
        try:
            limit = int((self._task.config.generation_kwargs or {}).get("max_new_tokens") or 0)
        except (TypeError, ValueError, OverflowError):
            return False
        if not (limit and counts and (counts.output_tokens or 0) >= limit):
            return False
        # Adapters count what pads an answer in its batch: one that is much shorter was not cut off.
        tokenizer = get_nested_attr(self._model, "tokenizer")
        if callable(tokenizer) and not is_ours(type(self._model)):
            with suppress(Exception):  # a tokenizer of another kind
                return len(tokenizer(text, add_special_tokens=False)["input_ids"]) >= LEAST_TOKENS * limit
        return True


def _for_errors(metric: Metric, record: Record) -> float | Mapping[str, object] | None:
    """What lmms-eval's standard errors need of a record, as JSON values; None where it prints none of it."""
    if metric.errors == "none" or record.drawn:
        return None
    value = mean_of_known(map(metric.value, record.each)) if record.samples else metric.value(record)
    if value is None or (metric.errors == "plain" and not record.samples):
        return value
    return {"group_id": record.group_id, "score": value}


class _First(str):
    """A score's name that lmms-eval puts before all others where its first rank has no item of a task.

    It sorts them there by their text in a tuple; else they keep the order in which the first item has them.
    """

    def __repr__(self) -> str:
        return f" {super().__repr__()}"


FIRST = _First(RECORD)
"""The records come first, since each score is computed from them."""


class TaskState(RunningTask):
    """One task of an evaluation: its settings, and what the hooks that its YAML names do."""

    def __init__(self, name: str, pointer: Pointer, metrics: Sequence[str], evaluation: Evaluation) -> None:
        self.name, self.pointer, self.evaluation = name, pointer, evaluation
        self.benchmark = find_benchmark(pointer["benchmark"])
        self.kind = self.benchmark.kind_of(pointer)
        self.ask, self.grade, self.warn = self.kind.ask, self.kind.grade, self.kind.warn
        scores = [metric for metric in metrics if metric not in (RECORD, SUBMISSION_ROWS)]
        self.metrics = find_metrics(f"The task {name}", pointer, scores)
        self.view = view_of(pointer)
        self.shows_whole = not self.view.name
        self.submits = self.benchmark.submission is not None and self.shows_whole and not self.kind.no_submission
        self.kwargs: Mapping[str, Any] = {}
        self.process_results: Callable[..., Mapping[str, Any]] | None = None
        self.asks_alike = False
        """Whether requests with the same prompt and clips show the same: what shows an item is ours."""
        self._settings: TaskSettings | None = None
        self.begin(ModelFacts())

    def begin(
        self,
        facts: ModelFacts,
        replies: Replies | None = None,
        ahead: Any = None,
        drawn: Mapping[str, Drawn] | None = None,
        restored: Restored | None = None,
    ) -> None:
        """Begin to ask, or to score again.

        Args:
            facts: The model.
            replies: Those to the task's items.
            ahead: What makes the clips that are shown ahead.
            drawn: How the group of each item was drawn, by the item's id, where a sample of groups is asked.
            restored: What a finished run used.
        """
        self.facts, self.replies, self.drawn, self.is_heard = facts, replies, drawn or {}, False
        self.verdicts: Grader | None = None
        if restored and restored.verdicts is not None:
            self.verdicts = LoggedVerdicts(restored.verdicts)
        if restored and restored.settings:
            self.settle(restored.settings, self.kwargs)
        asked = task_view.Asked(self.evaluation.clips_needed, facts.model, ahead)
        self.shown = task_view.TaskView(self.view, self.benchmark, self.pointer, asked)
        self.silent: dict[str, Why] = {}
        """The items that were asked in vain, and why."""
        self.shown_last: ShownLast | None = None
        self.records: tuple[Record, ...] = ()
        """Those of all ranks, once lmms-eval has gathered them."""
        self.counted: dict[str, Units] = {}
        """Score to what counts in it, for the file of scores."""
        self._scores: defaultdict[str, deque[float | int | None]] = defaultdict(deque)
        """Score to its values that lmms-eval has not asked for yet, one for each of the task's filters."""
        self._submitted: deque[tuple[Record, ...]] = deque()
        """The records of each filter whose submission lmms-eval has not asked for yet, where the task makes one."""
        self.finished: Sequence[GradedItem] | None = None
        """The records with what a submission needs beside them, where the task makes one."""

    def __deepcopy__(self, memo: object) -> TaskState:
        """Return the same state: lmms-eval copies a task's configuration where it prints it."""
        return self

    def __repr__(self) -> str:
        return f"<task {self.name} of {self.benchmark.name}: {json.dumps(dict(self.pointer))}>"

    @property
    def settings(self) -> Any:
        if self._settings is None:
            raise RuntimeError(f"Expected the settings of {self.name} to be known, but none of its items was asked.")
        return self._settings

    def settle(self, settings: TaskSettings, kwargs: Mapping[str, Any]) -> None:
        """Ask, or have asked, with these settings, read from these ``lmms_eval_specific_kwargs``."""
        self._settings, self.kwargs = settings, kwargs

    @cached_property
    def data_set(self) -> DataSet:
        return self.evaluation.split_of(self.pointer).data_set

    @property
    def model(self) -> Any:
        return self.facts.model

    def judge(self, schema: type[BaseModel]) -> Grader | None:
        if not self.evaluation.judge_needed:
            return self.verdicts
        return self.evaluation.judge(schema, self.kind.judge == "optional")

    def bind(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the task's configuration with its hooks and aggregations bound to it."""

        def bind(function: Any, what: str, *named: str) -> Any:
            if not function:
                raise InputError(f"Expected the task {self.name} to name {what} by !function, but it does not.")
            if isinstance(function, str) and re.fullmatch(r"\w+(\.\w+)+", function):
                module, _, name = function.rpartition(".")
                function = getattr(importlib.import_module(module), name)
            return partial(function, self, *named) if is_hook(function) else function

        # What a user's variant does not name is that of the benchmark's first task that works as it does.
        alike = (task.name for task in registry().tasks_of(self.benchmark.name).values() if task.kind is self.kind)
        own: Mapping[str, Any] = task_configs(self.benchmark.folder).get(next(alike, ""), {})
        metrics = {metric.name: metric for metric in self.metrics}
        aggregations = {entry["metric"]: entry.get("aggregation") for entry in own.get("metric_list", ())}
        scores = []
        for entry in config["metric_list"]:
            name = entry["metric"]
            if name == RECORD or (name == SUBMISSION_ROWS and not self.submits):
                continue
            metric, function = metrics.get(name), entry.get("aggregation") or aggregations.get(name)
            aggregation = bind(function, f"an aggregation of {name}", *([name] if metric else []))
            better = metric.higher_is_better if metric else None
            scores.append({"metric": name, "aggregation": aggregation, "higher_is_better": better})
        scores.append({"metric": RECORD, "aggregation": self.keep_records, "higher_is_better": None})
        hooks = {name: bind(config.get(name) or own.get(name), name) for name in HOOKS}
        self.process_results = hooks["process_results"]
        shows = getattr(hooks["doc_to_visual"], "func", None)
        self.asks_alike = shows is doc_to_visual and not config.get("doc_to_messages")
        return {**config, **hooks, "metric_list": scores}

    def open_table(self) -> datasets.Dataset:
        try:
            self.evaluation.check_grading(self.pointer)
            self.evaluation.check_view(self.pointer)
            return self.shown.select(self.evaluation.open_items(self.pointer))
        except InputError as error:
            raise RunStopped(str(error)) from None

    def show(self, doc: Row) -> list[Any]:
        seen = self.shown.visuals(doc)
        self.shown_last = ShownLast(perf_counter(), f"{doc['item_id']} of {self.name}", seen)
        return seen

    def put(self, doc: Row, kwargs: Mapping[str, Any] | None, ask: Ask) -> str:
        """Return the item's prompt. lmms-eval asks for one when it builds the task: then the settings are read."""
        try:
            if self._settings is None:
                given = kwargs or {}
                self.settle(self.shown.adjust_settings(self._read_settings(given)), given)
            return self.shown.put(doc, lambda: ask(doc, self.settings))
        except InputError as error:
            raise RunStopped(str(error)) from None

    def check_settings(self, kwargs: Mapping[str, Any]) -> None:
        try:
            self._read_settings(kwargs)
        except InputError as error:
            raise RunStopped(str(error)) from None

    def _read_settings(self, kwargs: Mapping[str, Any]) -> TaskSettings:
        return read_task_settings(self.benchmark, self.kind, kwargs, os.environ)

    def grade_first(self, doc: Row, results: Sequence[Any], grade: Grade) -> dict[str, Any]:
        first, *others = (
            self._grade(doc, response, number, grade) for number, response in enumerate(results or [""], start=1)
        )
        record = first.record
        if others:
            samples = (replace(one.record, sample=number) for number, one in enumerate(others, start=2))
            record = replace(record, sample=1, samples=tuple(samples))
        items = self.gather(record)
        if self.submits:
            items[SUBMISSION_ROWS] = dict(first.submission)
        return items

    def _grade(self, doc: Row, response: object, sample: int, grade: Grade) -> GradedItem:
        """Return what one response to an item, a text or a reply, is graded as."""
        whole, frame = self._find_reply(doc, response, sample)
        # Of its text lmms-eval's filters have left what is graded.
        text = response if isinstance(response, str) else whole.text if isinstance(response, Reply) else ""
        text = "" if whole.missing else text
        reply = whole if whole.text == text else replace(whole, text=text)
        graded = grade(doc, reply, self)
        record = explain(graded.record, reply, whole.silence)
        if self.drawn:
            record = replace(record, drawn=self.drawn.get(doc["item_id"]))
        if not self.shows_whole:
            record = self.shown.trace(record, doc, frame)
        self.is_heard |= record.heard
        return GradedItem(record, graded.submission)

    def _find_reply(self, doc: Row, response: object, sample: int) -> tuple[Reply, int | None]:
        """Return the reply to a sample of an item, and the index of the single frame that it was asked with."""
        known = self.replies.find(doc["item_id"], sample) if self.replies and not isinstance(response, Reply) else None
        reply, frame = known or Reply.of_response(response), None
        if reply.missing:
            if reply.missing is not UnscoredReason.NO_CLIP:
                self.silent[doc["item_id"]] = reply.missing, reply.detail
        elif not doc["asked"]:
            reply = Reply(missing=UnscoredReason.NO_CLIP)
        elif not self.shows_whole and self.evaluation.clips_needed:
            frame, why = self.shown.look_back(doc)
            reply = replace(reply, missing=why[0], detail=why[1]) if why else reply
        return reply, frame

    def gather(self, record: Record) -> dict[str, Any]:
        """Return what lmms-eval gathers of an item: its record, and an entry for each score that it counts in."""
        is_sample = self.data_set.kind is SetKind.SAMPLE
        gathered: dict[str, Any] = {FIRST: {**record.to_json(), DATA_SET: _describe(self.data_set)}}
        for metric in self.metrics:
            if metric.applies(record) and (is_sample or metric is not SAMPLE_DATA):
                # Of a row that is one sample of its item lmms-eval would take the error for that of an item.
                gathered[metric.name] = _for_errors(metric, record) if self.view.across == "mean" else None
        return gathered

    def keep_records(self, records: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Compute each score from the records of all ranks, and keep them; lmms-eval prints no row of an empty list."""
        self.records = tuple(self.view.join(tuple(map(Record.from_json, records))))
        if self.submits:
            self._submitted.append(self.records)
        for metric in self.metrics:
            if metric is SAMPLE_DATA:  # it is said of the data, and no file of scores has it
                self._scores[metric.name].append(metric.bounds[1])
                continue
            units = self.counted[metric.name] = metric.units(self.records)
            if units:
                self._scores[metric.name].append(score_tasks(metric, [units]))
        return []

    def score(self, name: str) -> float | int | None:
        return self._scores[name].popleft()

    def finish(self, items: Sequence[Mapping[str, Any]], args: Any, warn: Warn | None = None) -> int | None:
        # lmms-eval gathers both in the order of the items, on however many ranks.
        logged = [GradedItem.first_of(*item) for item in zip(self._submitted.popleft(), items, strict=True)]
        for warning in warn(logged, self) if warn else ():
            logger.warning(warning)
        if self.drawn:  # a file that takes other tasks, too, is not whole
            return None
        self.finished = logged
        output_path = getattr(args, "output_path", None)
        if not output_path or not self.submits or self.evaluation.shard:
            return None
        model = name_model(getattr(args, "model", ""), getattr(args, "model_args", ""))
        return _write_submissions(self, Path(output_path), model)


def state_of(task: Any) -> TaskState | None:
    config = getattr(task, "config", None)
    owners = (owner for name in HOOKS for owner in getattr(getattr(config, name, None), "args", ()))
    return next((owner for owner in owners if isinstance(owner, TaskState)), None)


def find_tasks(task_dict: Mapping[Any, Any]) -> Iterator[tuple[TaskState, Any]]:
    for task in task_dict.values():
        if isinstance(task, Mapping):
            yield from find_tasks(task)
        elif state := state_of(task):
            yield state, task


def count_tasks(task_dict: Mapping[Any, Any]) -> int:
    return sum(count_tasks(task) if isinstance(task, Mapping) else 1 for task in task_dict.values())


ASKED_AGAIN = (UnscoredReason.FAILED, UnscoredReason.BUDGET, UnscoredReason.BLOCKED)
LONGEST_NAME = 120
"""Characters of a model's name in that of a file; file systems take 255 bytes together."""


def _write_submissions(state: TaskState, output_path: Path, model: str) -> int | None:
    """Write every file of a benchmark's form that a task completes, and return the rows of the task's own."""
    benchmark, pointer = state.benchmark, state.pointer
    states = state.evaluation.tasks.values()
    finished = {frozenset(one.pointer.items()): one.finished for one in states if one.finished is not None}
    split, form, written = pointer["split"], benchmark.submission, None
    assert form is not None, f"{benchmark.name} has no form of submission"
    # Files of several models stay apart and say whose they are.
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", model)[:LONGEST_NAME].strip("._")
    for part in form.parts:
        tasks = tasks_of_part(registry().tasks_of(benchmark.name), split, part).values()
        keys = [frozenset(task.pointer.items()) for task in tasks]
        if frozenset(pointer.items()) not in keys or not finished.keys() >= set(keys):
            continue
        path = output_path / form.path(split, part)
        path = path.with_name(f"{path.stem}.{safe}{path.suffix}") if safe else path
        try:
            table = state.evaluation.split_of(pointer).submitted.rows_of(tasks)
            items = [item for key in keys for item in finished[key]]
            if failed := [item.record for item in items if item.record.unscored_reason in ASKED_AGAIN]:
                logger.warning(
                    "{} was not written: {:,} of {:,} items have no answer ({}). The same command asks them again.",
                    path, len(failed), len(items), failed[0].why,
                )  # fmt: skip
                continue
            built, expected = form.build(items, table, part), len(table.rows)
            if built is None or (len(tasks) > 1 and built.rows < expected):
                continue
            built = built.of(items)
            _keep_earlier(path, built.text)
            write_file(path, built.text)
        except Exception as error:  # lmms-eval saves the results after this, and no file is worth losing them
            logger.warning(
                "{} was not written ({}: {}). The run keeps all else; with --log_samples, "
                "`lmms-eval-tasks submit {} {} --out FILE` writes the file later.",
                path, type(error).__name__, first_line(error), benchmark.name, output_path,
            )  # fmt: skip
            continue
        lacks = ["it is incomplete and a leaderboard should refuse it"] if built.rows < expected else []
        if built.empty:
            lacks.append(
                f"{built.empty} answers, unparsed or never asked, are empty texts, which no scorer takes for an option"
            )
        level = "WARNING" if lacks or built.partial else "INFO"
        holds = f"{path} holds {built.rows} of {expected} items"
        logger.log(level, "{}", "; ".join([holds, *lacks, *built.notes]))
        if written is None and len(tasks) == 1:
            written = built.rows
    return written


def _keep_earlier(path: Path, text: str) -> None:
    """Keep an earlier run's file of the same name, as two seeds with one output path have, under a name of its own."""
    if not path.is_file() or (earlier := path.read_bytes()) == text.encode("utf-8"):
        return
    for number in count(1):
        kept = path.with_name(f"{path.stem}.{number}{path.suffix}")
        with suppress(FileExistsError), kept.open("xb") as file:
            file.write(earlier)
            logger.warning("{} was another run's; that file is now {}. Give each run its own output path.", path, kept)
            return
