"""Requests by our own sender: what is sent, and what each way of failing says about asking again."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from judge_server import MODEL, Action, Drip, Drop, Fail, Hold, JudgeServer, Raw, Say, in_turn, nobody

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.judge.cache import Reply
from lmms_eval_tasks.utils.judge.client import Case, ServerError
from lmms_eval_tasks.utils.judge.server import open_sender
from lmms_eval_tasks.utils.judge.settings import JudgeSettings
from lmms_eval_tasks.utils.prompting.prompts import Prompt

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


def test_no_server_at_the_address_may_be_there_later() -> None:
    with nobody() as url, pytest.raises(ServerError) as caught:
        open_sender(settings(url))(CASE)
    assert caught.value.again


def test_a_refusal_in_a_field_of_its_own_is_the_text() -> None:
    assert sent(message(content=None, refusal="I can't help.")).text == "I can't help."
    assert sent(message(content=None)).text == ""


def test_a_key_is_sent_where_the_provider_has_one_and_hidden_in_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "swordfish")
    assert sent(Say("your key is swordfish"), provider="openai").text == "your key is [hidden]"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="Expected OPENAI_API_KEY to be set"):
        open_sender(settings("http://x/v1", provider="openai"))
    with pytest.raises(InputError, match="but got azure"):
        open_sender(settings("http://x/v1", provider="azure"))


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with JudgeServer(in_turn([Say("through a proxy")])) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "")
        assert open_sender(settings("http://models.example/v1"))(CASE).text == "through a proxy"


def test_a_compressed_reply_is_read(tmp_path: Path) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.compress(message(content="small").body.encode())
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert open_sender(settings(f"http://127.0.0.1:{server.server_port}/v1"))(CASE).text == "small"
