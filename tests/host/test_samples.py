"""Samples of an item on their way to a model: each has a number and a seed, whatever else is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import asking
import pytest
import torch
from refusals import refusal

from lmms_eval_tasks.host.asking.samples import sample_of, seed_of, take_all_samples
from lmms_eval_tasks.utils.benchmark.views import View, find_view


class Drawing:
    """Draws an answer to each request that it gets by torch, and notes the seeds."""

    def __init__(self) -> None:
        self.seeds: list[int | None] = []

    def generate_until(self, requests: list[Any]) -> list[str]:
        self.seeds += map(seed_of, requests)
        return [f"{one.doc_id}.{sample_of(one)} {torch.rand(1).item()}" for one in requests]


def draw(*docs: int, samples: int = 3, seed: int = 1234) -> tuple[list[str], list[int | None]]:
    torch.manual_seed(seed)
    model = Drawing()
    made = [asking.request(doc, repeats=samples) for doc in docs]
    return asking.ask(model, [one for one in made for _ in range(samples)]), model.seeds


def test_a_sample_is_the_same_draw_whatever_else_is_asked() -> None:
    first, _ = draw(0)
    assert draw(0)[0] == first and len(set(first)) == 3
    assert [one.split()[0] for one in first] == ["0.1", "0.2", "0.3"]
    seeds, others = draw(0, 1, 2)[1], draw(2, 0)[1]
    assert others == seeds[6:] + seeds[:3] and len(set(seeds)) == 9
    assert set(draw(0, 1, 2, seed=1235)[1]).isdisjoint(seeds)
    # A run with one sample draws as ever.
    torch.manual_seed(1234)
    expected = [f"{doc}.1 {torch.rand(1).item()}" for doc in (0, 1)]
    assert draw(0, 1, samples=1) == (expected, [None, None])


@pytest.mark.parametrize(
    ("generation", "sampled"),
    [({}, False), ({"temperature": 0}, False), ({"temperature": 0.1}, True), ({"do_sample": True}, True)],
)
def test_all_answers_reach_the_hooks_and_what_draws_nothing_is_named(
    generation: dict[str, Any], sampled: bool, log: list[str]
) -> None:
    tasks: dict[Any, SimpleNamespace] = {}
    for repeats, filters in ((1, None), (4, None), (4, [{"name": "x"}])):
        state = type("State", (), {"name": f"task {len(tasks)}", "view": View()})()
        config = SimpleNamespace(repeats=repeats, generation_kwargs=generation, filter_list=filters)
        tasks[state] = SimpleNamespace(config=config, _filters=["the host's"])
    take_all_samples(object(), tasks)
    once, repeated, own = (task._filters for task in tasks.values())
    assert once == own == ["the host's"]
    request = SimpleNamespace(resps=["A", "B"], filtered_resps={})
    repeated[0].apply([request], None)
    assert request.filtered_resps == {"none": ["A", "B"]}
    assert log == [] if sampled else "in task 1, task 2: the 4 samples of an item will be equal" in log[0]


def test_a_view_whose_rows_are_samples_of_an_item_is_asked_once(log: list[str]) -> None:
    def task(name: str, view: str, repeats: int) -> tuple[Any, SimpleNamespace]:
        state = type("State", (), {"name": name, "view": find_view(view)})()
        config = SimpleNamespace(repeats=repeats, generation_kwargs={"do_sample": True}, filter_list=None)
        return state, SimpleNamespace(config=config, _filters=[])

    whole, turned = task("whole", "", 2), task("turned", "rotated", 2)
    take_all_samples(object(), dict([whole, task("turned", "rotated", 1)]))
    said = refusal(take_all_samples, object(), dict([whole, turned]))
    assert said == (
        "Expected one sample an item of turned, whose samples are orders of options. Run it by itself, without "
        "--repeats."
    )
    assert not log
    equal = dict([task("one", "", 2), task("two", "", 3)])
    for each in equal.values():
        each.config.generation_kwargs = None
    take_all_samples(type("Drawing", (), {"draws": True})(), equal)
    assert not log, "a model that draws by itself gives others"
    take_all_samples(object(), equal)
    assert "in one, two: the 3 samples of an item will be equal" in log[0]
