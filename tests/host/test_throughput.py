"""How much a model answers in which time, as the run card has it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from lmms_eval_tasks.host.asking.stages import AskedModel
from lmms_eval_tasks.host.asking.throughput import PROMPT, REUSED, Answered, Throughput, describe
from lmms_eval_tasks.host.tasks.running import Evaluation

DOCS = [{"clip": name} for name in ("a", "a", "b")]


class Adapter:
    """A model that answers all at once, and is called twice."""

    task_dict: ClassVar[dict[str, Any]] = {"ours": {"test": DOCS}, "theirs": {"test": DOCS}}

    def generate_until(self, requests: list[Any]) -> list[str]:
        return ["answer"] * len(requests)


class Streaming(Adapter):
    """A model that gives answers as they come and says more of its work."""

    work: ClassVar[dict[str, Any]] = {"seconds": {"decoding": 1.5}, "counts": {"times encoded": 2}}

    def generate_until(self, requests: list[Any]) -> list[str]:
        return [answer for _, answer in self.generate_each(requests)]

    def generate_each(self, requests: list[Any]) -> Iterator[tuple[int, str]]:
        yield from enumerate(["answer"] * len(requests))


def request(place: int, task: str = "ours", padding: bool = False) -> Any:
    metadata = {"__padding_only__": True} if padding else {}
    return SimpleNamespace(args=("", None, {}, place, task, "test"), task_name=task, metadata=metadata)


@pytest.fixture
def evaluation() -> Evaluation:
    shown = SimpleNamespace(clip_names=lambda table: [(row["clip"],) for row in table])
    state: Any = SimpleNamespace(shown=shown, view=SimpleNamespace(name=""), benchmark=SimpleNamespace(name="own"))
    return Evaluation(tasks={"ours": state})


def test_questions_and_clips_of_our_tasks_are_counted(evaluation: Evaluation) -> None:
    model = Adapter()
    with AskedModel(model, Throughput(model, evaluation)).lasting():
        model.generate_until([request(0), request(0, task="theirs")])
        model.generate_until([request(1), request(2), request(2, padding=True)])
    assert "generate_until" not in vars(model)
    facts = evaluation.throughput
    assert (facts["questions"], facts["clips"]) == (3, 2)
    assert facts["questions an hour"] >= facts["clips an hour"] > 0


@pytest.mark.parametrize("method", ["generate_until", "generate_each"])
def test_what_comes_one_by_one_is_counted_once(evaluation: Evaluation, method: str) -> None:
    model = Streaming()
    with AskedModel(model, Throughput(model, evaluation)).lasting():
        assert len(list(getattr(model, method)([request(place) for place in range(3)]))) == 3
    facts = evaluation.throughput
    assert (facts["questions"], facts["clips"]) == (3, 2)
    assert (facts["seconds decoding"], facts["times encoded"]) == (1.5, 2)


def test_a_model_that_is_asked_nothing_is_not_called(evaluation: Evaluation) -> None:
    class Refusing(Adapter):
        def generate_until(self, requests: list[Any]) -> list[str]:
            raise AssertionError("called without a request")

    model = Refusing()
    with AskedModel(model, Throughput(model, evaluation)).lasting():
        assert model.generate_until([]) == []
    assert evaluation.throughput == {}


def test_ranks_work_side_by_side() -> None:
    first = Answered(10.0, 4, {("", "a"), ("", "b")}, {"seconds": {"encoding": 3.0}, "counts": {PROMPT: 300}})
    second = Answered(20.0, 2, {("", "c")}, {"seconds": {"encoding": 5.0}, "counts": {PROMPT: 100, REUSED: 50}})
    assert describe([first, second]) == {
        "questions": 6,
        "clips": 3,
        "questions an hour": 1080,
        "clips an hour": 540,
        "seconds": 20.0,
        "seconds encoding": 8.0,
        "share of prompt tokens reused in %": 12.5,
        "prompt tokens": 400,
        "prompt tokens reused": 50,
    }
