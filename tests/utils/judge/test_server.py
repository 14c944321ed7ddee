"""What a judge is sent and what is read of its replies, and what each way of failing says about asking again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from judge_server import MODEL, Action, Drip, Drop, Fail, Hold, JudgeServer, Raw, Say, in_turn

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.prompt import Prompt
from lmms_eval_tasks.utils.judge.replies import Case, Reply
from lmms_eval_tasks.utils.judge.server import JudgeSettings, open_sender
from lmms_eval_tasks.utils.servers.errors import ServerError

CASE = Case("What is it?", Prompt("asked", "{case}"))


def settings(url: str, **values: Any) -> JudgeSettings:
    return JudgeSettings(**{"model": "asked", "provider": "local", "url": url, "timeout": 0.5, **values})


def sent(action: Action, **values: Any) -> Reply:
    with JudgeServer(in_turn([action])) as server:
        return open_sender(settings(server.url, **values))(CASE)


def message(**fields: Any) -> Raw:
    return Raw(json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", **fields}}]}))


def test_a_request_has_the_settings_and_the_pictures() -> None:
    with JudgeServer(in_turn([Say("a cat")])) as server:
        send = open_sender(settings(server.url, temperature=0.5, top_p=0.9, max_tokens=7, json_mode=True))
        assert send(Case("What is it?", CASE.prompt, (b"jpeg",))) == Reply("a cat", MODEL)
        (body,) = server.bodies
    content = body.pop("messages")[0]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert body == {
        "model": "asked", "temperature": 0.5, "top_p": 0.9, "max_tokens": 7,
        "response_format": {"type": "json_object"},
    }  # fmt: skip


def test_reasoning_models_are_asked_in_their_own_words() -> None:
    with JudgeServer(in_turn([Say("a cat")])) as server:
        open_sender(settings(server.url, model="o4-mini", max_tokens=7))(CASE)
    assert server.bodies[0]["max_completion_tokens"] == 7 and "temperature" not in server.bodies[0]


@pytest.mark.parametrize(
    ("action", "reason", "again"),
    [
        (Fail(500), "server error (500)", True),
        (Fail(429, {"Retry-After": "7"}), "too many requests (429)", True),
        (Fail(429, code="insufficient_quota"), "quota used up (429)", False),
        (Fail(400, message="too long"), "request refused (400)", False),
        (Fail(401, message="key sk-secret"), "key refused (401)", False),
        (Drop(), "no reply", True),
        (Hold(), "timed out", True),
        (Drip(), "timed out", True),
        (Raw("<html>"), "no reply", True),
        (Raw('{"choices": []}'), "reply without text", True),
    ],
)
def test_each_failure_says_whether_to_ask_again(action: Action, reason: str, again: bool) -> None:
    with pytest.raises(ServerError) as caught:
        sent(action)
    assert caught.value.reason.startswith(reason) and caught.value.again is again
    assert caught.value.wait == (7.0 if "7" in str(getattr(action, "headers", "")) else None)


def test_a_refusal_in_a_field_of_its_own_is_the_text() -> None:
    assert sent(message(content=None, refusal="I can't help.")).text == "I can't help."
    assert sent(message(content=None)).text == ""


def test_a_key_is_sent_where_the_provider_has_one_and_hidden_in_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "swordfish")
    assert sent(Say("your key is swordfish"), provider="openai").text == "your key is [hidden]"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="Expected OPENAI_API_KEY to be set"):
        open_sender(settings("http://x/v1", provider="openai"))
    with pytest.raises(InputError, match="but got transformers"):
        open_sender(settings("http://x/v1", provider="transformers"))
