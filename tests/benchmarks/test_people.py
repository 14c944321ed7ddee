"""Every benchmark's questions are answered by people and by a run, which `humans` sets beside each other."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import printed
from sample_runs import Doc, at, prepared_sample, write_sample_run

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, Task
from lmms_eval_tasks.utils.data.home import read_table, table_path
from lmms_eval_tasks.utils.people.inquiries import ANSWER
from lmms_eval_tasks.utils.people.responses import AskedQuestion, Key, keyed_questions, read_items

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    prepared = prepared_sample(tmp_path_factory)
    with at(prepared):
        yield prepared


def keyed_task(benchmark: str) -> tuple[Task, list[dict[str, Any]]]:
    """A task of a benchmark whose keys are known, and which needs no judge; and its rows."""
    for task in registry().tasks_of(benchmark).values():
        rows = read_table(task.benchmark.card, task.split)[0].to_pylist()
        if not task.kind.judge and all(row["answer"] for row in rows):
            return task, rows
    raise AssertionError(f"{benchmark} has no task whose keys are known")


def asked_questions(task: Task, rows: list[dict[str, Any]]) -> Mapping[Key, AskedQuestion]:
    """What people are asked about a task's split."""
    benchmark = task.benchmark
    if benchmark.human_study:
        return benchmark.human_study.questions(rows)
    if own := benchmark.inquiries.get(ANSWER):
        return keyed_questions(own, rows)
    return read_items(table_path(benchmark.name, task.split), benchmark.card.clip_columns)


@pytest.mark.usefixtures("hundred_columns")
@pytest.mark.parametrize("benchmark", list(registry().benchmarks))
def test_a_run_is_set_beside_people(benchmark: str, tmp_path: Path) -> None:
    task, rows = keyed_task(benchmark)
    draw = random.Random(0)
    lines = ["item,version,annotator,choice"]
    for (item, version), question in asked_questions(task, rows).items():
        for person in range(3):
            choice = question.answer if draw.random() < 0.7 or not question.choices else draw.choice(question.choices)
            annotator = str(person) if task.benchmark.pairs_of_clips else f"{version} {person}"
            lines.append(f"{item},{version},{annotator},{choice}")
    people = tmp_path / "people.csv"
    people.write_text("\n".join(lines), encoding="utf-8")

    def answer(_: str, doc: Doc) -> str:
        if task.kind.answer_form is AnswerForm.WORDS:
            return draw.choice([*task.kind.guesses(doc), "I cannot say."])
        losses = Directed[float](forward=1.0, backward=draw.choice([0.9, 1.1]))
        return DenoisingResponse(
            item_id=doc["item_id"], loss=losses, losses=Directed[list[list[float]]](forward=[], backward=[])
        ).to_json()

    run = write_sample_run(tmp_path / "run", [task.name], answer)
    output = printed("humans", people, "--items", f"{benchmark}:{task.split}", "--run", run)
    shown = [" ".join(line.split()) for line in output.splitlines()]
    number = sum(record.correct is not None for record in read_run(run).records[task.name])
    assert number > 1 and any(line.startswith(f"run 1, people {number} ") for line in shown), output
    assert "another key" not in output and "no person answered" not in output, output
    # An id that is longer than a line is broken, and the run's path is not.
    assert max(len(line) for line in output.splitlines() if str(tmp_path) not in line) <= 100, output
