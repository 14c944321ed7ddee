"""The client of servers: what is sent where, what is read of replies, what each failure says, and bounds."""

from __future__ import annotations

import gzip
import json
import logging
import shutil
import socket
import ssl
import subprocess
import threading
import tracemalloc
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from judge_server import MODEL, Action, Drip, Drop, Fail, Give, Hold, JudgeServer, Say, in_turn, nobody
from stub_server import completion

from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.judge import server as server_module
from lmms_eval_tasks.utils.judge.replies import Case, JudgeReply, JudgeSettings, Send, ServerError
from lmms_eval_tasks.utils.judge.server import open_sender, parse_address, retry_after

CASE = Case("What is it?", Prompt("asked", "{case}"))
KEY = "plain-key-0123"
VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def connect(url: str, **values: Any) -> Send:
    chosen = {"model": "asked", "provider": "local", "url": url, "timeout": 30.0, **values}
    return open_sender(JudgeSettings(**chosen))


def sent(action: Action, **values: Any) -> JudgeReply:
    with JudgeServer(in_turn([action])) as server:
        return connect(server.url, **values)(CASE)


def failed(send: Send) -> ServerError:
    with pytest.raises(ServerError) as caught:
        send(CASE)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    return caught.value


# What is sent, and what is read of a reply


@pytest.mark.slow
def test_a_request_has_the_settings_and_the_pictures_and_a_reply_its_text() -> None:
    with JudgeServer(in_turn([Say("a cat")])) as server:
        send = connect(server.url, temperature=0.5, top_p=0.9, max_tokens=7, json_mode=True)
        assert send(Case("What is it?", CASE.prompt, (b"jpeg",))) == JudgeReply("a cat", MODEL)
        connect(server.url, model="o4-mini", max_tokens=7)(CASE)
        body, reasoning = server.bodies
    content = body.pop("messages")[0]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert body == {
        "model": "asked", "temperature": 0.5, "top_p": 0.9, "max_tokens": 7,
        "response_format": {"type": "json_object"},
    }  # fmt: skip
    assert reasoning["max_completion_tokens"] == 7 and "temperature" not in reasoning
    for fields, text in (({"refusal": "I can't help."}, "I can't help."), ({}, "")):
        message = {"role": "assistant", "content": None, **fields}
        assert sent(Give(json.dumps({"model": "m", "choices": [{"message": message}]}))).text == text
    assert sent(Give(completion("a cat", MODEL).encode(), {"Content-Type": "text/plain"})) == JudgeReply("a cat", MODEL)


def test_a_key_is_sent_where_the_provider_has_one_and_hidden_in_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider, message in (
        ("openai", "Expected OPENAI_API_KEY to be set"),
        ("transformers", "but got transformers"),
    ):
        with pytest.raises(InputError, match=message):
            connect("http://x/v1", provider=provider)
    # What the environment has for OpenAI goes nowhere else.
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}")
    monkeypatch.setenv("OPENAI_ORG_ID", "our-organization")
    with JudgeServer(in_turn([Say("a cat"), Say(f"your key is {KEY}")])) as server:
        connect(server.url, provider="local")(CASE)
        assert connect(server.url, provider="openai")(CASE).text == "your key is [hidden]"
    (local, openai) = (str(headers) for _, headers in server.heads)
    assert KEY not in local and "our-organization" not in local
    assert f"Bearer {KEY}" in openai and "our-organization" in openai


def test_user_password_and_query_of_an_address_are_sent_and_neither_logged_nor_repeated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    caplog.set_level(logging.DEBUG)
    repeated = f"no another-key, p@ss/word, bWU6cEBzcy93b3Jk or {KEY}"  # base64 of me:p@ss/word
    with JudgeServer(in_turn([Fail(400, message=repeated), Say(repeated)])) as server:
        address = server.url.replace("//", "//me:p%40ss%2Fword@")
        send = connect(f"{address}/?version=7&version=8&key={KEY}", provider="openai")
        assert "no [hidden], [hidden], [hidden] or [hidden]" in failed(send).reason
        assert send(CASE).text == "no [hidden], [hidden], [hidden] or [hidden]"
        (path, headers), _ = server.heads
    assert path == f"/v1/chat/completions?version=7&version=8&key={KEY}"
    assert headers["Authorization"] == "Basic bWU6cEBzcy93b3Jk"
    assert KEY not in caplog.text and "word" not in caplog.text


ADDRESSES = (
    "localhost:8000/v1", "127.0.0.1:8000", "ftp://secret1@host/v1", "file:///etc/passwd", "http:///v1",
    "http://me:secret1@host:99999/v1", "http://me:secret1@host:0/v1", "http://me:sec/ret1@host/v1",
    "http://me:12/secret1@host/v1", "http://me:sec ret1@host/v1", "http://me:sec\nret1@host/v1", "http://[::1/v1",
)  # fmt: skip


def test_an_address_or_key_that_is_none_is_refused_without_being_shown(
    expected: Expected, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = []
    for text in ADDRESSES:
        with pytest.raises(InputError) as caught:
            parse_address(text, "OPENAI_API_URL")
        messages.append(str(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None or caught.value.__suppress_context__
    text = "\n".join(messages)
    assert "ret1" not in text and "secret" not in text
    expected(text)
    for key in ("plain-key\n0123", "plain-kéy", "plain-key\r\nHost: other"):  # no header can have them
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(InputError, match="Expected OPENAI_API_KEY to hold one key") as caught:
            connect("http://x/v1", provider="openai")
        assert "plain" not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    with JudgeServer(in_turn([Say("a cat")])) as server:
        connect(server.url, provider="openai")(CASE)
    assert server.heads[0][1]["Authorization"] == f"Bearer {KEY}"


# Failures


@pytest.mark.slow
def test_no_redirect_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with JudgeServer(in_turn([Say("a cat")])) as other:
        for status in (301, 302, 303, 307, 308):
            moved = Fail(status, {"Location": other.url.replace("127.0.0.1", "localhost")})
            with JudgeServer(in_turn([moved])) as server:
                error = failed(connect(server.url, provider="openai"))
            assert not other.heads and not error.again
            assert error.reason == f"sent elsewhere ({status}), which is not followed: name the server's own address"


FAILURES = (
    Fail(500), Fail(503), Fail(429, {"Retry-After": "7"}), Fail(429, {"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}),
    Fail(429, code="insufficient_quota"), Fail(400, message="too long"), Fail(401, message="key sk-secret"), Fail(403),
    Fail(407), Drop(), Hold(), Drip(), Give("<html>"), Give(b"<html>", {"Content-Type": "text/html"}),
    Give(b"no gzip", {"Content-Encoding": "gzip"}), Give("[" * 100_000), Give("{}"), Give("[]"), Give('"text"'),
    Give('{"choices": []}'), Give('{"choices": {"message": 7}}'), Give('{"choices": [{"message": "text"}]}'),
)  # fmt: skip


@pytest.mark.slow
def test_each_failure_says_whether_to_ask_again(expected: Expected) -> None:
    reasons = []
    for action in FAILURES:
        with pytest.raises(ServerError) as caught:
            sent(action, timeout=0.5 if isinstance(action, Hold | Drip) else 30.0)
        fault = caught.value
        wait = "" if fault.wait is None else f", wait {'till 2100' if fault.wait > 1e9 else fault.wait}"
        reasons.append(f"{fault.reason.split(':')[0]}, {'ask again' if fault.again else 'lasting'}{wait}")
    expected("\n".join(reasons))


@pytest.mark.slow
@examples(max_examples=50)
@given(st.text(st.characters()) | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]?\w+"))
def test_a_wait_is_read_in_seconds_or_as_a_date_and_any_other_header_is_none(text: str) -> None:
    wait = retry_after(text)
    assert wait is None or wait >= 0
    assert (retry_after("2.5"), retry_after("-3")) == (2.5, 0.0)
    assert (retry_after(formatdate(4_102_444_800, usegmt=True)) or 0) > 1e9
    assert [retry_after(silent) for silent in ("", "soon", "inf", "nan")] == [None] * 4


def test_a_port_where_nobody_was_is_not_tried_again_and_one_where_somebody_was_is() -> None:
    with nobody() as url:
        error = failed(connect(url))
    assert error.reason == "no reply (ConnectError: [Errno 111] Connection refused)" and not error.again
    with JudgeServer(in_turn([Fail(500)])) as server:
        send = connect(server.url)
        failed(send)
        error = failed(connect(server.url.replace("http:", "https:")))
        assert error.reason.startswith("no reply (") and "SSL" in error.reason and not error.again
    assert failed(send).again
    assert not failed(connect("http://nobody.invalid/v1")).again


# Proxies


@pytest.mark.slow
def test_a_proxy_gets_its_own_login_and_no_proxy_names_what_is_reached_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with JudgeServer(in_turn([Say("by proxy")])) as proxy, JudgeServer(in_turn([Say("directly")])) as server:
        place = proxy.url.removesuffix("/v1").removeprefix("http://")
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            with monkeypatch.context() as patch:
                patch.setenv(name, f"{'http://' if name.islower() else ''}us%40er:geheimnis@{place}")
                assert connect("http://models.example/v1?a=1")(CASE).text == "by proxy"
            path, headers = proxy.heads[-1]
            assert path == "http://models.example/v1/chat/completions?a=1"
            assert headers["Proxy-Authorization"] == "Basic dXNAZXI6Z2VoZWltbmlz" and "Authorization" not in headers
        monkeypatch.setenv("HTTP_PROXY", place)
        for exempt, host, said in (
            ("", "127.0.0.1", "by proxy"), ("*", "127.0.0.1", "directly"), ("127.0.0.1", "127.0.0.1", "directly"),
            ("localhost", "127.0.0.1", "by proxy"), ("other, localhost", "localhost", "directly"),
            ("ocalhost", "localhost", "by proxy"),
        ):  # fmt: skip
            monkeypatch.setenv("NO_PROXY", exempt)
            assert connect(server.url.replace("127.0.0.1", host))(CASE).text == said, exempt
    # One that cannot be used is named before the first request.
    for value in ("ftp://me:geheimnis@127.0.0.1:1", "http://me:geheim/nis@127.0.0.1"):
        monkeypatch.setenv("HTTPS_PROXY", value)
        with pytest.raises(InputError, match="Expected HTTP_PROXY, HTTPS_PROXY and ALL_PROXY to be addr") as caught:
            connect("https://models.example/v1")
        assert "geheim" not in str(caught.value)


# Certificates


def test_a_proxy_of_socks_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def serve() -> None:
            with proxy.accept()[0] as connection:
                connection.recv(100)
                connection.sendall(b"\5\0")
                asked.append(connection.recv(100))
                connection.sendall(b"\5\0\0\1\0\0\0\0\0\0")
                connection.recv(1 << 16)
                body = completion("by SOCKS", MODEL).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

        threading.Thread(target=serve, daemon=True).start()
        monkeypatch.setenv("ALL_PROXY", f"socks5h://127.0.0.1:{proxy.getsockname()[1]}")
        assert connect("http://models.example/v1")(CASE).text == "by SOCKS"
    assert b"models.example" in asked[0]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate, and is not installed")
def test_the_variable_of_certificates_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A certificate of 127.0.0.1 that nobody else signed.
    key, own = tmp_path / "key.pem", tmp_path / "own.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    extensions = "-addext keyUsage=critical,digitalSignature,keyCertSign -addext basicConstraints=critical,CA:TRUE"
    command = ["openssl", *words.split(), *extensions.split(), "-keyout", str(key), "-out", str(own)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, key)
    with JudgeServer(in_turn([Say("a cat")]), context=context) as secure:
        error = failed(connect(secure.url))
        assert error.reason.startswith("certificate refused (") and "in SSL_CERT_FILE" in error.reason
        assert not error.again
        monkeypatch.setenv("SSL_CERT_FILE", str(own))
        assert connect(secure.url)(CASE).text == "a cat"
    (tmp_path / "empty.pem").write_text("nothing")
    for name in ("absent.pem", "empty.pem"):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
        with pytest.raises(InputError, match=f"Expected SSL_CERT_FILE to name a file of certificates, but .*{name}"):
            connect("https://models.example/v1")


# Bounds


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_is_taken_up_to_a_bound_unpacked_or_not(packed: bool) -> None:
    def give(size: int) -> Give:
        body = completion("x" * size, MODEL).encode()
        return Give(gzip.compress(body), {"Content-Encoding": "gzip"}) if packed else Give(body)

    assert len(sent(give(1 << 20)).text) == 1 << 20
    with JudgeServer(in_turn([give(40 << 20), Give(b"x" * (64 << 20), {}, 500)])) as server:
        send = connect(server.url)
        tracemalloc.start()
        error, other = failed(send), failed(send)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert error.reason == "a reply of more than 16 MB" and not error.again
    assert other.reason == "server error (500)"
    # The server's own copy of what it still sends is small: it sends what was made before.
    assert most < 3 * server_module.LARGEST
