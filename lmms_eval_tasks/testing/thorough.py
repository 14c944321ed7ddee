"""The thorough check of a benchmark, ours or another's: its declarations without data, then its examples and
versions."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from pydoc import locate
from typing import Any
from unittest.mock import patch

from lmms_eval_tasks.api import hooks
from lmms_eval_tasks.prompting import kwargs_for_checks, read_task_settings
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.scores import unshown_chance
from lmms_eval_tasks.testing.drawn_runs import check_shown, every_name, finish
from lmms_eval_tasks.testing.examples import (
    Example,
    Row,
    SteadyEvaluation,
    asks,
    deal_items,
    grade_examples,
    grade_items,
    make_examples,
    read_file,
    render_prompts,
    run_task,
)
from lmms_eval_tasks.testing.score_laws import attempting, check_scores, unreached
from lmms_eval_tasks.testing.version_gate import compare_kept, describe_new, major, measure, read_kept, renew
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, Benchmark, Task
from lmms_eval_tasks.utils.benchmark.tasks import (
    RECORD,
    SUBMISSION_ROWS,
    check_functions,
    file_of,
    named_functions,
    task_configs,
    tasks_of_part,
)
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import HOME, describe, summarize_names
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.home import read_manifest, read_table
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.scoring.record import GradedItem, Outcome, Record
from lmms_eval_tasks.utils.submission.form import Built, OfficialForm, Table

_NAMED = re.compile(r"^(?:task|group):[ \t]*['\"]?([\w.-]+)['\"]?[ \t]*$", re.MULTILINE)


@cache
def names_of_lmms_eval() -> frozenset[str]:
    """The names of lmms-eval's own tasks and groups, which are read without importing it."""
    spec = find_spec("lmms_eval")
    folders = [Path(place) / "tasks" for place in (spec and spec.submodule_search_locations) or ()]
    files = (file for folder in folders for file in folder.rglob("*.yaml"))
    return frozenset(name for file in files for name in _NAMED.findall(file.read_text("utf-8", errors="replace")))


def check_runnable(benchmark: Benchmark) -> Problems:
    """Check for faults in a benchmark's tasks that would stop a run: names that lmms-eval has too, functions that
    cannot be loaded, settings that cannot be read."""
    problems = check_functions(benchmark, hooks.__name__)
    for name in sorted(task_configs(benchmark.folder).keys() & names_of_lmms_eval() - benchmark.replaces):
        what = f"Expected a name that lmms-eval's own tasks do not have, but got {name}."
        remedy = "choose another, or name it in `replaces` of the benchmark, where it stands for lmms-eval's."
        problems.add(file_of(benchmark.folder, name), what, remedy=remedy)
    for name, task in registry().tasks_of(benchmark.name).items():
        _check_settings(task, file_of(benchmark.folder, name), task_configs(benchmark.folder)[name], problems)
    return problems


def check_declared(benchmark: Benchmark) -> Problems:
    """That, and what would give a run scores other than the benchmark means."""
    problems = check_runnable(benchmark)
    if not problems:
        for check in (_check_tasks, _check_kinds, _check_groups, _check_leaderboards, _check_prepare):
            check(benchmark, problems)
    return problems


def _check_tasks(benchmark: Benchmark, problems: Problems) -> None:
    for name, task in registry().tasks_of(benchmark.name).items():
        config, file = task_configs(benchmark.folder)[name], file_of(benchmark.folder, name)
        _check_version(file, task.version, problems)
        (split,) = config["dataset_kwargs"]["data_files"]
        if config.get("test_split") != split:
            found = config.get("test_split")
            problems.add(f"{file}, test_split", f"Expected {split}, as data_files names it, but got {found}.")
        _check_scores(task, file, config, problems)
        for what, function in named_functions(config).items():
            _check_home(benchmark, f"{file}, {what}", function, problems)


def _check_scores(task: Task, file: str, config: Mapping[str, Any], problems: Problems) -> None:
    for entry in config["metric_list"]:
        if others := sorted(set(entry) - {"metric", "aggregation"}):
            what = f"Expected metric and aggregation of {entry['metric']}, but got {', '.join(others)} too."
            problems.add(f"{file}, metric_list", what)
    takes = task.benchmark.submission is not None and not task.kind.no_submission
    if takes != (SUBMISSION_ROWS in task.metrics):
        why = "a leaderboard takes it" if takes else "no leaderboard takes it"
        wanted, got = (SUBMISSION_ROWS, "none") if takes else (f"no {SUBMISSION_ROWS}", "it")
        problems.add(f"{file}, metric_list", f"Expected {wanted}, because {why}, but got {got}.")


def _check_home(benchmark: Benchmark, where: str, function: str, problems: Problems) -> None:
    """A hook is shared, or of the module beside the YAML, which says what it offers."""
    module, _, name = function.rpartition(".")
    if module == hooks.__name__ and name in hooks.__all__:
        return
    found = importlib.import_module(module)
    if Path(str(found.__file__)) != benchmark.folder / "hooks.py" or not inspect.isfunction(locate(function)):
        what = f"Expected a function of {benchmark.folder.name}.hooks, beside it, or of {hooks.__name__}, but got"
        problems.add(where, f"{what} {function}.")


def _check_settings(task: Task, file: str, config: Mapping[str, Any], problems: Problems) -> None:
    for model, settings in (config.get("lmms_eval_specific_kwargs") or {"default": {}}).items():
        where = f"{file}, lmms_eval_specific_kwargs of {model}"
        with attempting(problems, where, "settings that can be read", task.benchmark.folder):
            kwargs = kwargs_for_checks(task.benchmark, settings or {})
            read_task_settings(task.benchmark, task.kind, kwargs, os.environ)


def _check_kinds(benchmark: Benchmark, problems: Problems) -> None:
    tasks = registry().tasks_of(benchmark.name).values()
    for kind, found in benchmark.kinds.items():
        where = f"kinds, {kind}"
        own = [task for task in tasks if task.kind is found]
        if not own:
            named = ", ".join(sorted({str(task.pointer.get("kind", next(iter(benchmark.kinds)))) for task in tasks}))
            what = f"Expected a task whose pointer names {kind}, but those of {benchmark.folder} name {named}."
            problems.add(where, what)
            continue
        names = [metric.name for metric in found.metrics]
        for name in sorted({name for name in names if names.count(name) > 1 or name == SUBMISSION_ROWS}):
            problems.add(f"{where}, metrics", f"Expected each score once, but got {name} more often.")


def _check_leaderboards(benchmark: Benchmark, problems: Problems) -> None:
    own = registry().tasks_of(benchmark.name)
    for leaderboard, keys in benchmark.card.leaderboards.items():
        for split in keys:
            if benchmark.submission and not tasks_of_part(own, split, benchmark.submission.parts[0]):
                what = f"Expected a task of split {split} that a leaderboard takes, but there is none."
                problems.add(f"card, leaderboards, {leaderboard}", what)


def _check_groups(benchmark: Benchmark, problems: Problems) -> None:
    own = registry().tasks_of(benchmark.name)
    for name, (members, version) in registry().groups.items():
        if not own.keys() >= set(members):
            continue
        file = file_of(benchmark.folder, name)
        _check_version(file, version, problems)
        if other := sorted({own[member].version for member in members} - {version}):
            what = f"Expected the version of its tasks, {', '.join(other)}, but got {version}."
            problems.add(f"{file}, metadata.version", what)
        for entry in task_configs(benchmark.folder)[name].get("aggregate_metric_list", ()):
            if set(entry) != {"metric"}:
                what = f"Expected metric alone, but got {', '.join(sorted(entry))}."
                problems.add(f"{file}, aggregate_metric_list", what)


def _check_version(file: str, version: str, problems: Problems) -> None:
    try:
        major(version)
    except ValueError as error:
        problems.add(f"{file}, metadata.version", str(error))


def _check_prepare(benchmark: Benchmark, problems: Problems) -> None:
    parameters = inspect.signature(benchmark.prepare, eval_str=True).parameters
    if [parameter.annotation for parameter in parameters.values()][:1] != [Preparation]:
        problems.add("prepare", "Expected a Preparation as its first parameter, which it gives to `building`.")
    for name in ("replace", "without", "sample"):
        if name in parameters:
            what = f"Expected parameters of its own, but got {name}, which this package takes care of."
            problems.add("prepare", what)


EXAMPLES, DIGESTS = "version_examples.json", "version_digests.json"
GROUPS = 2
"""Groups of each stratum among examples that are made of a prepared table."""


def check_thoroughly(benchmark: Benchmark, keep: bool = False) -> list[str]:
    """Check what a benchmark declares, asks, grades, scores and submits, and that no version stands for two things.

    Returns:
        What else there is to know of it.

    Raises:
        InputError: something is not as it should be.
    """
    wrong = f"{benchmark.name} is not as it should be"
    problems = check_declared(benchmark)
    problems.raise_if_any(wrong)
    own = registry().tasks_of(benchmark.name).values()
    path, command = benchmark.folder / EXAMPLES, f"lmms-eval-tasks check {benchmark.name} --thorough --keep"
    content = read_file(path) if path.is_file() else draw_examples(benchmark)
    with attempting(problems, EXAMPLES, "examples", benchmark.folder):
        rows, examples = make_examples(content, benchmark.folder, own)
    problems.raise_if_any(wrong)
    _check_prompts(benchmark, rows, problems)
    source = path if path.is_file() else f"drawn from what is prepared; with --keep they are written to {path}"
    notes = [f"{benchmark.name}: {len(rows):,} example rows, {len(examples):,} examples, {source}"]
    records = {}
    for kind, found in benchmark.kinds.items() if not problems else ():
        tasks = [task for task in own if task.kind is found]
        if not list(deal_items(benchmark, kind, rows.values(), [(row, None) for row in rows.values()])):
            notes.append(f"{kind}: not checked, for its tasks ask none of the example rows")
            continue
        if unshown := unshown_chance(benchmark, found):
            notes.append(f"{kind}: {unshown}")
        where = f"{file_of(benchmark.folder, tasks[0].name)}, process_results"
        graded: tuple[Record, ...] = ()
        with attempting(problems, where, "a record of any response", benchmark.folder):
            graded = grade_examples(benchmark, kind, rows, examples)
        if graded:
            records[kind] = graded
            check_guesses(benchmark, kind, list(rows.values()), problems)
            faults = check_scores(found.metrics, graded, benchmark.folder)
            problems.extend(faults)
            if not faults and (names := unreached(found.metrics, graded)):
                notes.append(f"{kind}: no example gives these scores a value: {summarize_names(names)}")
    if not problems:
        check_submission(benchmark, list(rows.values()), examples, notes, problems)
        check_tables_and_pages(benchmark, records, problems)
    problems.raise_if_any(wrong)
    digests, labels = benchmark.folder / DIGESTS, {example.key: example.label for example in examples}
    now = measure(benchmark.name, rows, examples)
    notes += describe_new(now, read_kept(digests, command))
    if keep:
        changed = renew(digests, now, labels, command)
        if not path.is_file():
            write_file(path, f"{json.dumps(content, indent=1, ensure_ascii=False)}\n")
        notes.append(f"Kept: {digests}, {summarize_names(changed) or 'unchanged'}")
    elif digests.is_file():
        compare_kept(now, read_kept(digests, command), labels, command).raise_if_any(wrong)
    else:
        notes.append(f"What its versions stand for is not kept yet.\nRun:  {command}")
    return notes


def _check_prompts(benchmark: Benchmark, rows: Mapping[str, Row], problems: Problems) -> None:
    """Note the tasks whose prompts cannot be made of example rows."""
    for name, task in registry().tasks_of(benchmark.name).items():
        where = f"{file_of(benchmark.folder, name)}, doc_to_text"
        with attempting(problems, where, "a prompt of every item", benchmark.folder):
            for row in filter(asks(task, rows.values()), rows.values()):
                render_prompts(task_configs(benchmark.folder)[name], row)


def check_guesses(benchmark: Benchmark, kind: str, rows: Sequence[Row], problems: Problems) -> None:
    """Note guesses at rows in which no answer is read; not of a judged kind, nor of losses that nobody guesses."""
    found, where = benchmark.kinds[kind], f"kinds, {kind}, guesses"
    if found.judge or found.answer_form is AnswerForm.LOSSES:
        return
    with attempting(problems, where, "answers of somebody who saw nothing", benchmark.folder):
        for task, asked in deal_items(benchmark, kind, rows, [(row, None) for row in rows]):
            guessed = [(row, guess) for row, _ in asked for guess in found.guesses(row)]
            for (_, guess), record in zip(guessed, grade_items(task, guessed) if guessed else (), strict=True):
                if record.outcome is Outcome.UNPARSED:
                    what = f"Expected answers that can be read, but got {describe(guess)}."
                    problems.add(where, what, remedy="name some in its form.")
                    return


def check_submission(
    benchmark: Benchmark, rows: Sequence[Row], examples: Sequence[Example], notes: list[str], problems: Problems
) -> None:
    """Check that the benchmark's submission form can write its files and that its own check accepts them."""
    form = benchmark.submission
    for split, part in product(benchmark.card.splits, form.parts) if form else ():
        tasks = tasks_of_part(registry().tasks_of(benchmark.name), split, part)
        where = f"submission, {part} of {split}"
        if form and tasks:
            with attempting(problems, where, "a file of a run's answers", benchmark.folder):
                issues = _submit(form, split, part, tasks, rows, examples[0].items, notes)
                problems.extend(issues, f"{where}, ")


def _submit(
    form: OfficialForm,
    split: str,
    part: str,
    tasks: Mapping[str, Task],
    rows: Sequence[Row],
    items: Sequence[tuple[Row, Any]],
    notes: list[str],
) -> Problems:
    """The issues that a form's check notes in the file that it has built itself."""
    issues = Problems()
    asked = [asks(task, rows) for task in tasks.values()]
    items = [(row, response) for row, response in items if any(asks_it(row) for asks_it in asked)]
    own = [{**row, "split": split} for row in rows if any(asks_it(row) for asks_it in asked)]
    table = Table(split, own, DataSet(kind=SetKind.OFFICIAL)).rows_of(tasks.values())
    if not table.rows:
        return issues
    entries = [entry for task in tasks.values() for entry in _graded_items(task, items)]
    refused = Problems()
    form.examine(entries, {row["item_id"]: row for row in table.rows}, True, refused)
    if refused:
        reasons = "; ".join(refused.first)
        notes.append(f"submission, {part} of {split}: the example answers make no file ({reasons})")
        return issues
    built = form.build(entries, table, part)
    if built is None:
        return issues
    if not isinstance(built, Built) or not isinstance(built.text, str):
        raise TypeError(f"build gives a {type(built).__name__}, not a Built with a text")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(form.path(split, part)).name
        path.write_text(built.text, encoding="utf-8")
        form.check(path, {split: table}, True, issues)
    return issues


def _graded_items(task: Task, items: Sequence[tuple[Row, Any]]) -> Iterator[GradedItem]:
    with run_task(task_configs(task.benchmark.folder)[task.name], SteadyEvaluation()) as running:
        for row, response in items:
            if task.pointer.get("subset") in (None, row.get("subset")):
                running.ask(row)
                graded = running.grade(row, response)
                yield GradedItem.first_of(Record.from_json(graded[RECORD]), graded[SUBMISSION_ROWS])


def check_tables_and_pages(benchmark: Benchmark, records: Mapping[str, Sequence[Record]], problems: Problems) -> None:
    """Note the tasks, groups and views whose records tables and page cannot show."""
    graded = [benchmark.kinds[kind] for kind in records]
    with tempfile.TemporaryDirectory() as root, patch.dict(os.environ, {HOME: root}):
        for number, (name, view) in enumerate(every_name(benchmark.name)):
            if all(task.kind in graded for task in registry().find_members(name)):
                viewed = name_view(name, view)
                with attempting(problems, viewed, "tables and a page of any records", benchmark.folder):
                    check_shown(finish(Path(root, f"run{number}"), name, view, records), viewed)


def draw_examples(benchmark: Benchmark) -> dict[str, Any]:
    """Examples of what is prepared: some groups of every stratum, with every guess, the key, and no answer."""
    try:
        splits = list(read_manifest(benchmark.card).splits)
    except InputError as error:
        missing = f"there is no {benchmark.folder / EXAMPLES}, and no prepared split to draw them of"
        raise InputError(f"Expected examples to check {benchmark.name} on, but {missing}.") from error
    rows: list[dict[str, Any]] = []
    for split in splits:
        seen: Counter[tuple[Any, ...]] = Counter()
        chosen: dict[str, bool] = {}
        for row in read_table(benchmark.card, split)[0].to_pylist():
            stratum = tuple(row.get(column) for column in (*benchmark.card.strata_columns, "subset"))
            if row["group_id"] not in chosen:
                seen[stratum] += 1
                chosen[row["group_id"]] = seen[stratum] <= GROUPS
            if chosen[row["group_id"]]:
                rows.append({**row, "split": split, "asked": True})
    guesses = [
        str(guess)
        for kind in benchmark.kinds
        for _, asked in deal_items(benchmark, kind, rows, [(row, None) for row in rows])
        for guess in benchmark.kinds[kind].guesses(asked[0][0])
    ]
    keys = [str(row["answer"]) for row in rows if row["answer"]]
    return {"rows": rows, "runs": list(dict.fromkeys([*guesses, *keys[:GROUPS], "I cannot tell.", ""]))}
