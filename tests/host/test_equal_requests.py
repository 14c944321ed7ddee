"""Requests that are equal to the letter: asked once, wherever they are asked, and answered alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asking
import pytest
from lmms_eval.api.instance import Instance
from task_states import new_state
from thread_ranks import ThreadRanks

from lmms_eval_tasks.host.asking import equal_requests
from lmms_eval_tasks.host.asking.equal_requests import EqualRequests
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers
from lmms_eval_tasks.host.asking.servers import ServerReplies
from lmms_eval_tasks.host.model import identity
from lmms_eval_tasks.host.model.identity import ModelFacts
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.answers.hooks import doc_to_visual, hook

SAMPLED: dict[str, Any] = {"temperature": 0.7, "do_sample": True}
FAILED = "[LMMS_EVAL_REQUEST_FAILED after 3 retries] no"
ROWS = [{"item_id": f"item-{number}", "clip": ""} for number in range(6)]
PROMPTS = ["What?", "What?", "Why?", "What?", "Who?", "Why?"]


class Model:
    """Says the prompt and the number of the answer; notes the documents that it was asked about."""

    def __init__(self, say: str = "", **more: Any) -> None:
        self.task_dict = {task: {"test": ROWS} for task in ("ours", "theirs")}
        self.asked: list[int] = []
        self.say = say
        vars(self).update({identity.ARGUMENTS: "pretrained=tiny"}, **more)

    def generate_until(self, requests: list[Instance]) -> list[str]:
        self.asked += [request.args[-3] for request in requests]
        return [self.say or f"{request.args[0]} {request.args[-3]}" for request in requests]


def requests(documents: Any = range(6), **how: Any) -> list[Instance]:
    return [asking.request(number, prompt=PROMPTS[number], **how) for number in documents]


def run(model: Model, asked: list[Instance], task: Any = None, evaluation: Evaluation | None = None) -> list[str]:
    evaluation = evaluation or Evaluation(tasks={"ours": task or asking.stand_in_task()})
    return asking.ask(model, asked, EqualRequests(model, evaluation))


def test_equal_requests_are_asked_once_and_the_card_says_how_many_share_an_answer() -> None:
    model, evaluation = Model(), Evaluation(tasks={"ours": asking.stand_in_task()})
    said = ["What? 0", "What? 0", "Why? 2", "What? 0", "Who? 4", "Why? 2"]
    assert asking.ask(model, requests(), stage := EqualRequests(model, evaluation)) == said
    assert model.asked == [0, 2, 4] and stage.facts() == {"shared": {"ours": 3}}
    failing = Model(FAILED)
    assert run(failing, requests([0, 1])) == [FAILED] * 2 and failing.asked == [0]


def test_a_model_that_returns_too_few_answers_costs_those_that_it_lacks() -> None:
    class Short(Model):
        def generate_until(self, requests: list[Instance]) -> list[str]:
            return super().generate_until(requests)[:-1]

    assert run(Short(), requests()) == ["What? 0", "What? 0", "Why? 2", "What? 0", "", "Why? 2"]


def test_what_differs_in_anything_or_is_drawn_is_asked_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(made: list[Instance], model: Model | None = None, **task: Any) -> list[int]:
        state, model = asking.stand_in_task(), model or Model()
        vars(state).update(task)
        run(model, made, state)
        return model.asked

    assert asked(requests([0, 1])) == [0]
    assert asked(requests([0, 1], generation=SAMPLED)) == [0, 1]
    assert asked([*requests([0]), *requests([1], generation={**asking.GREEDY, "max_new_tokens": 8})]) == [0, 1]
    assert asked(requests([0, 1], task="theirs")) == [0, 1]
    assert asked(requests([0, 1]), asks_alike=False) == [0, 1], "somebody's own hook shows it"
    assert asked(requests([0, 1]), Model(draws=True)) == [0, 1]
    assert asked([one for one in requests([0, 1], repeats=2) for _ in range(2)]) == [0, 0], "samples are asked for"
    monkeypatch.setitem(ROWS[1], "clip", "another.mp4")
    assert asked(requests([0, 1])) == [0, 1]
    replay = Model()
    run(replay, requests([2, 5]), evaluation=Evaluation(clips_needed=False, tasks={"ours": asking.stand_in_task()}))
    assert replay.asked == [2, 5], "a replay answers by the item"


def test_ranks_ask_equal_requests_once_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = ThreadRanks(2, monkeypatch, equal_requests)
    models = [Model(), Model()]
    got = ranks.run(lambda rank: run(models[rank], requests(range(rank, 6, 2))))
    assert got == [["What? 0", "Why? 2", "Who? 4"], ["What? 0", "What? 0", "Why? 2"]]
    assert [model.asked for model in models] == [[0, 2, 4], []]


def test_an_answer_that_was_kept_is_that_to_an_equal_request(tmp_path: Path) -> None:
    def asked(made: list[Instance]) -> tuple[list[str], list[int]]:
        model, evaluation = Model(), Evaluation(tasks={"ours": asking.stand_in_task()})
        kept = KeptAnswers(ModelFacts(model), evaluation, asking.command(tmp_path, seed=1), ServerReplies(model))
        return asking.ask(model, made, EqualRequests(model, evaluation), kept), model.asked

    assert asked(requests([0])) == (["What? 0"], [0])
    assert asked(requests([1, 3])) == (["What? 0"] * 2, []), "of another item of an earlier run"
    assert [asked(requests([item], generation=SAMPLED))[1] for item in (1, 3, 3)] == [[1], [3], []], "its own draw"


def test_only_what_our_hook_shows_is_known_to_be_alike() -> None:
    state = new_state("mvp_mini_temporal_reasoning")
    config: dict[str, Any] = dict.fromkeys(("process_docs", "doc_to_text", "doc_to_target", "process_results"))
    own: Any = hook(lambda task, doc: [])
    for shows, messages, alike in ((doc_to_visual, None, True), (own, None, False), (doc_to_visual, len, False)):
        state.bind({**config, "doc_to_visual": shows, "doc_to_messages": messages, "metric_list": []})
        assert state.asks_alike is alike
