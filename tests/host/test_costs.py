"""Tokens, seconds and clips by task, as the asking of a run counts them, and the price of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from lmms_eval_tasks.host.asking.costs import Costs
from lmms_eval_tasks.host.asking.stages import Ask, AskedModel, AskingStage
from lmms_eval_tasks.host.asking.throughput import Throughput
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.runs.costs import Cost, cost_columns, read_price
from lmms_eval_tasks.runs.run_card import COST
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.table import cell_text


class Adapter:
    """A model that counts tokens of all kinds, and of the last answer none."""

    task_dict: ClassVar[dict[str, Any]] = {"ours": {"test": [{"clip": "a"}, {"clip": "a"}]}}

    def generate_until(self, requests: list[Any]) -> list[Any]:
        from lmms_eval.api.instance import GenerationResult, TokenCounts

        counted = [TokenCounts(100, 10, 1), TokenCounts(200, 20, 2), TokenCounts()]
        return [GenerationResult("A", counts) for counts in counted[: len(requests)]]


class FirstKept(AskingStage):
    """Stands for the answers that an earlier run has left: the first."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    def answer(self, ask: Ask, requests: list[Any]) -> list[Any]:
        from lmms_eval.api.instance import GenerationResult, TokenCounts

        self.evaluation.kept_places = frozenset([0])
        return [GenerationResult("A", TokenCounts(1000, 50, None)), *ask(requests[1:])]


def request(place: int, task: str = "ours") -> Any:
    return SimpleNamespace(args=("", None, {}, place, task, "test"), task_name=task, metadata={})


@pytest.fixture
def card() -> dict[str, dict[str, Any]]:
    """The section of a run of three answers, one of them kept."""
    shown = SimpleNamespace(clip_names=lambda table: [(row["clip"],) for row in table])
    state: Any = SimpleNamespace(shown=shown, view=SimpleNamespace(name=""), benchmark=SimpleNamespace(name="own"))
    evaluation, model = Evaluation(tasks={"ours": state}), Adapter()
    with AskedModel(model, Costs(evaluation), FirstKept(evaluation), Throughput(model, evaluation)).lasting():
        model.generate_until([request(0), request(0), request(1), request(0, task="theirs")])
    assert {task for task, _ in evaluation.spent} == {"ours"}
    return {f"{COST}ours": {name: number for (_, name), number in evaluation.spent.items()}}


def test_answers_are_counted_by_task_and_kept_ones_apart(card: dict[str, dict[str, Any]]) -> None:
    section = card[f"{COST}ours"]
    assert 0 < section.pop("seconds") < 1
    assert section == {
        "answers": 3, "answers kept": 1, "clips": 1,
        "answers with input tokens": 3, "input tokens": 1300, "input tokens kept": 1000,
        "answers with output tokens": 3, "output tokens": 80, "output tokens kept": 50,
        "answers with reasoning tokens": 2, "reasoning tokens": 3, "reasoning tokens kept": 0,
    }  # fmt: skip


def test_only_answers_that_were_asked_for_are_paid(card: dict[str, dict[str, Any]]) -> None:
    cost = Cost.of(card, ["ours"])
    assert cost and Cost.of(card, ["ours", "theirs"]) is None
    assert [cost.tokens(kind) for kind in ("input", "output", "reasoning")] == [1300 / 3, 80 / 3, 1.5]
    assert cost.money(read_price("in=2,out=10")) == pytest.approx((2 * 300 + 10 * 30) / 1_000_000)
    assert cost.money(read_price("in=2,out=10,reasoning=4")) == pytest.approx((2 * 300 + 10 * 30 + 4 * 3) / 1_000_000)
    local = Cost.of({f"{COST}ours": {"answers": 1, "answers with output tokens": 1, "output tokens": 5}}, ["ours"])
    assert local and local.money(read_price("in=2,out=10")) is None
    assert cost_columns([local, None], {}) == ["tokens out"]
    assert cell_text(local.cells({})["tokens out"]) == "5.0"
    silent = Cost.of({f"{COST}ours": {"answers": 1}}, ["ours"])
    assert cost_columns([silent], {}) == []


@pytest.mark.parametrize("text", ["3", "in=free", "in=-1", "in=inf", "tokens=2"])
def test_a_price_that_cannot_be_read_is_refused(text: str) -> None:
    assert read_price("") == {}
    with pytest.raises(InputError, match=f"Expected --price in=MONEY,out=MONEY for .* but got `{text}`"):
        read_price(text)
