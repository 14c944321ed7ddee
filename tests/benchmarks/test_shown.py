"""What is shown of each task's items, answers and runs, and what people are asked, of the sample: digests of it all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from sample_runs import TASKS, Doc, at, prepared_sample, sometimes, write_sample_run
from written import as_json, summary

import lmms_eval_tasks
from lmms_eval_tasks.construct.annotate.plan import asked_items
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.page_files import ClipShelf
from lmms_eval_tasks.report.page_items import task_block
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.people.inquiries import RESPONSE, with_usual
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.reporting.panels import usual_panels

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_draws")]
HERE = Path(lmms_eval_tasks.__file__).parent
OURS = [name for name, one in registry().benchmarks.items() if one.folder.parent == HERE]


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    prepared = prepared_sample(tmp_path_factory)
    with at(prepared):
        yield prepared


def answer(task: str, doc: Doc) -> str:
    """An answer that is right more often than not, wrong, or cannot be read."""
    if task in TASKS:
        return sometimes(1, 0.6)(task, doc)
    guesses: list[str] = [*registry().find_task(task).kind.guesses(doc), "I cannot say."]  # type: ignore[union-attr]
    return guesses[hashlib.sha256(f"{task} {doc['item_id']}".encode()).digest()[0] % len(guesses)]


@pytest.mark.parametrize("benchmark", OURS)
def test_what_a_page_shows_of_items_answers_and_scores_is_what_it_was(
    benchmark: str, tmp_path: Path, expected: Expected
) -> None:
    lines = []
    for name, task in registry().tasks_of(benchmark).items():
        # The motion of a decoded clip, which some show beside its losses, depends on the encoder's version.
        if task.kind.judge == "required" or task.kind.answer_form is AnswerForm.CLIP_LOSSES:
            continue
        run = read_run(write_sample_run(tmp_path / name, [name], answer))
        lines.append(summary(f"{name}: its block", [as_json(task_block(name, [(1, run)], ClipShelf()))]))
        runs = [RunRecords("1", "model", [run.records[name]])]
        for panel in task.kind.panels(name, runs) if task.kind.panels else usual_panels(runs):
            tables = [figure.table() for figure in panel.all_figures]
            shown = [
                as_json([panel.title, panel.note, panel.linked]),
                *(str((one.headings, one.rows)) for one in tables),
            ]
            lines.append(summary(f"{name}: {panel.title}", shown))
    expected("\n".join(lines))


@pytest.mark.parametrize("benchmark", OURS)
def test_what_people_are_asked_is_what_they_were(benchmark: str, expected: Expected) -> None:
    one = registry().benchmarks[benchmark]
    lines = []
    for split in dict.fromkeys(task.split for task in registry().tasks_of(benchmark).values()):
        rows = read_table(one.card, split)[0].to_pylist()
        answered: list[Any] = [{**row, RESPONSE: f"Answer {number}."} for number, row in enumerate(rows)]
        for mode, inquiry in with_usual(one.inquiries).items():
            if inquiry.of_answers and inquiry.items:
                asked = inquiry.items(answered)
            else:
                asked = list(asked_items(benchmark, split, mode)[1].values())
            lines.append(summary(f"{split}, {mode}", [repr(item) for item in asked]))
    expected("\n".join(lines))
