"""A finished run, scored again from its saved answers: they are graded, consolidated and written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lmms_eval_tasks.host.manager import bind_group
from lmms_eval_tasks.host.model.identity import ModelFacts, installed_version
from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState
from lmms_eval_tasks.prompting import read_task_settings
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs import run_files
from lmms_eval_tasks.runs.folder import LoggedItem, Run, arrange, read_run, run_of_lines
from lmms_eval_tasks.runs.run_card import TASK, Sections, Value, as_value, read_object
from lmms_eval_tasks.runs.scores import ScoresFile, read_scores, scores_of, scores_path, scores_text
from lmms_eval_tasks.utils.answers.hooks import Restored, TaskSettings
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.benchmark.benchmark import Task, TaskKind
from lmms_eval_tasks.utils.benchmark.tasks import HOOKS, RECORD, SUBMISSION_ROWS, file_of, task_configs
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import file_sha256, write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.text import HOME, PROMPT, escape_surrogates, summarize_names
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.scoring.record import FRAME, GradedItem, Record

FILTER = "none"
"""lmms-eval's name for responses that no filter has changed, as none does in our tasks."""
Entries = dict[str, dict[str, Any]]
"""Task or group to its entries by key, a score's name with `FILTER`; JSON values."""
GENERATED = ("generate_until", "generate_visual_cot")
"""A task's ``output_type`` by which lmms-eval strips responses of white space; the first where none is named."""
OTHER_DATA = f"Prepare the data that the run was made with, or name its home in {HOME}."


@dataclass(frozen=True)
class RegradedTask:
    """A task with its hooks bound, its logged items, and what lmms-eval gathers of each now."""

    config: Mapping[str, Any]
    kind: TaskKind
    docs: Sequence[Mapping[str, Any]]
    logged: Sequence[LoggedItem]
    brought: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Value] = field(default_factory=dict)


def consolidate(
    tasks: Mapping[str, RegradedTask], names: Sequence[str], arguments: object = None, draws: int = 0
) -> dict[str, Entries]:
    """Return lmms-eval's sections ``results``, ``groups`` and ``versions`` of tasks and of the groups among names."""
    from lmms_eval import evaluator_utils
    from lmms_eval.api.group import ConfigurableGroup
    from lmms_eval.api.task import ConfigurableTask
    from lmms_eval.utils import handle_non_serializable

    class Asked(ConfigurableTask):  # type: ignore[misc]
        """A task whose answers are there, so that its data is not loaded."""

        def __init__(self, name: str, config: Mapping[str, Any]) -> None:
            self._config = SimpleNamespace(**config, task=name)
            self.args = arguments
            self._prepare_metric_and_aggregation()

    loaded, outputs = {}, []
    for name, task in tasks.items():
        config = {field: value for field, value in task.config.items() if value is not None and field != "task"}
        loaded[name] = Asked(name, config)
        output = evaluator_utils.TaskOutput(loaded[name], name, config, config["metadata"]["version"])
        for item in task.brought:
            for metric, value in item.items():
                output.sample_metrics[metric, FILTER].append(value)
        output.calculate_aggregate_metric(draws)
        output.calculate_clt_aggregate_metric()
        outputs.append(output)
    arranged: dict[Any, Any] = {}
    for name in names:
        parent, members = registry().find_parent(name), registry().find_members(name)
        if parent in registry().groups:
            config = {**task_configs(members[0].benchmark.folder)[parent], "group": name}
            group = ConfigurableGroup(bind_group(name, config, members[0].pointer))
            arranged[group] = {member.name: loaded[member.name] for member in members if member.name in loaded}
        else:
            arranged[name] = loaded[name]
    results, _, _, versions, *_ = evaluator_utils.consolidate_results(outputs)
    results, versions, *_ = evaluator_utils.consolidate_group_results(results, versions, arranged)
    entries, groups = evaluator_utils.prepare_print_tasks(arranged, results)
    # lmms-eval has the scores of a group in the order of a set.
    for section in (entries, groups):
        for name, scores in section.items():
            own = [task.name for task in registry().find_members(name) if task.name in tasks]
            listed = [*dict.fromkeys(key for member in own for key in results[member]), " "]
            section[name] = {key: scores[key] for key in listed if key in scores and key not in ("alias", "samples")}
    text = json.dumps({"results": entries, "groups": groups, "versions": versions}, default=handle_non_serializable)
    sections: dict[str, Entries] = json.loads(text)
    return sections


def regrade(run: Run, names: Sequence[str], notes: list[str]) -> dict[str, RegradedTask]:
    """Grade the answers in a run's sample logs again, over the prepared data and with the settings of lmms-eval."""
    logs = {task: run.items_of(task) for task in names}
    problems = Problems()
    for items in logs.values():
        for item in items:
            if not item.responses:
                problems.add(item.where, "Expected filtered_resps with what the model said.")
            elif len(item.responses) < len(item.record.each):
                number = len(item.record.each)
                problems.add(item.where, f"Expected filtered_resps of {number} samples, but got {len(item.responses)}.")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    evaluation = Evaluation(clips_needed=False, judge_needed=False, splits=False)
    tasks = {name: task for name in logs if (task := registry().find_task(name))}
    if message := evaluation.problems([task.pointer for task in tasks.values()]):
        raise InputError(f"{message}\n\nQuestions, options and keys are not in a sample log, but in the prepared data.")
    opened = {}
    for name, task in tasks.items():
        try:
            opened[name] = _open_task(task, evaluation, run.adapter, logs[name], notes)
        except RunStopped as stop:
            raise stop.for_program() from None
        except ValueError as error:
            problems.add(name, str(error))
    problems.raise_if_any(f"{run.path} cannot be scored again")
    docs = {
        name: _find_docs(run, state, rows, logs[name], notes, problems) for name, (state, _, rows) in opened.items()
    }
    problems.raise_if_any(f"{run.path} cannot be scored again")
    regraded = {}
    for name, (state, config, _) in opened.items():
        drawn = {one.record.item_id: one.record.drawn for one in logs[name] if one.record.drawn}
        restored = Restored()
        if state.kind.restore:
            each = [(doc, line) for doc, item in zip(docs[name], logs[name], strict=True) for line in item.each_line()]
            try:
                restored = state.kind.restore(state, [doc for doc, _ in each], [line for _, line in each])
            except (InputError, ValueError, TypeError) as error:
                problems.add(name, str(error))
                continue
        state.begin(ModelFacts(), LoggedReplies(logs[name]), drawn=drawn, restored=restored)
        facts = _check_facts(run, state, notes, problems)
        brought = [_grade(config, doc, item) for doc, item in zip(docs[name], logs[name], strict=True)]
        regraded[name] = RegradedTask(config, state.kind, docs[name], logs[name], brought, facts)
    problems.raise_if_any(f"{run.path} cannot be scored again")
    return regraded


def graded_items(run: Run, tasks: Sequence[str]) -> list[GradedItem]:
    return [
        GradedItem.first_of(Record.from_json(item[RECORD]), item[SUBMISSION_ROWS])
        for task in regrade(run, tasks, []).values()
        for item in task.brought
    ]


def _open_task(
    task: Task, evaluation: Evaluation, model: str, items: Sequence[LoggedItem], notes: list[str]
) -> tuple[TaskState, Mapping[str, Any], list[Any]]:
    import datasets

    folder, parent = task.benchmark.folder, registry().find_parent(task.name)
    state = TaskState(task.name, task.pointer, task.metrics, evaluation)
    evaluation.add(state)
    if task.config:  # of a user's variant, as its run keeps it but for functions, which it keeps as texts
        kept = {name: value for name, value in task.config.items() if name not in HOOKS}
        own: Mapping[str, Any] = {**kept, "metric_list": [{"metric": name} for name in task.metrics]}
    else:
        own = task_configs(folder)[parent]
    try:
        config = state.bind(own)
    except (ImportError, AttributeError) as error:
        file = folder / file_of(folder, parent)
        raise InputError(f"{file} names a function that cannot be loaded: {error}.") from None
    rows = config["process_docs"](datasets.Dataset.from_list([dict(task.pointer)])).to_list()
    given = config.get("lmms_eval_specific_kwargs")
    if given is not None:
        given = given[model] if model in given else {**given, **given.get("default", given.get("dataset", {}))}
    if rows and callable(config["doc_to_text"]):
        _read_settings(state, given or {}, items, notes)
        config["doc_to_text"](*(rows[0], given) if given is not None else (rows[0],))
    return state, config, rows


def _read_settings(state: TaskState, kwargs: Mapping[str, Any], items: Sequence[LoggedItem], notes: list[str]) -> None:
    """Read a task's settings with the prompt that its log names, whatever is chosen today: how an answer is read can
    depend on what was asked."""
    environment = {name: value for name, value in os.environ.items() if name != PROMPT}

    def read(given: Mapping[str, Any]) -> TaskSettings:
        settings = read_task_settings(state.benchmark, state.kind, given, environment)
        return state.shown.adjust_settings(settings)

    each = [record.fields.get("prompt") for item in items for record in item.record.each]
    asked = sorted({signature for signature in each if isinstance(signature, str)})
    if len(asked) > 1:
        raise InputError(f"Expected one prompt in its log, but got {', '.join(asked)}.")
    settings = None
    with suppress(InputError) if asked else nullcontext():
        settings = read(kwargs)
    if asked and (settings is None or (settings.prompt and settings.signature != asked[0])):
        named = asked[0].rpartition(":")[0]
        kwargs = {**kwargs, "prompt": named}
        settings = read(kwargs)
        if settings.signature != asked[0]:
            notes.append(f"{state.name} was asked with {asked[0]}, and its answers are read as to {settings.signature}")
    assert settings is not None
    state.settle(settings, kwargs)


def _check_facts(run: Run, state: TaskState, notes: list[str], problems: Problems) -> dict[str, Value]:
    """Return the settings that a run card lists of a task; they are the run's, unless a variable changes them now."""
    try:
        facts = {name: as_value(fact) for name, fact in state.settings.facts().items()}
    except RuntimeError:  # it has no settings
        return {}
    card = run.card.get(f"{TASK}{state.name}", {})
    changed = [name for name in facts if name in card and not _is_alike(card[name], facts[name])]
    chosen = {name: value for name in state.benchmark.variables if (value := os.environ.get(name))}
    listed = ", ".join(f"{name} {facts[name]}, in the run {card[name]}" for name in changed)
    if changed and chosen:
        by = ", ".join(f"{name}={value}" for name, value in chosen.items())
        notes.append(f"{state.name} is scored by {by}: {listed}")
    elif changed:
        remedy = f"set {' or '.join(state.benchmark.variables)} to what is meant" if state.benchmark.variables else ""
        problems.add(state.name, f"Expected the settings of the run, but got {listed}.", remedy=remedy)
    return facts


def _is_alike(before: Value, now: Value) -> bool:
    """Whether two settings of a card are the same in all that both name."""
    old, new = read_object(before), read_object(now)
    if old is None or new is None:
        return before == now
    return all(old[name] == new[name] for name in old.keys() & new.keys())


def _find_docs(
    run: Run,
    state: TaskState,
    rows: Sequence[Mapping[str, Any]],
    items: Sequence[LoggedItem],
    notes: list[str],
    problems: Problems,
) -> list[Mapping[str, Any]]:
    """Return the prepared row of each logged item of a task."""
    task, by_item = state.name, {row["item_id"]: row for row in rows}
    missing = [item.record.item_id for item in items if item.record.item_id not in by_item]
    asked, here = run.set_of(task), read_manifest(state.benchmark.card).splits[state.pointer["split"]]
    digest, now = run.card.get(f"{TASK}{task}", {}).get("data sha256"), here.table_sha256
    if digest and digest != now:
        notes.append(f"{task}: the data prepared here is not the run's ({str(digest)[:8]}, here {now[:8]})")
    if items and not asked.may_share(here.data_set):
        problem = f"Expected {asked.text}, on which it was run, but prepared is {here.data_set.text}."
        problems.add(task, problem, remedy=OTHER_DATA)
    elif missing:
        names = f"{len(missing)} of {len(items)} are not in it ({summarize_names(missing)})"
        problems.add(task, f"Expected every item in the prepared data, but {names}.", remedy=OTHER_DATA)
    else:
        return [by_item[item.record.item_id] for item in items]
    return []


class LoggedReplies:
    """The replies to the items of a task, as its log has them."""

    def __init__(self, items: Sequence[LoggedItem]) -> None:
        self._items = {item.record.item_id: item for item in items}

    def find(self, item_id: str, sample: int = 1) -> Reply | None:
        item = self._items.get(item_id)
        return Reply.of_record(item.record.each[sample - 1], item.responses[sample - 1]) if item else None


def _grade(config: Mapping[str, Any], doc: Mapping[str, Any], item: LoggedItem) -> Mapping[str, Any]:
    is_text = config.get("output_type", GENERATED[0]) in GENERATED
    responses = [response.strip() for response in item.responses] if is_text else item.responses
    brought: dict[str, Any] = config["process_results"](doc, responses)
    graded = [brought[RECORD], *brought[RECORD].get("samples", ())]
    for fields, record in zip((one["fields"] for one in graded), item.record.each, strict=True):
        # Only the run knows with which prompt it asked.
        if "prompt" in fields:
            fields["prompt"] = record.fields.get("prompt")
        if FRAME in record.fields:
            fields[FRAME] = record.fields[FRAME]
    return brought


HOST_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "token_counts", "doc_hash", "input_media"}
)
"""What of a logged item is the host's and says nothing of its score; ``input`` comes last."""
ABSENT = "absent"
Numbers = dict[tuple[str, str], float | None]
"""Task or group, and the name of a number of it, to the number."""
MARK = ".rescoring"
"""A file in a folder that a run is being written to; it holds the paths of what the run is made of."""
_VERSION = re.compile(r"(\d{1,6})-([A-Z]+)")


@dataclass(frozen=True)
class Change:
    """A number that is not what it was; `ABSENT` where it was not there, or is not any more."""

    name: str
    score: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Rescored:
    """A run that was scored again; `run` is as it was, and `scored` as it is now."""

    run: Run
    scored: Run
    results: Mapping[str, Any]
    logs: Mapping[str, Sequence[Mapping[str, Any]]]
    file: ScoresFile
    kept: ScoresFile | None
    """The run's own file of scores."""
    scores: int
    changes: tuple[Change, ...]
    items: Mapping[str, int]
    notes: tuple[str, ...]
    facts: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)


Reader = Callable[[Mapping[str, RegradedTask]], Mapping[str, RegradedTask]]
"""Returns tasks with what a judge read in their answers."""


def rescore(source: Path, folder: Path, allow_incomplete: bool = False, read: Reader | None = None) -> Rescored:
    run = read_run(source, allow_incomplete, allow_predictions=True)
    own, kept = scores_path(run.path), None
    if own.is_file():
        kept = read_scores(own)
    elif not run.only_predicted:
        what = f"there is no {own.name}: only the scores of {run.path.name} are compared"
        run = replace(run, notes=(*run.notes, what))
    return score_again(run, run_files.read_results_with_all(run.path)[1], folder, kept, read)


def score_again(
    run: Run, old: Mapping[str, Any], folder: Path, kept: ScoresFile | None = None, read: Reader | None = None
) -> Rescored:
    """Score a run with lmms-eval's results of it, and compare with these and its file of scores; its leaderboard files
    are written to a folder at once."""
    notes = [*run.notes, *([f"the run was cut short ({run.incomplete})"] if run.incomplete else [])]
    form = run_files.ResultsFile.model_validate(old)
    names, tasks = _choose(run, notes)
    if lacking := [name for name in dict.fromkeys((*names, *tasks)) if name not in form.results]:
        raise InputError(f"{run.path} cannot be scored again: Expected results of {', '.join(lacking)}.")
    regraded: Mapping[str, RegradedTask] = regrade(run, tasks, notes)
    if read:
        regraded = read(regraded)
    elif any(one.reading for task in tasks for record in run.records[task] for one in record.each):
        notes.append("what a judge read in its unparsed answers is left out: --read-unparsed reads them again")
    logs = {name: list(map(_rewrite, task.logged, task.brought)) for name, task in regraded.items()}
    items = {name: sum(map(_is_otherwise, task.logged, logs[name])) for name, task in regraded.items()}
    arguments = SimpleNamespace(output_path=None if run.shard or run.sampled(tasks) else str(folder), model=run.name)
    computed = consolidate(regraded, names, arguments, form.config.bootstrap_iters or 0)
    results = _updated(old, computed, [*names, *tasks])
    scored = run_of_lines(run.path, run_files.ResultsFile.model_validate(results), logs)
    file = scores_of(scored)
    before, now = (_printed(each, results["results"]) for each in (old["results"], results["results"]))
    changes = _compare(before, now)
    if kept:
        of_file = [_numbers(each, results["results"]) for each in (kept, file)]
        changes = list(dict.fromkeys((*changes, *_compare(*of_file))))
    if run.only_predicted:  # there were no scores before
        changes, items = [], {}
    scores = {*before, *now, *_values(file), *(_values(kept) if kept else ())}
    scored, facts = replace(scored, logged=run.logged), {name: task.facts for name, task in regraded.items()}
    return Rescored(run, scored, results, logs, file, kept, len(scores), tuple(changes), items, tuple(notes), facts)


def write_rescored(rescored: Rescored, folder: Path, card: Sections | None = None) -> Path:
    """Write a run that was scored again to a new output folder in the host's form, with a card and its scores."""
    path = folder / rescored.run.path.name
    for task, lines in rescored.logs.items():
        write_file(run_files.sample_log(path, task), as_lines(lines))
    write_file(scores_path(path), scores_text(rescored.file))
    run_files.write_card(path, card or _card(rescored))
    write_file(path, escape_surrogates(json.dumps(rescored.results, ensure_ascii=False, indent=2)))
    return path


@contextmanager
def claimed(folder: Path, *sources: Path) -> Iterator[None]:
    """Claim a new folder for what is made of finished runs, by a mark in it that goes when the block ends."""
    mark, name = folder / MARK, b"\0".join(os.fsencode(source.resolve()) for source in sources)
    is_ours = mark.is_file() and mark.read_bytes() == name
    if not is_ours and (mark.exists() or run_files.results_files(folder) or (folder / run_files.SUBMISSIONS).exists()):
        raise InputError(f"{folder} holds a run already: Expected a new folder. Nothing was written.")
    is_new = not folder.exists()
    write_file(mark, name)
    try:
        yield
    except Exception:
        if list(folder.iterdir()) == [mark]:
            mark.unlink()
            if is_new:
                folder.rmdir()
        raise
    mark.unlink()


def _choose(run: Run, notes: list[str]) -> tuple[list[str], list[str]]:
    """Return the groups and single tasks of ours in a run, and all its tasks of ours."""
    names = dict.fromkeys((*run.groups, *run.records, *(task for tasks in run.groups.values() for task in tasks)))
    versions = {name: version for name in names if (version := registry().find_version(name))}
    groups = {name: tasks for name, tasks in run.groups.items() if name in versions and set(tasks) <= set(versions)}
    tasks = [task for task in run.records if task in versions]
    problems = Problems()
    for name in (*groups, *tasks):
        theirs, ours = run.versions.get(name, "unknown"), versions[name]
        match = _VERSION.fullmatch(theirs)
        if not match or int(match[1]) > int(ours.partition("-")[0]):
            remedy = "Rescore with the lmms-eval-tasks that made the run, or a later one."
            problems.add(name, f"Expected a version up to {ours}, but got {theirs}.", remedy=remedy)
        elif theirs != ours:
            notes.append(f"{name} was run as version {theirs} and is scored as version {ours}")
    if not tasks:
        problems.add(run.path.name, f"Expected a task of this package, but got {', '.join(run.records)}.")
    problems.raise_if_any(f"{run.path} cannot be scored again")
    if others := [name for name in (*run.records, *run.groups) if name not in versions]:
        notes.append(f"not scored again, for this package has no such task or group: {', '.join(others)}")
    return list(arrange(groups, tasks)), tasks


def _rewrite(item: LoggedItem, brought: Mapping[str, Any]) -> dict[str, Any]:
    host = {name: value for name, value in item.values.items() if name in HOST_FIELDS}
    last = {"input": item.values["input"]} if "input" in item.values else {}
    return {**host, **json.loads(json.dumps(brought)), **last}


def _is_otherwise(item: LoggedItem, line: Mapping[str, Any]) -> bool:
    """Whether an item's record has changed; a field or stratum that only one of both has does not count."""

    def shared(record: Record, other: Record) -> Record:
        fields = {name: value for name, value in record.fields.items() if name in other.fields}
        stratum = {name: value for name, value in record.stratum.items() if name in other.stratum}
        return replace(record, fields=fields, stratum=stratum, samples=(), reading=None)

    pairs = zip(item.record.each, Record.from_json(line[RECORD]).each, strict=True)
    return any(shared(before, after) != shared(after, before) for before, after in pairs)


def _updated(old: Mapping[str, Any], computed: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the saved results with new scores, in the old order; other people's tasks are left out."""
    new = {
        section: {name: entry for name, entry in value.items() if name in names}
        if section in run_files.PER_TASK and isinstance(value, Mapping)
        else value
        for section, value in old.items()
    }
    for section in ("results", "groups"):
        for name, before in new.get(section, {}).items():
            if (scores := computed[section].get(name)) is not None:
                kept = [key for key in before if key == "alias" or key in scores]
                new[section][name] = {key: scores.get(key, before.get(key)) for key in dict.fromkeys((*kept, *scores))}
    versions = new.get("versions", {})
    new["versions"] = {name: computed["versions"].get(name, version) for name, version in versions.items()}
    return new


def _printed(results: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> Numbers:
    """Return the numbers of a results file, of some tasks and groups."""
    return {
        (name, key.replace(f",{FILTER}", "")): value
        for name in names
        for key, value in results.get(name, {}).items()
        if value is None or isinstance(value, (int, float))
    }


def _values(file: ScoresFile) -> Numbers:
    return {(part.name, entry.metric): entry.value for part in file.parts for entry in part.scores}


ENDS = {"low": "lower end", "high": "upper end"}
OTHERS = ("groups", "items", "items_variance", "samples_variance")


def _numbers(file: ScoresFile, names: Iterable[str]) -> Numbers:
    """Return the numbers of a file of scores, of some tasks and groups; ends of intervals to nine digits, since they
    depend on how a library sums."""
    found: Numbers = _values(file)
    for part in file.parts:
        found |= {(part.name, f"items that are {outcome}"): count for outcome, count in part.outcomes.items()}
        for entry in part.scores:
            for end, called in ENDS.items():
                value = getattr(entry, end)
                found[part.name, f"{entry.metric}, {called}"] = None if value is None else float(f"{value:.9g}")
            others = {name: value for name in OTHERS if (value := getattr(entry, name)) is not None}
            found |= {(part.name, f"{entry.metric}, {name.replace('_', ' ')}"): value for name, value in others.items()}
    return {key: value for key, value in found.items() if key[0] in names}


def _compare(old: Numbers, new: Numbers) -> list[Change]:
    """Find the numbers that differ, and those that one of both lacks; numbers are equal only to the last digit."""
    changes = []
    for name, score in dict.fromkeys((*old, *new)):
        before, after = (numbers.get((name, score), ABSENT) for numbers in (old, new))
        if "_stderr" in score and ABSENT in (before, after):
            continue  # of a score that only one of both versions prints
        both_nan = before != before and after != after
        if before != after and not both_nan:
            changes.append(Change(name, score, before, after))
    return changes


def _judge_of(rescored: Rescored, task: str) -> str:
    """Return which judge read unparsed answers of a task; empty where none did."""
    each = (one for record in rescored.scored.records[task] for one in record.each)
    found = sorted({f"{one.reading.model} ({one.reading.prompt})" for one in each if one.reading and not one.answered})
    return f"unparsed answers by {', '.join(found)}" if found else ""


def _card(rescored: Rescored) -> dict[str, dict[str, Value]]:
    card: dict[str, dict[str, Value]] = {section: dict(fields) for section, fields in rescored.run.card.items()}
    for task in rescored.logs:
        if fields := card.get(f"{TASK}{task}"):
            known = registry().find_task(task)
            assert known is not None, f"{task} was scored, and is of no benchmark"
            fields["version"] = known.version
            fields["extractor"] = "; ".join(filter(None, (known.kind.extractor, _judge_of(rescored, task))))
            fields |= rescored.facts.get(task, {})
    card["rescored"] = {
        "results": rescored.run.path.name,
        "results sha256": file_sha256(rescored.run.path),
        "lmms-eval-tasks": installed_version("lmms-eval-tasks"),
        "lmms-eval": installed_version("lmms-eval"),
        "scores": rescored.scores,
        "changed scores": len(rescored.changes),
    }
    return card
