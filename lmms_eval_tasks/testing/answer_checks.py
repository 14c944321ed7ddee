"""Prompts, records and submission files of a benchmark, made of its examples: none of its functions fails."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lmms_eval_tasks.host.tasks.running import bind_hooks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.examples import (
    Example,
    Row,
    SteadyEvaluation,
    asks,
    deal_items,
    find_configurations,
    grade_examples,
    grade_items,
    grade_row,
    group_members,
    render_prompts,
    run_task,
)
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, Benchmark, Task
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS, file_of, tasks_of_part
from lmms_eval_tasks.utils.core.errors import Problems, blame
from lmms_eval_tasks.utils.core.text import describe
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.record import GradedItem, Outcome, Record
from lmms_eval_tasks.utils.submission.form import Built, Table

Result = TypeVar("Result")


def attempt(problems: Problems, where: str, wanted: str, folder: Path, run: Callable[[], Result]) -> Result | None:
    """Return the result of a benchmark's function, or note the fault and return None if it raises anything."""
    try:
        return run()
    except Exception as error:  # whatever a benchmark's own functions raise
        problems.add(where, f"Expected {wanted}, but got this: {blame(error, folder)}")
    return None


def check_prompts(benchmark: Benchmark, rows: Mapping[str, Row]) -> Problems:
    """The tasks whose prompts cannot be made of example rows."""
    problems = Problems()
    for name, configuration in find_configurations(benchmark.name).items():
        if group_members(configuration) is None:
            where = f"{file_of(benchmark.folder, name)}, doc_to_text"
            asked = list(filter(asks(registry().tasks[name], rows.values()), rows.values()))

            def render(
                configuration: Mapping[str, Any] = configuration, asked: Sequence[Row] = asked
            ) -> list[dict[str, str]]:
                return [render_prompts(configuration, row) for row in asked]

            attempt(problems, where, "a prompt of every item", benchmark.folder, render)
    return problems


def grade_kind(
    benchmark: Benchmark, kind: str, rows: Mapping[str, Row], examples: Sequence[Example], problems: Problems
) -> tuple[Record, ...]:
    """A kind's records of examples; none, with the fault noted, where one cannot be graded."""
    task = next(task for task in registry().tasks_of(benchmark.name).values() if task.kind is benchmark.kinds[kind])
    where = f"{file_of(benchmark.folder, task.name)}, process_results"
    graded = attempt(
        problems, where, "a record of any response", benchmark.folder,
        lambda: grade_examples(benchmark, kind, rows, examples),
    )  # fmt: skip
    return graded or ()


def check_guesses(benchmark: Benchmark, kind: str, rows: Sequence[Row]) -> Problems:
    """Guesses at example rows in which no answer is read; not of a judged kind, nor of losses that nobody guesses."""
    problems = Problems()
    found = benchmark.kinds[kind]
    if found.judge or found.answer_form is AnswerForm.LOSSES:
        return problems
    where = f"kinds, {kind}, guesses"

    def read() -> list[str]:
        unread = []
        for task, asked in deal_items(benchmark, kind, rows, [(row, None) for row in rows]):
            guessed = [(row, guess) for row, _ in asked for guess in found.guesses(row)]
            pairs = zip(guessed, grade_items(task, guessed) if guessed else (), strict=True)
            unread += [guess for (_, guess), record in pairs if record.outcome is Outcome.UNPARSED]
        return unread

    if unread := attempt(problems, where, "answers of somebody who saw nothing", benchmark.folder, read):
        problems.add(
            where, f"Expected answers that can be read, but got {describe(unread[0])}.", remedy="name some in its form."
        )
    return problems


def check_submission(
    benchmark: Benchmark, rows: Sequence[Row], examples: Sequence[Example], notes: list[str]
) -> Problems:
    """Check that the benchmark's submission form can write its files and that its own check accepts them."""
    problems = Problems()
    form = benchmark.submission
    for split in benchmark.card.splits if form else ():
        for part in form.parts if form else ():
            tasks = tasks_of_part(registry().tasks_of(benchmark.name), split, part)
            where = f"submission, {part} of {split}"

            def write(split: str = split, part: str = part, tasks: Mapping[str, Task] = tasks) -> Problems:
                return _submit(benchmark, split, part, tasks, rows, examples[0].items, notes)

            issues = attempt(problems, where, "a file of a run's answers", benchmark.folder, write) if tasks else None
            if issues is not None:
                problems.extend(issues, f"{where}, ")
    return problems


def _submit(
    benchmark: Benchmark,
    split: str,
    part: str,
    tasks: Mapping[str, Task],
    rows: Sequence[Row],
    items: Sequence[tuple[Row, Any]],
    notes: list[str],
) -> Problems:
    """The issues that a form's check notes in the file that it has built itself."""
    form, issues = benchmark.submission, Problems()
    assert form is not None
    asked = [asks(task, rows) for task in tasks.values()]
    items = [(row, response) for row, response in items if any(asks_it(row) for asks_it in asked)]
    own = [{**row, "split": split} for row in rows if any(asks_it(row) for asks_it in asked)]
    table = Table(split, own, DataSet(kind=SetKind.OFFICIAL)).rows_of(tasks.values())
    if not table.rows:
        return issues
    entries = [entry for name in tasks for entry in _grade_items(benchmark, name, items)]
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


def _grade_items(benchmark: Benchmark, task: str, items: Sequence[tuple[Row, Any]]) -> Iterator[GradedItem]:
    configuration, known = find_configurations(benchmark.name)[task], registry().tasks[task]
    settings = (configuration.get("lmms_eval_specific_kwargs") or {}).get("default")
    with run_task(configuration, SteadyEvaluation(None)) as state:
        bound = bind_hooks(configuration, state)
        for row, response in items:
            if known.pointer.get("subset") in (None, row.get("subset")):
                bound["doc_to_text"](row, settings)
                yield GradedItem.from_json(grade_row(state, bound, row, response)[SUBMISSION_ROWS])
