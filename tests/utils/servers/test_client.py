"""The client of all servers: where a key goes and where it does not, proxies, certificates, and bounds."""

from __future__ import annotations

import gzip
import json
import shutil
import ssl
import subprocess
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from judge_server import Action, Drop, Fail, Give, JudgeServer, Raw, Say, in_turn, nobody

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.servers import client as client_module
from lmms_eval_tasks.utils.servers.address import header_value, parse_address
from lmms_eval_tasks.utils.servers.client import ServerClient
from lmms_eval_tasks.utils.servers.errors import ServerError

KEY = "plain-key-0123"
ASKED = {"messages": [{"role": "user", "content": "What?"}]}
SAID = Raw('{"said": 1}')
VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def connect(address: str, headers: Mapping[str, str] | None = None, timeout: float = 30.0) -> ServerClient:
    server = parse_address(address, "url")
    return ServerClient(server, server.endpoint("/chat/completions"), headers or {}, timeout, 4)


def failed(client: ServerClient) -> ServerError:
    with pytest.raises(ServerError) as caught:
        client.post(ASKED)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    with JudgeServer(in_turn([SAID])) as other:
        moved = Fail(status, {"Location": other.url.replace("127.0.0.1", "localhost")})
        with JudgeServer(in_turn([moved])) as server:
            error = failed(connect(server.url, {"Authorization": f"Bearer {KEY}"}))
        assert not other.heads and not error.again
        assert error.reason == f"sent elsewhere ({status}), which is not followed: name the server's own address"


def test_user_password_and_query_of_an_address_are_sent() -> None:
    with JudgeServer(in_turn([SAID])) as server:
        address = server.url.replace("//", "//me:p%40ss%2Fword@")
        connect(f"{address}/?api-version=7&key={KEY}", {"Authorization": "Bearer other"}).post(ASKED)
        ((path, headers),) = server.heads
    assert path == f"/v1/chat/completions?api-version=7&key={KEY}"
    # base64 of me:p@ss/word
    assert headers["Authorization"] == "Basic bWU6cEBzcy93b3Jk"


def test_what_a_server_repeats_of_what_was_sent_is_hidden() -> None:
    with JudgeServer(in_turn([Fail(400, message=f"no {KEY}, geheimnis, bWU6Z2VoZWltbmlz or in-the-query")])) as server:
        address = f"{server.url.replace('//', '//me:geheimnis@')}?token=in-the-query"
        client = connect(address, {"x": KEY})
        reason = failed(client).reason
    assert "no [hidden], [hidden], [hidden] or [hidden]" in reason
    assert client.hide(f"Bearer {KEY} me:geheimnis") == "Bearer [hidden] [hidden]"


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("localhost:8000/v1", "no scheme"),
        ("127.0.0.1:8000", "no scheme"),
        ("ftp://secret1@host/v1", "ftp://"),
        ("file:///etc/passwd", "file://"),
        ("http:///v1", "no host"),
        ("http://me:secret1@host:99999/v1", "another host or port"),
        ("http://me:secret1@host:0/v1", "port 0"),
        ("http://me:sec/ret1@host/v1", "another host or port"),
        ("http://me:12/secret1@host/v1", "an @ behind the host"),
        ("http://me:sec ret1@host/v1", "white space"),
        ("http://me:sec\nret1@host/v1", "white space"),
        ("http://[::1/v1", "another host or port"),
    ],
)
def test_an_address_that_is_none_is_refused_without_being_shown(text: str, got: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_address(text, "OPENAI_API_URL")
    message = str(caught.value)
    assert message.startswith("Expected OPENAI_API_URL to be an address such as http://localhost:8000/v1, but got ")
    assert got in message and "ret1" not in message and "secret" not in message
    assert caught.value.__cause__ is None and (caught.value.__context__ is None or caught.value.__suppress_context__)


@pytest.mark.parametrize("key", ["plain-key\n0123", "plain-key-0123\x00", "plain-kéy", "plain-key\r\nHost: other"])
def test_a_key_that_no_header_can_have_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(InputError, match="Expected OPENAI_API_KEY to hold one key") as caught:
        header_value(key, "OPENAI_API_KEY")
    assert "plain" not in str(caught.value)
    assert header_value("plain-key-0123\n", "OPENAI_API_KEY") == "plain-key-0123"


@pytest.mark.parametrize(
    ("action", "again"), [(Drop(), True), (Raw("{"), True), (Fail(503), True), (Fail(403), False), (Fail(407), False)]
)
def test_what_a_server_does_decides_what_is_tried_again(action: Action, again: bool) -> None:
    with JudgeServer(in_turn([action])) as server:
        assert failed(connect(server.url)).again is again


def test_a_port_where_nobody_was_is_not_tried_again_and_one_where_somebody_was_is() -> None:
    with nobody() as url:
        error = failed(connect(url))
    assert error.reason.startswith("no reply (NewConnectionError") and not error.again
    with JudgeServer(in_turn([Fail(500)])) as server:
        client = connect(server.url)
        failed(client)
    assert failed(client).again
    assert not failed(connect("http://nobody.invalid/v1")).again


# Proxies


@pytest.fixture
def proxy() -> Iterator[JudgeServer]:
    with JudgeServer(in_turn([SAID])) as server:
        yield server


def place(server: JudgeServer) -> str:
    return server.url.removesuffix("/v1").removeprefix("http://")


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_proxy_is_used_as_curl_does(
    name: str, scheme: str, proxy: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, f"{scheme}us%40er:geheimnis@{place(proxy)}")
    assert connect("http://models.example/v1?a=1").post(ASKED) == {"said": 1}
    ((path, headers),) = proxy.heads
    assert path == "http://models.example/v1/chat/completions?a=1"
    assert headers["Proxy-Authorization"] == "Basic dXNAZXI6Z2VoZWltbmlz"
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("exempt", "host", "reached"),
    [
        ("", "127.0.0.1", False),
        ("*", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("10.0.0.0/8,127.0.0.0/8", "127.0.0.1", True),
        ("10.0.0.0/8", "127.0.0.1", False),
        ("localhost", "127.0.0.1", False),
        ("other localhost", "localhost", True),
        ("ocalhost", "localhost", False),
        (".localhost", "localhost", True),
        ("LOCALHOST:{port}", "localhost", True),
        ("localhost:1", "localhost", False),
    ],
)
def test_no_proxy_names_what_is_reached_without_one(
    exempt: str, host: str, reached: bool, proxy: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", place(proxy))
    with JudgeServer(in_turn([Raw('{"said": 2}')])) as server:
        monkeypatch.setenv("NO_PROXY", exempt.format(port=server.url.partition(":")[2].partition(":")[2][:-3]))
        said = connect(server.url.replace("127.0.0.1", host)).post(ASKED)
    assert said == {"said": 2 if reached else 1}


def test_what_a_proxy_refuses_is_said_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with JudgeServer(in_turn([Fail(407)])) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        error = failed(connect("http://models.example/v1"))
    assert error.reason.startswith("proxy refused (407): its address has no user and password") and not error.again


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("socks5://me:geheimnis@127.0.0.1:1", "Expected HTTPS_PROXY to name a proxy of HTTP, but got one of SOCKS"),
        ("socks5h://127.0.0.1:1", "add models.example to NO_PROXY"),
        ("ftp://127.0.0.1:1", "Expected HTTPS_PROXY to be an address such as http://localhost:8000/v1, but got ftp://"),
        ("http://me:geheimnis@127.0.0.1:99999", "but got another host or port"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_said_before_the_first_request(
    value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(InputError) as caught:
        connect("https://models.example/v1")
    assert message in str(caught.value) and "geheimnis" not in str(caught.value)


# Certificates


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 that nobody else signed, with its key in the same file."""
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificate, and is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    extensions = "-addext keyUsage=critical,digitalSignature,keyCertSign -addext basicConstraints=critical,CA:TRUE"
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "own.pem")]
    subprocess.run(["openssl", *words.split(), *extensions.split(), *files], check=True, capture_output=True)
    return folder / "own.pem"


@pytest.fixture
def secure(certificate: Path) -> Iterator[JudgeServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    with JudgeServer(in_turn([SAID]), context=context) as server:
        yield server


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_each_variable_of_certificates_is_followed(
    name: str, secure: JudgeServer, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = failed(connect(secure.url))
    assert error.reason.startswith("certificate refused (") and "in SSL_CERT_FILE" in error.reason and not error.again
    place = certificate
    if name == "SSL_CERT_DIR":
        (tmp_path / "trusted").mkdir()
        words = ["openssl", "x509", "-hash", "-noout", "-in", str(certificate)]
        digest = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
        place = tmp_path / "trusted"
        shutil.copy(certificate, place / f"{digest}.0")
    monkeypatch.setenv(name, str(place))
    assert connect(secure.url).post(ASKED) == {"said": 1}


def test_a_variable_that_names_no_certificates_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, str(tmp_path / "absent.pem"))
            with pytest.raises(InputError, match=f"Expected {name} to name a file or folder .* there is no "):
                connect("https://models.example/v1")
            patch.setenv(name, str(tmp_path / "empty.pem"))
            with pytest.raises(InputError, match=f"Expected {name} to name a file of certificates, but .* holds none"):
                connect("https://models.example/v1")
            connect("http://models.example/v1")


def test_an_encrypted_request_to_a_plain_port_is_not_tried_again() -> None:
    with JudgeServer(in_turn([SAID])) as server:
        error = failed(connect(server.url.replace("http:", "https:")))
    assert error.reason.startswith("no reply (SSLError") and not error.again


# Bounds


def long_reply(size: int) -> bytes:
    return json.dumps({"said": "x" * size}).encode()


@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_is_taken_up_to_a_bound_unpacked_or_not(packed: bool) -> None:
    def give(size: int) -> Give:
        body = long_reply(size)
        headers = {"Content-Encoding": "gzip"} if packed else {}
        return Give(gzip.compress(body) if packed else body, headers)

    with JudgeServer(in_turn([give(1 << 20)])) as server:
        assert len(connect(server.url).post(ASKED)["said"]) == 1 << 20
    with JudgeServer(in_turn([give(64 << 20)])) as server:
        client = connect(server.url)
        tracemalloc.start()
        try:
            error = failed(client)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert error.reason == "a reply of more than 16 MB" and not error.again
    # The server's own copy of what it still sends is small: it hands on what was made before.
    assert most < 3 * client_module.LARGEST


def test_the_text_of_an_error_is_bounded_too() -> None:
    with JudgeServer(in_turn([Give(b"x" * (64 << 20), {}, 500)])) as server:
        start = time.monotonic()
        assert failed(connect(server.url)).reason == "server error (500)"
        assert time.monotonic() - start < 20


def test_a_connection_is_used_again_after_an_error() -> None:
    with JudgeServer(in_turn([Fail(500), SAID, SAID]), protocol="HTTP/1.1") as server:
        client = connect(server.url)
        failed(client)
        client.post(ASKED)
        client.post(ASKED)
        assert server.connections == 1


def test_a_reply_may_be_of_any_json() -> None:
    with JudgeServer(in_turn([Say("a cat")])) as server:
        assert connect(server.url).post(ASKED)["choices"][0]["message"]["content"] == "a cat"
