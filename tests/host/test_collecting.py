"""When Python looks for cycles of objects in an evaluation."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from lmms_eval_tasks.host import collecting
from lmms_eval_tasks.host.collecting import collect_again, collect_once_gone, collect_while_answering
from lmms_eval_tasks.host.index import count_tasks


@pytest.fixture(autouse=True)
def collection() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


class Model:
    """Notes whether there was collection while it answered; an odd number of requests is too much for it."""

    def __init__(self) -> None:
        self.collected: list[bool] = []

    def generate_until(self, requests: list[str]) -> list[str]:
        self.collected.append(gc.isenabled())
        if len(requests) % 2:
            raise MemoryError
        return requests


def test_only_answering_has_collection() -> None:
    model = Model()
    with collect_while_answering(model):
        assert not gc.isenabled()
        assert model.generate_until(["first", "second"]) == ["first", "second"]
        assert not gc.isenabled()
    assert gc.isenabled()
    assert model.collected == [True]
    assert "generate_until" not in vars(model)


def test_a_model_that_fails_leaves_collection_as_it_was() -> None:
    model = Model()
    with pytest.raises(MemoryError), collect_while_answering(model):
        model.generate_until(["first"])
    assert gc.isenabled()


def test_who_runs_without_collection_goes_on_without() -> None:
    model = Model()
    gc.disable()
    with collect_while_answering(model):
        model.generate_until([])
    assert not gc.isenabled()
    assert model.collected == [False]


class Results(dict[str, float]):
    """As a dictionary of scores is not, what one can wait for to go."""


def test_a_python_program_has_its_collection_back_at_once() -> None:
    results = Results()
    with collect_while_answering(Model()):
        pass
    assert gc.isenabled()
    gc.disable()
    collect_again()
    collect_once_gone(results)
    del results
    assert not gc.isenabled()


def test_the_command_line_collects_again_once_the_results_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "on_command_line", lambda: True)
    results = Results()
    with collect_while_answering(Model()):
        pass
    collect_once_gone(results)
    assert not gc.isenabled()
    del results
    assert gc.isenabled()
    gc.disable()
    collect_again()
    assert gc.isenabled()


def test_a_failed_evaluation_of_the_command_line_leaves_collection_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "on_command_line", lambda: True)
    model = Model()
    with pytest.raises(MemoryError), collect_while_answering(model):
        model.generate_until(["first"])
    assert gc.isenabled()


def test_tasks_are_counted_in_groups_of_groups() -> None:
    assert count_tasks({"one": object(), "group": {"two": object(), "inner": {"three": object()}}}) == 3
