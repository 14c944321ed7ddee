"""Finished runs, read back from their output folders with checked sample logs, names, and values in a series."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os.path import commonpath
from pathlib import Path
from typing import Any, TypeVar

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs import run_files
from lmms_eval_tasks.runs.run_card import Sections, read_run_card
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.benchmark.views import find_view, join_samples
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import read_json, validate_value
from lmms_eval_tasks.utils.core.text import describe
from lmms_eval_tasks.utils.data.card import UNKNOWN_SET, DataSet
from lmms_eval_tasks.utils.data.manifest import RemovedGroups
from lmms_eval_tasks.utils.data.sampling import Sampled
from lmms_eval_tasks.utils.scoring.log_line import AnyLine, LogLine
from lmms_eval_tasks.utils.scoring.metrics import group_noun
from lmms_eval_tasks.utils.scoring.record import GradedItem, Record

SEVERAL_WRITERS = "Two runs that started in the same second wrote this log: run each again."
MAKE_AGAIN = "The same command with the same output path writes it again, from the answers that were kept."
Read = TypeVar("Read")
SampleLog = tuple[Sequence["LoggedItem"], bool]
_EXPECTED = "Expected logged items of one of our tasks, but got"


@dataclass(frozen=True)
class LoggedItem:
    where: str
    record: Record
    values: Mapping[str, Any]

    @property
    def only_predicted(self) -> bool:
        return run_files.BYPASS in self.values

    @property
    def data_set(self) -> DataSet:
        """Data set of the item, as its line says."""
        logged = self.values["record"].get(run_files.DATA_SET)
        return UNKNOWN_SET if logged is None else DataSet.model_validate(logged)

    @property
    def responses(self) -> list[str]:
        """The responses that were scored; empty where the line does not hold them."""
        logged = self.values.get("filtered_resps")
        responses: list[Any] = logged if isinstance(logged, list) else [logged]
        return responses[: len(self.record.each)] if all(isinstance(one, str) for one in responses) else []

    def each_line(self) -> Iterator[Mapping[str, Any]]:
        """Yield the line of each of the item's samples, as a run that answers each item once has it."""
        if not self.record.samples:
            yield self.values
            return
        logged = self.values["record"]
        for record, response in zip((logged, *logged["samples"]), self.responses, strict=True):
            yield {**self.values, "record": {**record, "samples": []}, "filtered_resps": response}

    def graded(self) -> GradedItem:
        """Return the item, of several samples the first, with what the submission needs of it."""
        return GradedItem.first_of(self.record, self.values.get(SUBMISSION_ROWS))


def read_sample_log(path: Path, form: type[LogLine], problems: Problems, is_ours: bool = True) -> SampleLog | None:
    """Read a task's sample log, and whether its last line breaks off; None where it has and needs no record of ours."""
    lines, torn = run_files.split_log(path)
    if not is_ours and any((*lines, torn)) and not any(b'"record"' in line for line in (*lines, torn)):
        return None
    issues = Problems()
    items: list[LoggedItem] = []
    seen: set[str] = set()
    doubled: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        where = f"line {number}"
        try:
            value = read_json(line, exact=False)
        except ValueError as error:
            issues.add("lines", _EXPECTED, f"{error} ({where})")
            continue
        line_form = AnyLine if isinstance(value, dict) and run_files.BYPASS in value else form
        if read := validate_value(value, line_form, issues, where):
            record = read.record
            if record.item_id in seen:
                doubled.append(record.item_id)
            seen.add(record.item_id)
            items.append(LoggedItem(f"{path.name}, {where}", record, value))
    for name in doubled:
        issues.add("items", "Expected each once, but got again", describe(name), SEVERAL_WRITERS)
    problems.extend(issues, f"{path.name}, ", MAKE_AGAIN)
    return items, bool(torn)


SEED = "seed"
"""The series whose runs repeat one another; the values of any other are a quantity."""
NUMBER = r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
ENDS = r"(?![A-Za-z0-9]|\.\d)"
"""What ends a number: the k of 1k would be lost."""


@dataclass(frozen=True)
class SeriesValue:
    name: str
    number: float

    @property
    def title(self) -> str:
        return f"{self.name} {int(self.number) if self.number.is_integer() else self.number}"


def read_values(name: str, folders: Sequence[Path]) -> list[SeriesValue]:
    """Return the value of each run of a series, in its order, from its folder's name, or else from the whole path."""
    # The name of a results file holds the time at which it was written.
    named = [folder.parent if folder.name.endswith(run_files.RESULTS) else folder for folder in folders]
    for texts in ([folder.name for folder in named], [folder.as_posix() for folder in named]):
        after = [re.findall(rf"{re.escape(name)}[-_= ]?({NUMBER}){ENDS}", text, re.IGNORECASE) for text in texts]
        # Else the only number in which the texts differ, or that a single text has.
        alike = len({re.sub(NUMBER, "#", text) for text in texts}) == 1
        columns = list(zip(*(re.findall(NUMBER, text) for text in texts), strict=True)) if alike else []
        differing = [column for column in columns if len(texts) == 1 or len(set(column)) > 1]
        found = [numbers[-1] for numbers in after] if all(after) else differing[0] if len(differing) == 1 else ()
        if found:
            break
    else:
        shown = ", ".join(map(str, folders))
        raise InputError(
            f"Expected folders whose names say the {name}, as {name}-500, or are the same but for one number, as "
            f"ckpt-500 and ckpt-1000, but got {shown}. Rename a folder, or give it such a name by a link."
        )
    values = [SeriesValue(name, float(number)) for number in found]
    doubled = [str(folder) for folder, one in zip(folders, values, strict=True) if values.count(one) > 1]
    if doubled:
        raise InputError(f"Expected one run for each {name}, but these have the same: {', '.join(doubled)}.")
    return values


@dataclass(frozen=True)
class Run:
    """A finished run, as `read_run` gives it.

    Attributes:
        path: The results file.
        name: The model, with its arguments' checkpoint where it has one.
        records: Task of ours to its records, in the sample log's order; other people's tasks are left out.
        groups: Group name to its tasks, for groups whose tasks are all in the run.
        versions: Task name to the task's version.
        sets: Task to what its set is.
        limited: The command line's options that leave items out, such as ``--limit 3``; empty where there is none.
        shard: Which part of a run it is; None of a whole run.
        card: What the run was made with; empty for a run of a version that wrote no card.
        only_predicted: Whether its answers were kept and not scored, by ``--predict_only``.
        logged: Task to how many of its items were logged, and of how many, for tasks that lack items because the run
            was cut short.
        notes: What else lies in the folder, as sentences.
        forms: Task to the form of its logged lines, for tasks that have one of their own.
        label: What a report calls it, where that is not its model alone.
        series: Where it stands in a series of runs; None where it is in none.
        adapter: The name of its model in lmms-eval.
        logs: Task to its lines, of a run that is in no folder yet.
        is_filtered: Whether it is shown without the groups that a filter removed.
    """

    path: Path
    name: str
    records: Mapping[str, tuple[Record, ...]]
    groups: Mapping[str, tuple[str, ...]]
    versions: Mapping[str, str]
    sets: Mapping[str, DataSet] = field(default_factory=dict)
    limited: str = ""
    shard: run_files.Shard | None = None
    card: Sections = field(default_factory=dict)
    only_predicted: bool = False
    logged: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    forms: Mapping[str, type[LogLine]] = field(default_factory=dict)
    label: str = ""
    series: SeriesValue | None = None
    adapter: str = ""
    logs: Mapping[str, Sequence[LoggedItem]] = field(default_factory=dict)
    is_filtered: bool = False

    @property
    def title(self) -> str:
        """What the run is called in tables."""
        return self.label or self.name

    def tasks_of(self, name: str = "") -> tuple[str, ...]:
        """The tasks of a group, or a task alone by its name; without a name all tasks with records."""
        return self.groups.get(name, (name,)) if name else tuple(self.records)

    def set_of(self, task: str) -> DataSet:
        """Kind of the set that a task of the run asked about."""
        return self.sets.get(task, UNKNOWN_SET)

    def apart(self, tasks: Iterable[str]) -> str:
        """Return the reason why published scores are not comparable with those of some tasks; empty for all items of
        the official release."""
        sets = dict.fromkeys(self.set_of(task).apart for task in tasks)
        return ", ".join(filter(None, (*sets, self.limited, "cut short" if self.logged else "")))

    def without(self, removed: RemovedGroups) -> Run | None:
        """Return the run without the groups that a filter removed; None where it has none of them."""
        kept: dict[str, tuple[Record, ...]] = {}
        for task, records in self.records.items():
            name = task.removesuffix(f"_{records[0].view}") if records and records[0].view else task
            groups = removed.by_task.get(name, frozenset())
            kept[task] = tuple(record for record in records if record.group_id not in groups)
        items = sum(len(records) - len(kept[task]) for task, records in self.records.items())
        if not items:
            return None
        limited = ", ".join(filter(None, (self.limited, f"{items:,} items left out ({removed.name})")))
        return replace(self, records=kept, limited=limited, label=f"{self.title}, filtered", is_filtered=True)

    def sampled(self, tasks: Iterable[str]) -> Sampled | None:
        """Return from how many groups of how many the scores of some tasks are estimated; None where of all."""
        held = {task: self.records[task] for task in tasks if task in self.records}
        strata = {(task, one.drawn) for task, records in held.items() for one in records if one.drawn}
        if not strata:
            return None
        asked = {task: len({record.group_id for record in records}) for task, records in held.items()}
        whole = asked.keys() - {task for task, _ in strata}
        groups = sum(one.groups for _, one in strata) + sum(asked[task] for task in whole)
        kinds = [task.kind for name in held if (task := registry().find_task(name))]
        return Sampled(sum(asked.values()), groups, group_noun(metric for kind in kinds for metric in kind.metrics))

    @property
    def incomplete(self) -> str:
        """Description of the items missing from a run that was cut short; empty for a complete one."""
        return ", ".join(map(self.part_of, self.logged))

    def part_of(self, task: str) -> str:
        """Return the number of items logged for an incomplete task, and the number expected."""
        there, number = self.logged[task]
        return f"{there:,} of {number:,} items of {task}"

    def items_of(self, task: str) -> tuple[LoggedItem, ...]:
        """Return the lines of one of its tasks, read again."""
        if self.logs:
            return tuple(self.logs[task])
        problems = Problems()
        log = read_sample_log(run_files.sample_log(self.path, task), self.forms.get(task, AnyLine), problems)
        problems.raise_if_any(f"{self.path} cannot be read")
        kept = {record.item_id for record in self.records.get(task, ())}
        view = find_view(self.records[task][0].view) if kept else None
        row_id = view.row_id if view else str
        return tuple(item for item in log[0] if row_id(item.record.item_id) in kept) if log else ()


INCOMPLETE = "--allow-incomplete reads it as far as it goes."
RUN_AGAIN = "The same command with the same output path resumes the run."
POINTER = re.compile(r"<task .+ of \w+: (\{[^{}]*\})>")
"""In the text of a task's hook, its pointer."""
OWN_HOOK = "<task "
"""What a hook's text has in the results file of a task of ours, or of a user's variant of one."""
NOT_SCORED = (
    "The answers are kept and not scored (--predict_only). `lmms-eval-tasks rescore {run} --out DIR` scores them, "
    "`lmms-eval-tasks submit` writes a leaderboard's file of them, and the model `replay` reads them."
)


def read_run(source: Path, allow_incomplete: bool = False, allow_predictions: bool = False) -> Run:
    """Read the latest run in a folder, a run's ``--output_path``, or the run of one ``…_results.json`` in it.

    A run that was cut short while lmms-eval wrote its files does not hide an earlier whole one. The run's notes name
    the others in the folder.

    Args:
        source: The folder or file.
        allow_incomplete: Whether to read the part that is there of a run that was cut short, where there is no whole
            one.
        allow_predictions: Whether to read a run whose answers were not scored.

    Raises:
        InputError: where there is no run, its results are not JSON, it has no task of ours, it was run without
            ``--log_samples``, it was cut short, or a log or its card cannot be read.
        OSError: where a file cannot be read.
    """
    files = run_files.results_files(source)
    if not files:
        raise InputError(
            f"{source} holds no run: Expected a file *{run_files.RESULTS}, as lmms-eval writes it to --output_path."
        )
    run, cut = read_latest(files, _read, allow_incomplete)
    if run.only_predicted and not allow_predictions:
        tasks = ", ".join(run.records)
        raise InputError(f"{run.path} holds no scores of {tasks}. {NOT_SCORED.format(run=run.path)}")
    notes = [note_cut(path) for path in cut]
    if len(whole := [path for path in files if path not in cut]) > 1:
        listed = run_files.list_runs(source, whole)
        notes.append(f"{listed}; this is the latest, {run.path}. Name a folder or file to read another")
    return replace(run, notes=tuple(notes))


def read_latest(
    files: Sequence[Path], read: Callable[[Path, bool], Read], allow_incomplete: bool = False
) -> tuple[Read, list[Path]]:
    """Return the latest run that was not cut short, by its files' dates, and the files of others that were.

    `read` raises `CutShort` for a run that was, unless its second argument is true: where no run is whole, the part
    that is there of the latest may be read.
    """
    cut: dict[Path, run_files.CutShort] = {}
    for incomplete in (False, True) if allow_incomplete else (False,):
        for path in reversed(files):
            try:
                return read(path, incomplete), [other for other in cut if other != path]
            except run_files.CutShort as error:
                cut.setdefault(path, error)
    raise cut[files[-1]]


def note_cut(path: Path) -> str:
    return f"{path} is of a run that was cut short, and is left out"


def arrange(groups: Mapping[str, Sequence[str]], tasks: Iterable[str]) -> dict[str, Sequence[str]]:
    """Return the groups with their tasks, then each of the tasks that is in none of them."""
    grouped = {task for members in groups.values() for task in members}
    return {**groups, **{task: (task,) for task in tasks if task not in grouped}}


def _read(path: Path, allow_incomplete: bool) -> Run:
    """Return the run of one results file; `CutShort` where that is all that is wrong with it."""
    results = run_files.read_results(path)
    problems, gaps = Problems(), Problems()
    logs: dict[str, Sequence[LoggedItem]] = {}
    logged: dict[str, tuple[int, int]] = {}
    forms: dict[str, type[LogLine]] = {}
    for task, config in results.configs.items():
        hook = str(config.get("process_results")) if isinstance(config, Mapping) else ""
        is_ours = OWN_HOOK in hook
        if found := POINTER.search(hook):
            # A user's variant is known by its hook's pointer.
            with suppress(ValueError, LookupError, TypeError, StopIteration):
                registry().derive(task, json.loads(found[1]), config)
        if own := registry().find_task(task):
            is_ours = is_ours or task not in own.benchmark.replaces
            forms[task] = own.kind.log_form or AnyLine
        expected = results.expected_items(task)
        log = _open_log(path, task, forms.get(task, AnyLine), is_ours, results, problems) if expected != 0 else None
        if log is None:
            continue
        items, torn = log
        there = len(items)
        name = run_files.sample_log(path, task).name
        if expected is not None and there != expected:
            what = f"{run_files.MISCOUNTED.format(expected, there)}."
            (gaps if there < expected else problems).add(name, what)
            logged[task] = there, expected
        elif torn:
            problems.add(name, "Expected every line to be whole, but the last one breaks off.")
        if items:
            logs[task] = items
    if not (logs or problems or (gaps and not allow_incomplete)):
        predicted = [task for task in results.configs if results.is_predicted(task)]
        remedy = "A run with --predict_only is read where this package was installed when it was made."
        problems.add(path.name, "Expected a task of ours, but the run has none.", remedy=remedy if predicted else "")
    card: Sections = {}
    try:
        card = read_run_card(run_files.card_path(path))
    except InputError as error:
        problems.add(
            run_files.card_path(path).name, str(error), remedy="Move it away: the run can be read without its card."
        )
    problems.raise_if_any(f"{path} cannot be read")
    if gaps and not allow_incomplete:
        try:
            gaps.raise_if_any(f"{path} is of a run that was cut short while its sample logs were written")
        except InputError as error:
            raise run_files.CutShort(f"{error}\n  {RUN_AGAIN} {INCOMPLETE}") from None
    return replace(assemble_run(path, results, logs), card=card, logged=logged, forms=forms)


def assemble_run(path: Path, results: run_files.ResultsFile, logs: Mapping[str, Sequence[LoggedItem]]) -> Run:
    sets = {}
    for task, items in logs.items():
        found = {item.data_set for item in items}
        simulated = [one for one in found if one.is_sample]
        sets[task] = found.pop() if len(found) == 1 else simulated[0] if simulated else UNKNOWN_SET
    records = {task: join_samples(item.record for item in items) for task, items in logs.items()}
    predicted = any(item.only_predicted for items in logs.values() for item in items)
    return replace(make_run(path, results, records, sets), only_predicted=predicted)


def make_run(
    path: Path,
    results: run_files.ResultsFile,
    records: Mapping[str, tuple[Record, ...]],
    sets: Mapping[str, DataSet],
) -> Run:
    """Return a run of a results file, by its tasks' records and what their sets are."""
    return Run(
        path=path,
        name=results.model_name,
        records=records,
        groups=results.groups_within(records),
        versions={name: str(version) for name, version in results.versions.items()},
        sets=sets,
        limited=results.limits,
        shard=results.shard.shard if results.shard else None,
        adapter=results.config.model,
    )


def run_of_lines(path: Path, results: run_files.ResultsFile, lines: Mapping[str, Sequence[Mapping[str, Any]]]) -> Run:
    """Return a run from the lines of its sample logs, of which only the records are needed."""
    logs = {
        task: [LoggedItem(task, Record.from_json(line["record"]), line) for line in of_task]
        for task, of_task in lines.items()
        if of_task
    }
    return assemble_run(path, results, logs)


def _open_log(
    path: Path, task: str, form: type[LogLine], is_ours: bool, results: run_files.ResultsFile, problems: Problems
) -> SampleLog | None:
    """Return a task's log, empty where the run was cut short before it; None where it is not ours, or a problem."""
    try:
        log = run_files.sample_log(path, task)
        if log.is_file():
            return read_sample_log(log, form, problems, is_ours)
    except (ValueError, OSError):
        problems.add(path.name, f"Expected tasks whose logs can be read, but got {describe(task)}.")
        return None
    if results.config.logs_samples and results.expected_items(task):
        return [], False
    problems.add(log.name, f"Expected the sample log of {task}, but there is none.", remedy="Run with --log_samples.")
    return None


def name_runs(runs: Sequence[Run], names: Sequence[str] = ()) -> list[Run]:
    """Return the runs with their titles: the names, one for each run in its order, or without names the models."""
    if names and (len(names) != len(runs) or len({*names, ""}) <= len(runs)):
        given = ", ".join(map(repr, names))
        raise InputError(f"Expected --name once for each of the {len(runs)} runs, all different, but got {given}.")
    models = [run.name for run in runs]
    alike = {name: _apart([run.path for run in runs if run.name == name]) for name in models if models.count(name) > 1}
    titles = names or [f"{run.name} ({alike[run.name][run.path]})" if run.name in alike else "" for run in runs]
    return [replace(run, label=title) for run, title in zip(runs, titles, strict=True)]


def _apart(paths: Sequence[Path]) -> dict[Path, str]:
    """Return short names of results files: as few parts of their paths as tell them apart, after those of all."""
    folders = [path.absolute().parent for path in paths]
    shared = commonpath(folders)
    parts = [
        (*folder.relative_to(shared).parts, path.name.removesuffix(run_files.RESULTS))
        for folder, path in zip(folders, paths, strict=True)
    ]
    for count in range(1, max(map(len, parts)) + 1):
        told = ["/".join(part[:count]) for part in parts]
        if len(set(told)) == len(set(parts)):
            break
    return dict(zip(paths, told, strict=True))
