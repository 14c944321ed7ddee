"""How much a model answers in which time, as the run card has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import asking
import pytest

from lmms_eval_tasks.host.asking.stages import AskedModel
from lmms_eval_tasks.host.asking.throughput import PROMPT, REUSED, Answered, Throughput, describe
from lmms_eval_tasks.host.tasks.running import Evaluation


class Adapter:
    """A model that answers all at once, and is called twice."""

    def __init__(self) -> None:
        self.task_dict = {task: {"test": [{"clip": name} for name in "aab"]} for task in ("ours", "theirs")}

    def generate_until(self, requests: list[Any]) -> list[str]:
        assert requests, "it is not called without a request"
        return ["answer"] * len(requests)


class Streaming(Adapter):
    """A model that gives answers as they come and says more of its work."""

    def __init__(self) -> None:
        super().__init__()
        self.work = {"seconds": {"decoding": 1.5}, "counts": {"times encoded": 2}}

    def generate_until(self, requests: list[Any]) -> list[str]:
        return [answer for _, answer in self.generate_each(requests)]

    def generate_each(self, requests: list[Any]) -> Iterator[tuple[int, str]]:
        yield from enumerate(["answer"] * len(requests))


@pytest.fixture
def evaluation() -> Evaluation:
    ours = asking.stand_in_task(clip_names=lambda table: [(row["clip"],) for row in table])
    return Evaluation(tasks={"ours": ours})


def test_questions_and_clips_of_our_tasks_are_counted(evaluation: Evaluation) -> None:
    model = Adapter()
    assert asking.ask(model, [], Throughput(model, evaluation)) == [] and evaluation.throughput == {}
    with AskedModel(model, Throughput(model, evaluation)).lasting():
        model.generate_until([asking.request(0), asking.request(0, task="theirs")])
        model.generate_until([asking.request(1), asking.request(2), asking.request(2, padding=True)])
    facts = evaluation.throughput
    assert (facts["questions"], facts["clips"]) == (3, 2)
    assert facts["questions an hour"] >= facts["clips an hour"] > 0


@pytest.mark.parametrize("method", ["generate_until", "generate_each"])
def test_what_comes_one_by_one_is_counted_once(evaluation: Evaluation, method: str) -> None:
    model = Streaming()
    with AskedModel(model, Throughput(model, evaluation)).lasting():
        assert len(list(getattr(model, method)([asking.request(place) for place in range(3)]))) == 3
    facts = evaluation.throughput
    assert (facts["questions"], facts["clips"]) == (3, 2)
    assert (facts["seconds decoding"], facts["times encoded"]) == (1.5, 2)


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
