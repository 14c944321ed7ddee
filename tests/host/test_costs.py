"""What a run's answers took: tokens and seconds by task and their price, and how many there were in which time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import asking
import pytest
from lmms_eval.api.instance import GenerationResult, TokenCounts

from lmms_eval_tasks.host.asking.costs import PROMPT, REUSED, Answered, Costs, describe
from lmms_eval_tasks.host.asking.stages import Ask, AskedModel, AskingStage
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.runs.costs import Cost, cost_columns, read_price
from lmms_eval_tasks.runs.run_card import COST
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import cell_text


class Adapter:
    """Counts tokens of all kinds, and of the third answer none."""

    def __init__(self) -> None:
        self.task_dict = {task: {"test": [{"clip": name} for name in "aab"]} for task in ("ours", "theirs")}

    def generate_until(self, requests: list[Any]) -> list[Any]:
        assert requests, "it is not called without a request"
        counted = [TokenCounts(100, 10, 1), TokenCounts(200, 20, 2), TokenCounts()]
        return [GenerationResult("A", counts) for counts in counted[: len(requests)]]


class Streaming(Adapter):
    """Gives answers as they come and says more of its work."""

    work = {"seconds": {"decoding": 1.5}, "counts": {"times encoded": 2}}  # noqa: RUF012

    def generate_until(self, requests: list[Any]) -> list[Any]:
        return [answer for _, answer in self.generate_each(requests)]

    def generate_each(self, requests: list[Any]) -> Iterator[tuple[int, Any]]:
        yield from enumerate(super().generate_until(requests))


class FirstKept(AskingStage):
    """Stands for the answers that an earlier run has left: the first."""

    places = frozenset([0])

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        return [Reply("A", counts=TokenCounts(1000, 50, None)), *ask(requests[1:])]


@pytest.fixture
def evaluation() -> Evaluation:
    ours = asking.stand_in_task(clip_names=lambda table: [(row["clip"],) for row in table])
    return Evaluation(tasks={"ours": ours})


def test_tokens_are_counted_by_task_and_only_answers_that_were_asked_for_are_paid(evaluation: Evaluation) -> None:
    model = Adapter()
    requests = [asking.request(doc) for doc in (0, 0, 1)] + [asking.request(0, task="theirs")]
    asking.ask(model, requests, costs := Costs(model, evaluation.tasks, kept := FirstKept()), kept)
    spent = costs.facts()["spent"]
    assert {task for task, _ in spent} == {"ours"}
    section = {name: number for (_, name), number in spent.items()}
    cost = Cost.of({f"{COST}ours": section}, ["ours"])
    assert cost and Cost.of({f"{COST}ours": section}, ["ours", "theirs"]) is None
    assert [cost.tokens(kind) for kind in ("input", "output", "reasoning")] == [1300 / 3, 80 / 3, 1.5]
    assert cost.money(read_price("in=2,out=10")) == pytest.approx((2 * 300 + 10 * 30) / 1_000_000)
    assert cost.money(read_price("in=2,out=10,reasoning=4")) == pytest.approx((2 * 300 + 10 * 30 + 4 * 3) / 1_000_000)
    assert 0 < section.pop("seconds") < 1
    assert section == {
        "answers": 3, "answers kept": 1, "clips": 1,
        "answers with input tokens": 3, "input tokens": 1300, "input tokens kept": 1000,
        "answers with output tokens": 3, "output tokens": 80, "output tokens kept": 50,
        "answers with reasoning tokens": 2, "reasoning tokens": 3, "reasoning tokens kept": 0,
    }  # fmt: skip
    local = Cost.of({f"{COST}ours": {"answers": 1, "answers with output tokens": 1, "output tokens": 5}}, ["ours"])
    assert local and local.money(read_price("in=2,out=10")) is None
    assert cost_columns([local, None], {}) == ["tokens out"]
    assert cell_text(local.cells({})["tokens out"]) == "5.0"
    assert cost_columns([Cost.of({f"{COST}ours": {"answers": 1}}, ["ours"])], {}) == []


def test_seconds_are_of_a_clip_and_answers_that_are_none_are_counted() -> None:
    sums = {"answers": 4, "seconds": 5.0, "clips": 2, "answers cut off": 3, "answers failed": 1, "answers kept": 2}
    cost = Cost.of({f"{COST}ours": sums, f"{COST}other": {"seconds": 2.5, "clips": 1}}, ["ours", "other"])
    assert cost is not None
    shown = {name: cell_text(cell) for name, cell in cost.cells({}).items()}
    assert cost_columns([cost], {}) == ["s a clip", "cut off", "failed", "kept"]
    assert [shown[name] for name in cost_columns([cost], {})] == ["2.50", "3", "1", "2"]
    assert Cost.of({f"{COST}ours": {"seconds": 5.0}}, ["ours"]).seconds_a_clip is None  # type: ignore[union-attr]


def test_a_price_that_cannot_be_read_is_refused() -> None:
    assert read_price("") == {}
    for text in ("3", "in=free", "in=-1", "in=inf", "tokens=2"):
        with pytest.raises(InputError, match=f"Expected --price in=MONEY,out=MONEY for .* but got `{text}`"):
            read_price(text)


def test_questions_and_clips_of_our_tasks_are_counted_once(evaluation: Evaluation) -> None:
    def costs_of(model: Any) -> Costs:
        return Costs(model, evaluation.tasks, SimpleNamespace(places=frozenset()))

    model = Adapter()
    assert asking.ask(model, [], costs := costs_of(model)) == [] and costs.facts()["throughput"] == {}
    with (asked := AskedModel(model, costs_of(model))).lasting():
        model.generate_until([asking.request(0), asking.request(0, task="theirs")])
        model.generate_until([asking.request(1), asking.request(2), asking.request(2, padding=True)])
    facts = asked.facts()["throughput"]
    assert (facts["questions"], facts["clips"]) == (3, 2)
    assert facts["questions an hour"] >= facts["clips an hour"] > 0
    for method in ("generate_until", "generate_each"):
        streaming = Streaming()
        with AskedModel(streaming, costs := costs_of(streaming)).lasting():
            assert len(list(getattr(streaming, method)([asking.request(place) for place in range(3)]))) == 3
        facts = costs.facts()["throughput"]
        assert (facts["questions"], facts["clips"]) == (3, 2)
        assert (facts["seconds decoding"], facts["times encoded"]) == (1.5, 2)


def test_ranks_work_side_by_side() -> None:
    # A clip of two tasks is one.
    first = Answered(10.0, 4, {("t", "a"), ("t", "b")}, {"seconds": {"encoding": 3.04}, "counts": {PROMPT: 300}})
    second = Answered(
        20.0, 2, {("u", "a"), ("u", "c")}, {"seconds": {"encoding": 5.0}, "counts": {PROMPT: 100, REUSED: 50}}
    )
    assert describe([first, second]) == {
        "questions": 6, "clips": 3, "questions an hour": 1080, "clips an hour": 540, "seconds": 20.0,
        "seconds encoding": 8.0, "share of prompt tokens reused in %": 12.5, "prompt tokens": 400,
        "prompt tokens reused": 50,
    }  # fmt: skip
    brief = describe([Answered(0.06, 1, {("t",)})])
    assert (brief["seconds"], brief["questions an hour"]) == (0.1, 60_000) and "prompt tokens" not in brief
    assert describe([Answered(0.0, 1, {("t",)})]) == describe([Answered(1.0)]) == {}


def test_a_call_passes_over_what_a_stage_has_not_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lasting(AskingStage):
        """Has something of its own around an evaluation alone."""

        def during(self) -> AbstractContextManager[object]:
            lasted.append(True)
            return nullcontext()

    lasted: list[bool] = []
    for name in ("before", "after"):
        monkeypatch.setattr(AskingStage, name, lambda *_: pytest.fail("a call of nothing"))
    monkeypatch.setattr(AskingStage, "answer", lambda *_: pytest.fail("a stage of nothing"))
    model = SimpleNamespace(generate_until=lambda requests: ["B"] * len(requests))
    with AskedModel(model, Lasting()).lasting():
        assert model.generate_until([asking.request(0)]) == ["B"]
    assert lasted
