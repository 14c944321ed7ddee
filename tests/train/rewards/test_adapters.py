"""Each adapter called as its trainer calls it; the trainers themselves are not installed."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from judge_server import JudgeServer, Say

from lmms_eval_tasks.train import rewards as shared_rewards
from lmms_eval_tasks.train.countervqa import rewards
from lmms_eval_tasks.train.rewards.functions import REWARDS, score_answer, verdict_reward
from lmms_eval_tasks.train.rewards.reward_sample import read_sample
from lmms_eval_tasks.train.rewards.swift_classes import batch_samples

FOLDER = Path(rewards.__file__).parent
GRAPH = json.dumps(
    {
        "clip": "a.mp4",
        "actions": [
            {"id": "A00", "start": 0.0, "text": "C opens the tap"},
            {"id": "A01", "start": 2.0, "text": "C fills the cup"},
            {"id": "A02", "start": 4.0, "text": "C drinks the water"},
        ],
        "links": [{"cause": "A00", "effect": "A01"}, {"cause": "A01", "effect": "A02"}],
    }
)
QUESTION = "If C had not opened the tap, would C still have drunk the water?"
CLAIMS = """<think><claims>
happened: C opens the tap
happened: C fills the cup
happened: C drinks the water
link: opening the tap -> filling the cup
link: filling the cup -> drinking the water
conclusion: no
</claims></think>
<answer>No.</answer>"""
ANSWERS = [CLAIMS, CLAIMS.replace("link: filling the cup -> drinking the water\n", ""), "<answer>Yes.</answer>"]
"""Right, right with a part of the links, and wrong."""
ROW = {"graph": GRAPH, "action": "A00", "outcome": "A02", "answer": "no", "question": QUESTION}
COLUMNS = {name: [value] * len(ANSWERS) for name, value in ROW.items()}


class ORM:
    """As in ms-swift 4.6.0."""

    def __init__(self, args: object = None, **others: object) -> None:
        self.args = args


class AsyncORM(ORM):
    """As in ms-swift 4.6.0."""


@pytest.fixture
def orms(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """ms-swift's table after it has imported the plugin from its file, as `--external_plugins` does."""
    table: dict[str, Any] = {"format": "its own"}
    library, module = ModuleType("swift"), ModuleType("swift.rewards")
    vars(module).update(ORM=ORM, AsyncORM=AsyncORM, orms=table)
    monkeypatch.setitem(sys.modules, "swift", library)
    monkeypatch.setitem(sys.modules, "swift.rewards", module)
    load(FOLDER / "swift_plugin.py")
    return table


def load(file: Path) -> ModuleType:
    """A file as a module of another name, which is how trainers import it."""
    spec = importlib.util.spec_from_file_location("_rewards_of_a_file", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_swift_calls(reward: Any, completions: list[str], columns: dict[str, Any]) -> list[float | None]:
    asynchronous = inspect.iscoroutinefunction(reward) or inspect.iscoroutinefunction(type(reward).__call__)
    if asynchronous:

        async def gather() -> Any:
            return await asyncio.gather(reward(completions, **columns))

        return list(asyncio.run(gather())[0])
    return list(reward(completions, **columns))


def test_swift_gets_one_number_a_completion(orms: dict[str, Any]) -> None:
    assert {"causal", "visual", "graph", "choice", "verdict", "judged_causal", "judged_visual"} < set(orms)
    causal = orms["causal"](args=None)
    assert isinstance(causal, ORM) and type(causal).__name__ == "CausalReward"
    others = {"trainer_state": object(), "messages": [[]] * 3, "videos": [["a.mp4"]] * 3, "answer": None}
    values = [value for value in as_swift_calls(causal, ANSWERS, {**COLUMNS, **others}) if value is not None]
    assert values[0] == pytest.approx(1.0) and values == sorted(values, reverse=True) and len(set(values)) == 3
    assert as_swift_calls(orms["verdict"](args=None), ANSWERS, COLUMNS) == [1.0, 1.0, 0.0]
    assert as_swift_calls(orms["format"](args=None), ANSWERS, COLUMNS) == [1.0, 1.0, 0.0]
    # Where a reward does not apply, there is none.
    assert as_swift_calls(causal, ANSWERS, {"question": [QUESTION] * 3}) == [None] * 3
    assert as_swift_calls(orms["choice"](args=None), ANSWERS, COLUMNS) == [None] * 3
    options = json.dumps(["it stays empty", "it overflows", "it breaks"])
    columns = {"options": [options] * 3, "solution": ["B"] * 3}
    said = ["<think>…</think>The answer is B.", "A", "I cannot tell."]
    assert as_swift_calls(orms["choice"](args=None), said, columns) == [1.0, 0.0, 0.0]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", ["judged_causal", "judged_visual"])
def test_swift_awaits_the_judge(orms: dict[str, Any], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_REWARD_JUDGE_MODEL", "judge")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with JudgeServer(lambda prompt, before: Say('{"grade": 6}')) as server:
        monkeypatch.setenv("LMMS_EVAL_TASKS_REWARD_JUDGE_URL", server.url)
        judged = orms[name](args=None)
        assert isinstance(judged, AsyncORM) and judged.args is None
        assert type(judged).__name__ == "".join(part.capitalize() for part in name.split("_")) + "Reward"
        last = 0.1 if name == "judged_causal" else 0.6
        assert as_swift_calls(judged, ANSWERS, COLUMNS) == [0.6, 0.6, last]
        assert len(server.bodies) == 1 + len(ANSWERS)


def test_a_set_of_choices_has_a_plugin_without_any_benchmark(orms: dict[str, Any]) -> None:
    orms.clear()
    orms["format"] = "its own"
    load(Path(shared_rewards.__file__).with_name("swift_plugin.py"))
    assert set(orms) == set(REWARDS) and orms["format"] == "its own"


def test_columns_are_lists_or_arrays_that_fit_their_batch() -> None:
    for values, got in (([QUESTION] * 2, "got 2"), (QUESTION, "got a str"), (np.array([QUESTION]), "got 1")):
        with pytest.raises(ValueError, match=f"Expected the column question to hold a value for each of 3 .* {got}"):
            batch_samples(len(ANSWERS), {**COLUMNS, "question": values})
    asked = [sample.question for sample in batch_samples(5, {"question": ["a", "a", "b", "b", "a"]})]
    assert asked == ["a", "a", "b", "b", "a"]
    every = {**ROW, "absent_action": "C sneezes", "options": ["a", "b"], "clip": "a.mp4"}
    for row in (every, {"verdict": "yes"}, {"solution": "B"}):
        assert batch_samples(1, {name: [value] for name, value in row.items()}) == [read_sample(row)]
    arrays = {name: np.array(values, dtype=object) for name, values in COLUMNS.items()}
    assert batch_samples(len(ANSWERS), arrays) == batch_samples(len(ANSWERS), COLUMNS)


def test_any_trainer_gets_every_reward_and_their_mean() -> None:
    for row in (dict(ROW), json.dumps(ROW)):
        scores = [score_answer(one, row, {"causal": 0.5, "visual": 0.5}, rewards.REWARDS) for one in ANSWERS]
        assert [set(one) for one in scores] == [{"score", *rewards.REWARDS}] * 3
        for one in scores:
            assert one["score"] == pytest.approx((one["causal"] + one["visual"]) / 2)
        assert scores[0]["score"] > scores[1]["score"] > scores[2]["score"] >= 0.0
        standard = [score_answer(one, row, {"verdict": 1.0}, rewards.REWARDS)["score"] for one in ANSWERS]
        assert standard == [1.0, 1.0, 0.0]


def test_a_key_alone_scores_what_it_can() -> None:
    said = "<answer>No.</answer>"
    only_key = score_answer(said, "no", {"verdict": 1.0}, rewards.REWARDS)
    assert only_key["score"] == 1.0 and only_key["verdict"] == 1.0 and math.isnan(only_key["causal"])
    assert score_answer(said, "no", {"causal": 1.0})["score"] == 0.0
    assert verdict_reward(f"<think>Yes?</think> {said}", read_sample(ROW)) == 1.0
    keys = [{"solution": "a"}, {"solution": "a", "verdict": "b"}, {"verdict": "b", "answer": "c"}, {"answer": " "}, {}]
    assert [read_sample(columns).key for columns in keys] == ["a", "b", "c", None, None]
    with pytest.raises(KeyError):
        score_answer(said, "no", {"casual": 1.0})


def as_messages(text: str) -> list[Any]:
    """An answer in the shapes in which trainers pass one."""
    of_assistant = {"role": "assistant", "content": text}
    parts = [{"type": "text", "text": text[:9]}, {"type": "image", "image": None}, {"type": "text", "text": text[9:]}]
    called = [{"role": "assistant", "content": None, "tool_calls": []}, {"role": "tool", "content": "Yes."}]
    return [
        text, [of_assistant], of_assistant, [{"role": "user", "content": QUESTION}, of_assistant],
        [{"role": "assistant", "content": parts}], [*called, of_assistant],
    ]  # fmt: skip


WEIGHTS = {"causal": 0.5, "visual": 0.5}
NO_ANSWERS: tuple[Any, ...] = (
    None, 3, b"No", [], {}, [CLAIMS], [{"role": "user", "content": CLAIMS}], [{"role": "assistant"}],
    [{"content": CLAIMS}], [{"role": "assistant", "content": 3}], [{"role": "assistant", "content": [3]}],
)  # fmt: skip


@pytest.mark.usefixtures("home")
def test_messages_are_read_and_what_is_no_answer_ends_a_training(
    orms: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = as_messages(CLAIMS)
    columns = {name: [value] * len(shapes) for name, value in ROW.items()}
    expected = score_answer(CLAIMS, ROW, WEIGHTS, rewards.REWARDS)
    assert expected["score"] == 1.0
    for shape in shapes:
        assert {**score_answer(shape, ROW, WEIGHTS, rewards.REWARDS), "choice": 0} == {**expected, "choice": 0}
    for name in ("causal", "visual", "graph", "verdict", "format"):
        assert as_swift_calls(orms[name](args=None), shapes, columns) == [1.0] * len(shapes)
    # A model that said nothing has answered: it called a tool alone.
    assert score_answer([{"role": "assistant", "content": None}], ROW, WEIGHTS)["score"] == 0.0
    monkeypatch.setenv("LMMS_EVAL_TASKS_REWARD_JUDGE_MODEL", "judge")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with JudgeServer(lambda prompt, before: Say('{"grade": 6}')) as server:
        monkeypatch.setenv("LMMS_EVAL_TASKS_REWARD_JUDGE_URL", server.url)
        judged = orms["judged_causal"](args=None)
        assert as_swift_calls(judged, shapes, columns) == [0.6] * len(shapes)
        given = [judged, *(orms[name](args=None) for name in ("causal", "verdict", "choice"))]
        one = {name: [value] for name, value in ROW.items()}
        for nothing in NO_ANSWERS:
            for reward in given:
                with pytest.raises(TypeError, match="Expected an answer as a text or as messages"):
                    as_swift_calls(reward, [nothing], one)
            with pytest.raises(TypeError, match="Expected an answer as a text or as messages"):
                score_answer(nothing, ROW, WEIGHTS)
        for reward in given:
            with pytest.raises(TypeError, match="Expected a list of answers, but got str"):
                as_swift_calls(reward, CLAIMS, one)  # type: ignore[arg-type]


def test_a_ground_truth_with_nothing_to_reward_by_ends_a_training() -> None:
    for nothing in ({}, "", {"question": QUESTION}, {"graphs": GRAPH}, "{}"):
        with pytest.raises(ValueError, match="Expected a ground truth with the columns"):
            score_answer(CLAIMS, nothing, WEIGHTS)
