"""The floors answer in the form that each task asks for, also a task of somebody else's benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from model_output import JudgedEvaluation
from submission_world import prepare_world
from task_states import BoundState, docs_of, task_state
from version_gate import examples_of

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.models.base import RequestModel
from lmms_eval_tasks.models.stand_ins import ConstantAnswer, RandomAnswer
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.examples import read_examples
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm

TASKS = [name for name, task in registry().tasks.items() if task.kind.answer_form is not AnswerForm.LOSSES]
ITEMS = 4


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    root = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        patch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
        prepare_world(root / "releases")
        yield


def docs(state: BoundState) -> list[dict[str, Any]]:
    """A task's items in the small releases; where they have none of it, its benchmark's recorded examples."""
    try:
        return docs_of(state)
    except RunStopped:
        return [dict(row) for row in read_examples(examples_of(state.benchmark.name))[0].values()]


def answers(model: RequestModel, state: BoundState, rows: list[dict[str, Any]]) -> list[str]:
    """What a model answers to lmms-eval's requests about some rows of a task, whatever the task's name."""
    task = SimpleNamespace(config=SimpleNamespace(process_results=state.process_results))
    show = type("Task", (), {"config": task.config, "doc_to_visual": lambda self, doc: []})().doc_to_visual
    model.task_dict = {"variant": {"test": rows}}
    requests = [SimpleNamespace(args=("?", {}, show, place, "variant", "test")) for place in range(len(rows))]
    return [str(answer) for answer in model.generate_until(requests)]


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_every_guess_is_read_as_another_answer_and_the_floors_choose_from_them(name: str) -> None:
    state = task_state(name, JudgedEvaluation())
    rows = docs(state)
    for row in rows[:ITEMS]:
        guesses = state.kind.guesses(row)
        records = [state.process_results(row, [guess])["record"] for guess in guesses]
        assert not any(record["outcome"] == "unparsed" for record in records), guesses
        if not state.kind.judge or len(guesses) > 1:
            read = {(record["answered"], record["fields"].get("detection")) for record in records}
            assert len(read) == len(guesses) > 1 and None not in {answered for answered, _ in read}
    every = [tuple(state.kind.guesses(row)) for row in rows]
    assert answers(ConstantAnswer(), state, rows) == [one[0] for one in every]
    assert answers(ConstantAnswer(response=7), state, rows) == ["7"] * len(rows)
    given = answers(RandomAnswer(seed=1), state, rows)
    assert all(answer in one for answer, one in zip(given, every, strict=True))
    assert given == answers(RandomAnswer(seed=1), state, rows)
    drawn = {answer for seed in range(40) for answer in answers(RandomAnswer(seed=seed), state, rows[:1])}
    assert drawn == set(every[0])


@pytest.mark.slow
def test_somebody_elses_form_is_answered_in(monkeypatch: pytest.MonkeyPatch) -> None:
    state = task_state(TASKS[0])
    numbers = replace(state.kind, guesses=lambda row: [f"{number} times" for number in range(3)])
    monkeypatch.setattr(state, "kind", numbers)
    rows = [{"item_id": str(item)} for item in range(30)]
    assert answers(ConstantAnswer(), state, rows) == ["0 times"] * 30
    assert set(answers(RandomAnswer(), state, rows)) == {"0 times", "1 times", "2 times"}
