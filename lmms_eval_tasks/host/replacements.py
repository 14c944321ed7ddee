"""Functions of lmms-eval that are replaced while it runs, each with the reason why no hook of it would do.

These are four functions, and the class of its task managers. With a new version of lmms-eval,
tests/host/test_replacements.py names those that no longer fit.

Single objects have methods replaced as well, by `mock.patch.object`, for as long as one evaluation lasts, because
lmms-eval makes and asks all requests at once and has no hook around that:

- the model's `generate_until` (and `generate_each` where it has it) and the response cache's `execute`, `_lookup` and
  `_is_valid_response`: by `stages`, which has the requests go through its stages on every rank, and keeps what stands
  in place of an answer out of the cache;
- a task's `build_all_requests`: by `dealing`, as `--limit` and `--offset` cannot say which documents are in a part of a
  run;
- the `create` of the client of `openai` and `async_openai`, the threads of the one, and `maybe_forward_with_tool` of
  the other: by `servers`, to read all that a server says, and to keep each answer as it comes.

A model that is only shown its inputs has those of transformers replaced: by `inputs`, which reads no weights.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import Any, Literal, NamedTuple

from loguru import logger

from lmms_eval_tasks.host import checks
from lmms_eval_tasks.host.asking import dealing
from lmms_eval_tasks.host.asking.costs import Costs
from lmms_eval_tasks.host.asking.drawing import draw_samples
from lmms_eval_tasks.host.asking.equal_requests import EqualRequests
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers
from lmms_eval_tasks.host.asking.samples import Samples, take_all_samples
from lmms_eval_tasks.host.asking.servers import ServerReplies
from lmms_eval_tasks.host.asking.stages import AskedModel, AskingStage
from lmms_eval_tasks.host.asking.unanswered import FailedRequests, NotedReplies, UnreadableClips, describe_silence
from lmms_eval_tasks.host.asking.views_ahead import ViewsAhead
from lmms_eval_tasks.host.model.identity import CLIPLESS, ModelFacts, find_arguments, read_weights, wrap_create
from lmms_eval_tasks.host.model.readers import ready_reader
from lmms_eval_tasks.host.ranks import (
    RunStopped,
    called_by,
    command_options,
    current_exchange,
    end_where_lmms_eval_goes_on,
    ended_by_hand,
    on_command_line,
    stop_if_any,
)
from lmms_eval_tasks.host.saving import wrap_save
from lmms_eval_tasks.host.tasks.foreign_views import bind_view
from lmms_eval_tasks.host.tasks.running import (
    Evaluation,
    FinishedRun,
    Results,
    TaskRequests,
    TaskState,
    bind_hooks,
    count_tasks,
    find_metrics,
    find_tasks,
    shows_videos,
)
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_files import BYPASS, DATA_SET
from lmms_eval_tasks.utils.answers.hooks import is_hook, unbound_message
from lmms_eval_tasks.utils.answers.reply import SILENCES
from lmms_eval_tasks.utils.benchmark.benchmark import read_pointer
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS, RECORD
from lmms_eval_tasks.utils.benchmark.views import CLIP, listed_as, name_view
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.metrics import aggregate_tasks
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, FRAME, HOW_ASKED, Outcome, Record, UnscoredReason


@contextmanager
def ordinary_errors() -> Iterator[None]:
    """Turn `RunStopped` into an `InputError`, unless lmms-eval's command line runs."""
    try:
        yield
    except RunStopped as stop:
        if on_command_line() or current_exchange().size > 1:
            raise
        raise InputError(stop.message) from None


VIEW = "view"
"""Where an entry of the index, or a pointer, names a view."""
WRAPPED = "_lmms_eval_tasks"
"""Marks what is wrapped already, and names the evaluation of a task manager."""
SIZES = "lmms_eval.cli.power_utils"
"""lmms-eval's module that counts the items of tasks."""


class Call(NamedTuple):
    """Form of a call to a function here: the number of positional arguments, and the names of the others."""

    positional: int
    named: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replacement:
    """A function of lmms-eval, of a class or by itself, that one of ours takes the place of."""

    module: str
    owner: str
    name: str
    wrap: Callable[[Any], Any]
    calls: Mapping[str, Call]
    """How it, and what else its owner has, is called here."""
    reason: str
    """Why no hook of lmms-eval does it."""
    loss: str
    """What lmms-eval-tasks lacks where it is not there, or is called in another way."""
    waits: bool = False
    """Whether its module is not imported for it: it is replaced once others have imported it."""

    def find_owner(self) -> Any:
        """Return the class or module that has it; raises ImportError or AttributeError where it is not there."""
        module = importlib.import_module(self.module)
        return getattr(module, self.owner) if self.owner else module


def replace(replacement: Replacement) -> None:
    """Replace a function, once; where lmms-eval is built differently a warning says what is lost."""
    if replacement.waits and replacement.module not in sys.modules:
        return
    try:
        owner = replacement.find_owner()
        original = getattr(owner, replacement.name)
        if getattr(original, WRAPPED, False):
            return
        for name, call in replacement.calls.items():
            inspect.signature(getattr(owner, name)).bind(*[None] * call.positional, **dict.fromkeys(call.named))
        ours = replacement.wrap(original)
    except (ImportError, AttributeError, TypeError) as error:
        logger.warning(
            "lmms_eval_tasks {} in this lmms-eval, which is built differently ({}: {}). It works with 0.7.3.",
            replacement.loss,
            type(error).__name__,
            error,
        )
        return
    setattr(getattr(ours, "__func__", ours), WRAPPED, True)
    setattr(owner, replacement.name, ours)


def replace_all() -> None:
    """Replace what can be replaced now; the rest follows when tasks are loaded."""
    for replacement in REPLACEMENTS:
        if not replacement.waits:
            replace(replacement)


def _wrap_initialize_tasks(index_tasks: Callable[..., Any]) -> Callable[..., Any]:
    """Return `TaskManager.initialize_tasks` with our tasks in the index; its manager becomes one that knows them."""

    @functools.wraps(index_tasks)
    def initialize_tasks(self: Any, include_path: Any = None, include_defaults: bool = True) -> dict[str, Any]:
        setattr(self, WRAPPED, Evaluation(clips_needed=getattr(self, "model_name", None) not in CLIPLESS))
        if not isinstance(self, ManagesOurTasks):
            kind = type(self)
            self.__class__ = type(kind.__name__, (ManagesOurTasks, kind), {})
        index: dict[str, Any] = index_tasks(self, include_path=include_path, include_defaults=include_defaults)
        for benchmark in registry().benchmarks.values() if include_defaults else ():
            # A task of lmms-eval is only replaced where the benchmark says so.
            ours = dict(self._get_task_and_group(str(benchmark.folder)))
            taken = [name for name in ours if name in index and name not in benchmark.replaces]
            if taken:
                message = "The tasks of {} are left out: lmms-eval has tasks of the same name ({})."
                logger.warning(message, benchmark.name, ", ".join(taken))
            else:
                index = {**index, **_listed_views(ours), **ours}
        return index

    return initialize_tasks


class ManagesOurTasks:
    """Changes to a `TaskManager` of lmms-eval whose index holds our tasks."""

    def match_tasks(self: Any, task_list: list[str]) -> list[str]:
        """Return the names that a run's ``--tasks`` match, once the run is checked: lmms-eval loads its model after
        it."""
        add_views(self, task_list)
        names: list[str] = super().match_tasks(task_list)  # type: ignore[misc]
        members = {name: list(_members(self.task_index, name)) for name in names}
        ours = {name: own for name in names if (own := [pointer for _, pointer in members[name] if pointer])}
        others = [member for name in names for member, pointer in members[name] if pointer is None]
        evaluation = evaluation_of(self)
        if on_command_line():
            stop_if_any(checks.describe_unknown(task_list, names, self.all_tasks))
        stop_if_any(checks.describe_unsplit(others, evaluation.splits))
        stop_if_any(checks.describe_shared_limit(command_options().get("limit"), len(others) if ours else 0))
        if ours:
            benchmarks = registry().benchmarks
            forms = {
                name: frozenset(benchmarks[one["benchmark"]].kind_of(one).answer_form for one in pointers)
                for name, pointers in ours.items()
            }
            misfit = checks.describe_misfit(str(self.model_name), forms)
            named = [pointer for pointers in ours.values() for pointer in pointers]
            evaluation.look_for_clips(named)
            problems = evaluation.problems(named)
            is_first = os.environ.get("RANK", "0") == "0"
            unready = checks.describe_unready(command_options()) if is_first else None
            stop_if_any(checks.describe_refused() or misfit or problems or unready)
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
            config = _view_config(super()._get_config(name), entry)  # type: ignore[misc]
        except (ImportError, AttributeError) as error:
            file = entry.get("yaml_path", name)
            raise RunStopped(f"{file} names a function that cannot be loaded: {error}.") from None
        replace(EVALUATE)
        return bind_config(name, config, self.task_index, evaluation_of(self))

    def load_task_or_group(self: Any, task_list: Any = None, task_type: Literal["simple", "chat"] = "simple") -> Any:
        """Return tasks and groups; what goes wrong is raised, and not taken for a task without data."""
        add_views(self, [task_list] if isinstance(task_list, str) else task_list or [])
        with ordinary_errors():
            return super().load_task_or_group(task_list, task_type)  # type: ignore[misc]

    def load_config(self: Any, config: Any) -> Any:
        """Return the task of a configuration; what goes wrong is raised."""
        with ordinary_errors():
            return super().load_config(config)  # type: ignore[misc]


def evaluation_of(manager: Any) -> Evaluation:
    evaluation: Evaluation = getattr(manager, WRAPPED)
    return evaluation


def _listed_views(index: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of all views of the tasks and groups in an index."""
    entries: dict[str, Any] = {}
    for name in index:
        for member in registry().find_members(name)[:1]:
            for view in member.kind.views:
                for listed in listed_as(view):
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
    members, parent = registry().find_members(name), registry().find_parent(name)
    names = dict.fromkeys((name, *(task.name for task in members)))
    parents = {view: registry().find_parent(view) for view in names}
    if parent == name or not all(one in index for one in parents.values()):
        return {}
    return {view: {**index[one], VIEW: members[0].view} for view, one in parents.items()}


def _view_config(config: Any, entry: Mapping[str, Any]) -> Any:
    """Return a task's or group's configuration as a view of it, where its entry of the index names one."""
    view = entry.get(VIEW, "")
    if not view or not isinstance(config, Mapping):
        return config
    if isinstance(tasks := config.get("task"), list):
        return {**config, "group": name_view(config["group"], view), "task": [name_view(task, view) for task in tasks]}
    return {**config, "task": name_view(config["task"], view)}


def bind_config(name: str, config: Any, index: Mapping[str, Any], evaluation: Evaluation) -> Any:
    """Return a task's or group's configuration with our hooks and scores; others' as it is, or as it names a view."""
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
    evaluation.add(state)
    return bound


def bind_group(name: str, config: Mapping[str, Any], pointer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group's configuration with how each score of its tasks becomes its own."""
    entries = config["aggregate_metric_list"]
    metrics = find_metrics(f"The group {name}", pointer, [entry["metric"] for entry in entries])
    bound = [
        {**entry, "aggregation": functools.partial(aggregate_tasks, metric), "weight_by_size": False}
        for entry, metric in zip(entries, metrics, strict=True)
    ]
    return {**config, "aggregate_metric_list": bound}


def find_pointers(index: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    return (pointer for _, pointer in _members(index, name) if pointer)


def _members(index: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield a task, or those of a group or tag, each with its pointer; None for other people's tasks."""
    from lmms_eval.utils import load_yaml_config

    entry = index.get(name, {})
    path = entry.get("yaml_path", -1)
    config = entry if path == -1 else _view_config(load_yaml_config(path, mode="simple"), entry)
    if not isinstance(config.get("task"), list):
        yield name, _pointer_of(entry, config)
        return
    for member in config["task"]:
        if isinstance(member, str) and member != name:
            yield from _members(index, member)


def _pointer_of(entry: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any] | None:
    path = entry.get("yaml_path", -1)
    if path == -1 or config.get("dataset_path") != "json":
        return None
    pointer = read_pointer(Path(path).parent, config)
    if pointer is None or pointer["benchmark"] not in registry().benchmarks:
        return None
    return {**pointer, VIEW: entry[VIEW]} if VIEW in entry else pointer


def _wrap_evaluate(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """Return lmms-eval's `evaluate`, where its model and tasks meet, so that the tasks' states know the model."""
    signature = inspect.signature(evaluate)

    @functools.wraps(evaluate)
    def evaluate_with_state(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named).arguments
        tasks, model = dict(find_tasks(given["task_dict"])), given["lm"]
        states = list(tasks)
        dealing.stop_unless_ranks_agree(states)
        if not states:
            return evaluate(*arguments, **named)
        forms = {state.name: frozenset({state.kind.answer_form}) for state in states}
        stop_if_any(checks.describe_misfit(type(model).__name__, forms, model))
        evaluation, limit = states[0].evaluation, given.get("limit")
        stop_if_any(checks.describe_shared_limit(limit, count_tasks(given["task_dict"]) - len(tasks)))
        for state, task in tasks.items():
            grade = state.process_results
            # lmms-eval has taken the hook away that graded answers which are only kept.
            if grade is not None and [entry.get("metric") for entry in task.config.metric_list or ()] == [BYPASS]:
                task.config.process_results = functools.partial(keep_prediction, state, grade)
        stop_if_any(checks.describe_limited_sample(limit, given.get("offset", 0), evaluation.splits))
        samples, refused = draw_samples(evaluation.sample, given["task_dict"], tasks)
        stop_if_any(refused)
        if part := dealing.find_part(evaluation.shard, samples, tasks, limit, given.get("offset", 0)):
            given["task_dict"] = dealing.without_tasks(given["task_dict"], part.empty)
            if dealing.is_share(limit):
                given["limit"] = max(one["effective"] for one in part.whole.values())
            arguments, named = (), given
        take_all_samples(model, tasks)
        reader = ready_reader(type(model), find_arguments(model) or {}) if shows_videos(evaluation) else None
        facts = ModelFacts(model, read_weights(model), reader)
        replies = {state.name: TaskRequests(task, model) for state, task in tasks.items()}
        ahead, server = ViewsAhead(model, evaluation), ServerReplies(model)
        for state in states:
            state.begin(facts, replies[state.name], ahead)
        equal = EqualRequests(model, evaluation)
        kept = KeptAnswers(facts, evaluation, given, server, ahead.expect)
        asked = AskedModel(
            model,
            part or AskingStage(),
            Samples(),
            NotedReplies(replies),
            equal,
            dealing.ClipDealer(model, evaluation, {state.name: task for state, task in tasks.items()}),
            Costs(model, evaluation.tasks, kept),
            kept,
            ahead,
            UnreadableClips(model, evaluation),
            FailedRequests(model),
            server,
        )
        with ordinary_errors(), ended_by_hand(kept.describe), asked.lasting(given.get("response_cache")):
            is_empty = part and not any(part.documents.values())
            results = dealing.evaluate_nothing() if is_empty else evaluate(*arguments, **named)
            stop_if_any(describe_silence(states))
        if not isinstance(results, dict):
            return results
        if part:
            part.label(results)
        return Results(results, FinishedRun(evaluation, facts, **asked.facts()))

    return evaluate_with_state


def keep_prediction(
    state: TaskState, grade: Callable[..., Mapping[str, Any]], doc: Mapping[str, Any], results: Sequence[Any]
) -> dict[str, Any]:
    """Return the log entry of an answer that is not graded: an unscored record that says how its item was asked."""
    graded = grade(doc, [""] * len(results))[RECORD]
    first, *others = (
        changed(
            record,
            answered=None,
            outcome=Outcome.UNSCORED,
            unscored_reason=record.unscored_reason if record.unanswered else UnscoredReason.ONLY_PREDICTED,
            unparsed_reason=None,
            detail=record.detail if record.unanswered or record.detail in (CUT_OFF, *SILENCES) else "",
            fields={name: record.fields[name] for name in (*HOW_ASKED, FRAME, CLIP) if name in record.fields},
        )
        for record in Record.from_json(graded).each
    )
    unscored = changed(first, samples=tuple(others))
    return {BYPASS: None, RECORD: {**unscored.to_json(), DATA_SET: graded[DATA_SET]}}


INDEX = Replacement(
    "lmms_eval.tasks", "TaskManager", "initialize_tasks", _wrap_initialize_tasks,
    {
        "initialize_tasks": Call(1, ("include_path", "include_defaults")),
        "match_tasks": Call(2),
        "_get_config": Call(2),
        "load_task_or_group": Call(3),
        "load_config": Call(1, ("config",)),
        "_get_task_and_group": Call(2),
    },
    "There is an entry point for models and none for tasks. The manager becomes one of a class of ours, which checks a "
    "run before the model is loaded, adds views, binds hooks, and lets no failure pass for a task without data.",
    "has no tasks",
)  # fmt: skip
EVALUATE = Replacement(
    "lmms_eval.evaluator", "", "evaluate", _wrap_evaluate,
    {"evaluate": Call(0, ("lm", "task_dict"))},
    "Model and tasks meet here first: no hook of a task is given the model, nor called once all tasks are loaded.",
    "does not know the model of a run",
    waits=True,
)  # fmt: skip
SAVE = Replacement(
    "lmms_eval.loggers.evaluation_tracker", "EvaluationTracker", "save_results_aggregated", wrap_save,
    {"save_results_aggregated": Call(1, ("results", "samples", "datetime_str"))},
    "A run card and scores lie beside the results, whose name is known here alone; two runs of a second would share "
    "their logs.",
    "writes no run cards",
)  # fmt: skip
CREATE = Replacement(
    "lmms_eval.api.model", "lmms", "create_from_arg_string", wrap_create,
    {"create_from_arg_string": Call(2)},
    "Kept answers are those of a model's arguments, which a model does not keep.",
    "keeps no answers",
)  # fmt: skip
REPLACEMENTS = (INDEX, SAVE, CREATE, EVALUATE)


def load_tasks(name: str, model: str) -> dict[str, Any]:
    """Return a task, or the tasks of a group, over the prepared data as lmms-eval loads them for a model that takes
    messages."""
    from lmms_eval.evaluator_utils import get_task_list
    from lmms_eval.tasks import TaskManager, get_task_dict

    replace(INDEX)
    folders = [str(benchmark.folder) for benchmark in registry().benchmarks.values()]
    manager = TaskManager(include_path=folders, include_defaults=False, model_name=model)
    add_views(manager, [name])
    evaluation = Evaluation(model not in CLIPLESS, judge_needed=False, splits=False)
    setattr(manager, WRAPPED, evaluation)
    if message := evaluation.problems(list(find_pointers(manager.task_index, name))):
        raise InputError(message)
    return {output.task_name: output.task for output in get_task_list(get_task_dict([name], manager, "chat"))}


@contextmanager
def quiet_host(*names: str) -> Iterator[None]:
    """Mute the messages and progress bars of lmms-eval and its data, and those of further packages."""
    import datasets

    muted = ("lmms_eval", *names)
    datasets.disable_progress_bars()
    for name in muted:
        logger.disable(name)
    try:
        yield
    finally:
        for name in muted:
            logger.enable(name)
        datasets.enable_progress_bars()
