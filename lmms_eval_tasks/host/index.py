"""lmms-eval's task index with our tasks and their views in it, bound to an evaluation and checked before a run, and
answers logged with their items under ``--predict_only``.
"""

from __future__ import annotations

import copy
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from loguru import logger

from lmms_eval_tasks.host.asking.across_ranks import (
    ClipDealer,
    stop_unless_ranks_agree,
)
from lmms_eval_tasks.host.asking.failed_requests import FailedRequests, describe_silence
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers
from lmms_eval_tasks.host.asking.part_of_run import (
    describe_unsplit,
    evaluate_nothing,
    find_part,
    without_tasks,
)
from lmms_eval_tasks.host.asking.stages import AskedModel, AskingStage
from lmms_eval_tasks.host.asking.throughput import Throughput
from lmms_eval_tasks.host.asking.unreadable_clips import UnreadableClips
from lmms_eval_tasks.host.asking.views_ahead import ViewsAhead
from lmms_eval_tasks.host.model.answer_forms import (
    CLIPLESS,
    describe_misfit,
    describe_misfit_of,
    describe_unknown,
    describe_unready,
)
from lmms_eval_tasks.host.model.model_identity import find_arguments, read_weights
from lmms_eval_tasks.host.model.readers import ready_reader
from lmms_eval_tasks.host.options import describe_refused
from lmms_eval_tasks.host.ranks import (
    RunStopped,
    called_by,
    command_options,
    end_where_lmms_eval_goes_on,
    on_command_line,
    ordinary_errors,
    stop_if_any,
)
from lmms_eval_tasks.host.tasks.foreign_views import bind_view
from lmms_eval_tasks.host.tasks.running import (
    Evaluation,
    TaskRequests,
    TaskState,
    bind_hooks,
    find_metrics,
    shows_videos,
    state_of,
)
from lmms_eval_tasks.host.tasks.task_view import CLIP
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_files import BYPASS, DATA_SET
from lmms_eval_tasks.utils.answers.hooks import is_hook, unbound_message
from lmms_eval_tasks.utils.benchmark.benchmark import CAPTIONS, SOCRATIC, AnswerForm, name_view, read_pointer
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS, RECORD
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.metrics import aggregate_tasks
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, FRAME, HOW_ASKED, Outcome, Record, UnscoredReason

VIEW = "view"
"""Where an entry of the index, or a pointer, names a view."""


def listed_views(index: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of all views of the tasks and groups in an index; single frames only where the benchmark has them."""
    entries: dict[str, Any] = {}
    for name in index:
        for member in registry().find_members(name)[:1]:
            for view in member.kind.views:
                for listed in (view, CAPTIONS) if view == SOCRATIC else (view,):
                    entries.update(_view_entries(index, name_view(name, listed)))
    return entries


def add_views(manager: Any, names: Iterable[Any]) -> None:
    """Put the views that are named, and not listed, into a task manager's index: single frames at any position."""
    index = manager.task_index
    for name in names:
        if not isinstance(name, str) or name in index:
            continue
        for view, entry in _view_entries(index, name).items():
            if view not in index:
                index[view] = entry
                manager.all_tasks.append(view)
                (manager.all_groups if entry["type"] == "group" else manager.all_subtasks).append(view)


def _view_entries(index: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The entry of a task's view, or those of a group's view and of its tasks; none for a name that is no view."""
    members, parent = registry().find_members(name), registry().find_parent(name)
    names = dict.fromkeys((name, *(task.name for task in members)))
    parents = {view: registry().find_parent(view) for view in names}
    if parent == name or not all(one in index for one in parents.values()):
        return {}
    return {view: {**index[one], VIEW: members[0].view} for view, one in parents.items()}


def view_config(config: Any, entry: Mapping[str, Any]) -> Any:
    """A task's or group's configuration as a view of it, where its entry of the index names one."""
    view = entry.get(VIEW, "")
    if not view or not isinstance(config, Mapping):
        return config
    if isinstance(tasks := config.get("task"), list):
        named = {"group": name_view(config["group"], view), "task": [name_view(task, view) for task in tasks]}
    else:
        named = {"task": name_view(config["task"], view)}
    return {**config, **named}


def keep_items(state: TaskState, task: Any) -> None:
    """Let a task whose answers are only kept log their items: lmms-eval has taken the hook away that graded them."""
    grade = state.process_results
    if grade is not None and [entry.get("metric") for entry in task.config.metric_list or ()] == [BYPASS]:
        task.config.process_results = functools.partial(keep_prediction, state, grade)


def keep_prediction(
    state: TaskState, grade: Callable[..., Mapping[str, Any]], doc: Mapping[str, Any], results: Sequence[Any]
) -> dict[str, Any]:
    """Return the log entry of an answer that is not graded: an unscored record that says how its item was asked."""
    graded = grade(doc, [""])[RECORD]
    record = Record.from_json(graded)
    unscored = replace(
        record,
        answered=None,
        outcome=Outcome.UNSCORED,
        unscored_reason=record.unscored_reason if record.unanswered else UnscoredReason.ONLY_PREDICTED,
        detail=record.detail if record.unanswered or record.detail == CUT_OFF else "",
        fields={name: record.fields[name] for name in (*HOW_ASKED, FRAME, CLIP) if name in record.fields},
    )
    return {BYPASS: None, RECORD: {**unscored.to_json(), DATA_SET: graded[DATA_SET]}}


WRAPPED = "_lmms_eval_tasks"
"""Marks what is wrapped already, and names the evaluation of a task manager."""
SIZES = "lmms_eval.cli.power_utils"
"""lmms-eval's module that counts the items of tasks."""


class Results(dict[str, Any]):
    """lmms-eval's results, with the evaluation that they are of, for the run card."""

    evaluation: Evaluation

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """The numbers alone, as lmms-eval's loggers take them."""
        whole: dict[str, Any] = copy.deepcopy(dict(self), memo)
        for section in ("results", "groups"):
            for name, scores in whole.get(section, {}).items():
                numbers = {key: value for key, value in scores.items() if not isinstance(value, list)}
                whole[section][name] = numbers
        return whole


def wrap_initialize_tasks(index_tasks: Callable[..., Any], before_loading: Callable[[], None]) -> Callable[..., Any]:
    """`TaskManager.initialize_tasks` with our tasks in the index; its manager becomes one that knows them."""

    @functools.wraps(index_tasks)
    def initialize_tasks(self: Any, include_path: Any = None, include_defaults: bool = True) -> dict[str, Any]:
        setattr(self, WRAPPED, Evaluation(clips_needed=getattr(self, "model_name", None) not in CLIPLESS))
        if not isinstance(self, ManagesOurTasks):
            kind = type(self)
            self.__class__ = type(
                kind.__name__, (ManagesOurTasks, kind), {"before_loading": staticmethod(before_loading)}
            )
        index: dict[str, Any] = index_tasks(self, include_path=include_path, include_defaults=include_defaults)
        return _with_our_tasks(self, index) if include_defaults else index

    return initialize_tasks


class ManagesOurTasks:
    """Changes to a `TaskManager` of lmms-eval whose index holds our tasks."""

    before_loading: Callable[[], None]

    def match_tasks(self: Any, task_list: list[str]) -> list[str]:
        """The names that a run's ``--tasks`` match, once the run is checked: lmms-eval loads its model after it."""
        add_views(self, task_list)
        names: list[str] = super().match_tasks(task_list)  # type: ignore[misc]
        members = {name: list(_members(self.task_index, name)) for name in names}
        ours = {name: own for name in names if (own := [pointer for _, pointer in members[name] if pointer])}
        others = [member for name in names for member, pointer in members[name] if pointer is None]
        if on_command_line():
            stop_if_any(describe_unknown(task_list, names, self.all_tasks))
        stop_if_any(describe_unsplit(evaluation_of(self), others))
        if ours:
            forms = {name: frozenset(map(_form_of, pointers)) for name, pointers in ours.items()}
            misfit = describe_misfit(str(self.model_name), forms)
            evaluation, named = evaluation_of(self), [pointer for pointers in ours.values() for pointer in pointers]
            evaluation.look_for_clips(named)
            problems = evaluation.problems(named)
            is_first = os.environ.get("RANK", "0") == "0"
            unready = describe_unready(command_options()) if is_first else None
            stop_if_any(describe_refused() or misfit or problems or unready)
            for name in ours:
                self._load_configs(name)
            if on_command_line():
                end_where_lmms_eval_goes_on()
        if any(called_by(SIZES)):
            # It counts the items of tasks, and passes a group over.
            names = list(dict.fromkeys([*names, *(member for pairs in members.values() for member, _ in pairs)]))
        return names

    def _load_configs(self: Any, name: str) -> None:
        """Load a task's configuration, or those of a group's or tag's tasks, so that its faults stop the run now."""
        entry = self.task_index.get(name, {})
        config = {} if entry.get("type") == "tag" else self._get_config(name)
        if state := evaluation_of(self).tasks.get(name):
            given = config.get("lmms_eval_specific_kwargs") or {}
            state.check_settings(given.get(self.model_name) or given.get("default") or {})
        members = entry["task"] if entry.get("type") == "tag" else config.get("task")
        for member in members if isinstance(members, list) else ():
            if isinstance(member, str) and member != name:
                self._load_configs(member)

    def _get_config(self: Any, name: str) -> Any:
        entry = self.task_index.get(name, {})
        try:
            config = view_config(super()._get_config(name), entry)  # type: ignore[misc]
        except (ImportError, AttributeError) as error:
            file = entry.get("yaml_path", name)
            raise RunStopped(f"{file} names a function that cannot be loaded: {error}.") from None
        self.before_loading()
        return bind_config(name, config, self.task_index, evaluation_of(self))

    def load_task_or_group(self: Any, task_list: Any = None, task_type: Literal["simple", "chat"] = "simple") -> Any:
        """Tasks and groups; what goes wrong is raised, and not taken for a task without data."""
        add_views(self, [task_list] if isinstance(task_list, str) else task_list or [])
        with ordinary_errors():
            return super().load_task_or_group(task_list, task_type)  # type: ignore[misc]

    def load_config(self: Any, config: Any) -> Any:
        """A task of a configuration; what goes wrong is raised."""
        with ordinary_errors():
            return super().load_config(config)  # type: ignore[misc]


def evaluation_of(manager: Any) -> Evaluation:
    """The evaluation that a task manager was made for."""
    evaluation: Evaluation = getattr(manager, WRAPPED)
    return evaluation


def _with_our_tasks(manager: Any, index: dict[str, Any]) -> dict[str, Any]:
    """The index with the tasks of every benchmark; a task of lmms-eval is only replaced where the benchmark says so."""
    merged = dict(index)
    for benchmark in registry().benchmarks.values():
        ours = dict(manager._get_task_and_group(str(benchmark.folder)))
        taken = [name for name in ours if name in index and name not in benchmark.replaces]
        if taken:
            logger.warning(
                "The tasks of {} are left out: lmms-eval has tasks of the same name ({}).",
                benchmark.name,
                ", ".join(taken),
            )
        else:
            merged.update({**listed_views(ours), **ours})
    return merged


def bind_config(name: str, config: Any, index: Mapping[str, Any], evaluation: Evaluation) -> Any:
    """A task's or group's configuration with our hooks and scores; other people's as it is, or as it names a view."""
    if not isinstance(config, Mapping):
        return config
    is_group = "aggregate_metric_list" in config and "group" in config
    pointer = next(find_pointers(index, name), None) if is_group else _pointer_of(index.get(name, {}), config)
    if pointer is None:
        unbound = [function for hook in HOOKS if is_hook(function := config.get(hook))]
        if unbound:
            raise RunStopped(f"{name}: {unbound_message(unbound[0])}")
        return bind_view(config)
    try:
        if is_group:
            return bind_group(name, config, pointer)
        state = TaskState(name, pointer, [entry["metric"] for entry in config["metric_list"]], evaluation)
        bound = bind_hooks(config, state)
    except InputError as error:
        raise RunStopped(str(error)) from None
    registry().derive(name, pointer, config)
    evaluation.tasks[name] = state
    return bound


def bind_group(name: str, config: Mapping[str, Any], pointer: Mapping[str, Any]) -> dict[str, Any]:
    """A group's configuration with how each score of its tasks becomes its own."""
    entries = config["aggregate_metric_list"]
    metrics = find_metrics(f"The group {name}", pointer, [entry["metric"] for entry in entries])
    bound = [
        {**entry, "aggregation": functools.partial(aggregate_tasks, metric), "weight_by_size": False}
        for entry, metric in zip(entries, metrics, strict=True)
    ]
    return {**config, "aggregate_metric_list": bound}


def find_pointers(index: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The pointer of one of our tasks, or those of a group's or tag's; nothing for other people's tasks."""
    return (pointer for _, pointer in _members(index, name) if pointer)


def _members(index: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """A task, or those of a group or tag, each with its pointer; None for other people's tasks."""
    from lmms_eval.utils import load_yaml_config

    entry = index.get(name, {})
    path = entry.get("yaml_path", -1)
    config = entry if path == -1 else view_config(load_yaml_config(path, mode="simple"), entry)
    if not isinstance(config.get("task"), list):
        yield name, _pointer_of(entry, config)
        return
    for member in config["task"]:
        if isinstance(member, str) and member != name:
            yield from _members(index, member)


def _form_of(pointer: Mapping[str, Any]) -> AnswerForm:
    """Return the form of answer that the task of a pointer takes."""
    return registry().benchmarks[pointer["benchmark"]].kind_of(pointer).answer_form


def _pointer_of(entry: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any] | None:
    path = entry.get("yaml_path", -1)
    if path == -1 or config.get("dataset_path") != "json":
        return None
    pointer = read_pointer(Path(path).parent, config)
    if pointer is None or pointer["benchmark"] not in registry().benchmarks:
        return None
    return {**pointer, VIEW: entry[VIEW]} if VIEW in entry else pointer


def wrap_evaluate(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """lmms-eval's `evaluate`, where its model and tasks meet, so that the tasks' states know the model."""
    signature = inspect.signature(evaluate)

    @functools.wraps(evaluate)
    def evaluate_with_state(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named).arguments
        tasks = dict(find_tasks(given["task_dict"]))
        states = list(tasks)
        stop_unless_ranks_agree(states)
        if not states:
            return evaluate(*arguments, **named)
        forms = {state.name: frozenset({state.kind.answer_form}) for state in states}
        stop_if_any(describe_misfit_of(given["lm"], type(given["lm"]).__name__, forms))
        for state, task in tasks.items():
            keep_items(state, task)
        evaluation = states[0].evaluation
        part = None
        if evaluation.shard:
            part = find_part(evaluation.shard, tasks, given.get("limit"), given.get("offset", 0))
            given["task_dict"] = without_tasks(given["task_dict"], part.empty)
            arguments, named = (), given
        model = evaluation.model = given["lm"]
        evaluation.weights, evaluation.unanswered, evaluation.is_heard = read_weights(model), {}, False
        for state, task in tasks.items():
            state.requests = TaskRequests(task)
        if shows_videos(evaluation):
            evaluation.clip_reader = ready_reader(type(model), find_arguments(model) or {})
        asked = AskedModel(
            model,
            part or AskingStage(),
            ClipDealer(model, evaluation, {state.name: task for state, task in tasks.items()}),
            KeptAnswers(model, evaluation, given),
            ViewsAhead(model, evaluation),
            UnreadableClips(model, evaluation),
            Throughput(model, evaluation),
            FailedRequests(model),
        )
        with ordinary_errors(), asked.lasting(given.get("response_cache")):
            results = evaluate_nothing() if part and not part.has_items else evaluate(*arguments, **named)
            stop_if_any(describe_silence(evaluation))
        if not isinstance(results, dict):
            return results
        if part:
            part.label(results)
        known = Results(results)
        known.evaluation = evaluation
        return known

    return evaluate_with_state


def find_tasks(task_dict: Mapping[Any, Any]) -> Iterator[tuple[TaskState, Any]]:
    """Those of loaded tasks that are ours, each with its state."""
    for task in task_dict.values():
        if isinstance(task, Mapping):
            yield from find_tasks(task)
        elif state := state_of(task):
            yield state, task
