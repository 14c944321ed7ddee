"""What lmms-eval's adapters return in place of an answer, and what becomes of its item."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.api.instance import GenerationResult, TokenCounts
from loguru import logger
from submission_world import prepare_world
from task_states import docs_of, task_state
from thread_ranks import ThreadRanks

from lmms_eval_tasks.host.asking.stages import AskedModel
from lmms_eval_tasks.host.asking.unanswered import FailedRequests, describe_silence
from lmms_eval_tasks.host.replacements import keep_prediction
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.answers.opening import NO_CONTENT, is_answer, why_no_answer
from lmms_eval_tasks.utils.scoring.record import Record, UnscoredReason

FAILED, BUDGET = UnscoredReason.FAILED, UnscoredReason.BUDGET


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[LMMS_EVAL_REQUEST_FAILED after 3 retries] Connection error.", (FAILED, "Connection error.")),
        ("[LMMS_EVAL_REQUEST_FAILED] ValueError: no frames", (FAILED, "ValueError: no frames")),
        ("[LMMS_EVAL_BUDGET_EXCEEDED]", (BUDGET, "")),
        ("[SAFETY_BLOCKED:finish_reason=2]", (FAILED, "[SAFETY_BLOCKED:finish_reason=2]")),
        ("[GENERATION_FAILED] timed out", (FAILED, "timed out")),
        ("[ERROR] Unknown", (FAILED, "Unknown")),
        (
            "Video /clips/1 a.mp4 can not load, check the source",
            (FAILED, "Video /clips/1 a.mp4 can not load, check the source"),
        ),
        ("[ERROR] on the board is seen in the clip, so B.", None),
        ("B. The answer is no [LMMS_EVAL_REQUEST_FAILED]", None),
        ("", None),
        (None, None),
    ],
)
def test_texts_in_place_of_an_answer_are_told_from_answers(text: object, why: Any) -> None:
    assert why_no_answer(text) == why


class Adapter:
    """Returns a text in place of what raises, as lmms-eval's adapters do."""

    def generate_until(self, requests: list[Any]) -> list[Any]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        if not isinstance(request, Exception):
            return request
        try:
            raise request
        except Exception as error:
            level, module = error.args[1:] or ("WARNING", "lmms_eval.models.simple.adapter")
            logger.patch(lambda record: record.update({"name": module})).log(level, f"Error in generating: {error}")
            return ""


def no_content() -> Any:
    """What `async_openai` returns for a reply whose content is null."""
    from lmms_eval.models.chat.async_openai import AsyncOpenAIChat

    async def create(**_: Any) -> Any:
        message = SimpleNamespace(content=None, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")], usage=None)

    asked = [{"role": "user", "content": [{"type": "text", "text": "Which?"}]}]
    model = SimpleNamespace(
        **dict.fromkeys(["max_pixels", "min_pixels", "fps", "nframes", "max_frames", "system_prompt", "mcp_client"]),
        client=SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create))),
        task_dict={"task": {"test": [None]}}, is_qwen3_vl=False, model_version="model",
    )  # fmt: skip
    request = SimpleNamespace(args=("Which?", lambda _: asked, {}, 0, "task", "test"))
    return asyncio.run(AsyncOpenAIChat.maybe_forward_with_tool(model, request, 0))[0]


def test_a_reply_without_content_is_empty() -> None:
    assert no_content() == NO_CONTENT and not is_answer(NO_CONTENT)


@pytest.mark.parametrize(
    ("asked", "returned"),
    [
        (["A", RuntimeError("shapes\ndiffer")], ["A", "[LMMS_EVAL_REQUEST_FAILED] RuntimeError: shapes differ"]),
        (["A", ""], ["A", ""]),
        ([None, NO_CONTENT], ["", ""]),
        ([RuntimeError("tried again", "INFO", "lmms_eval.models.chat.adapter")], [""]),
        ([RuntimeError("of a library", "ERROR", "lmms_eval.utils")], [""]),
        ([GenerationResult("", TokenCounts(output_tokens=7)), ValueError("x")],
         [GenerationResult("", TokenCounts(output_tokens=7)), "[LMMS_EVAL_REQUEST_FAILED] ValueError: x"]),
    ],
)  # fmt: skip
def test_an_empty_text_for_an_exception_says_so(asked: list[Any], returned: list[Any]) -> None:
    model = Adapter()
    with AskedModel(model, FailedRequests(model)).lasting():
        assert model.generate_until([ValueError("of an earlier part")]) != [""]
        assert model.generate_until(asked) == returned
    assert model.generate_until([ValueError("x")]) == [""] and not vars(model)


def test_an_item_without_an_answer_is_unscored_and_says_why(home: Path, tmp_path: Path) -> None:
    prepare_world(tmp_path / "releases")
    state = task_state("causalvqa_debug_paired")
    first, second = docs_of(state)

    def grade(doc: Any, text: str) -> Record:
        return Record.from_json(json.loads(json.dumps(state.process_results(doc, [text])["record"])))

    def refuse(row: Any, answer: object, _: Any) -> Any:
        raise ValueError(f"graded: {answer}")

    failed, spent = (
        grade(first, "[LMMS_EVAL_REQUEST_FAILED after 3 retries] busy (B)"),
        grade(second, "[LMMS_EVAL_BUDGET_EXCEEDED]"),
    )
    assert (failed.why, spent.why, failed.answered) == ("failed: busy (B)", "budget spent", None)
    scores = state.process_results(first, ["[LMMS_EVAL_BUDGET_EXCEEDED]"])
    assert scores["unscored_rate"] == 100 and scores["unparsed_rate"] is None
    assert describe_silence(state.evaluation) == (
        "Nothing was answered, so no result was saved: 2 items have no answer: failed: busy (B) (1); budget spent (1). "
        "The same command asks again."
    )
    state.evaluation.unanswered.clear()
    for text in ("", NO_CONTENT):
        assert grade(first, text).outcome.value == "unparsed", "a model may say nothing"
        with pytest.raises(ValueError, match=r"^graded: $"):
            state.grade_first(first, [text], refuse)
    assert state.evaluation.is_heard


@pytest.mark.parametrize("is_heard", [False, True])
def test_one_rank_with_an_answer_is_enough(is_heard: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = ThreadRanks(2, monkeypatch)
    both = {("one", "item-0"): (FAILED, "busy"), ("one", "item-1"): (BUDGET, "")}
    said = ranks.run(lambda rank: describe_silence(Evaluation(unanswered=both, is_heard=is_heard and rank == 1)))
    text = "Nothing was answered, so no result was saved: 2 items have no answer: failed: busy (1); budget spent (1)."
    assert said == [None if is_heard else f"{text} The same command asks again."] * 2


def test_only_kept_answers_say_what_is_none(home: Path, tmp_path: Path) -> None:
    prepare_world(tmp_path / "releases")
    state = task_state("causalvqa_debug_paired")
    doc = docs_of(state)[0]
    request = SimpleNamespace(resps=["[LMMS_EVAL_REQUEST_FAILED] busy"])
    state.requests = SimpleNamespace(returned=lambda _: request.resps[0], is_cut_off=lambda *_: False)  # type: ignore[assignment]
    assert keep_prediction(state, state.process_results, doc, ["filtered"])["record"]["unscored_reason"] == "failed"
    request.resps[0] = "B"
    state.evaluation.unanswered.clear()
    assert keep_prediction(state, state.process_results, doc, ["B"])["record"]["unscored_reason"] == "only predicted"


def test_the_response_cache_neither_keeps_nor_gives_a_failure() -> None:
    kept = {
        "a": "B",
        "b": GenerationResult("[LMMS_EVAL_REQUEST_FAILED after 1 retries] x"),
        "c": "[LMMS_EVAL_BUDGET_EXCEEDED]",
        "d": NO_CONTENT,
    }
    cache = SimpleNamespace(_lookup=kept.get, _is_valid_response=lambda response, kind: bool(response))
    with AskedModel(Adapter()).lasting(cache):
        assert [cache._lookup(key) for key in "abcd"] == ["B", *[None] * 3]
        assert [cache._is_valid_response(one, "generate_until") for one in ("", *kept.values())] == [
            False, True, False, False, False,
        ]  # fmt: skip
    assert cache._lookup("c") == kept["c"]
