"""A judge on loopback that speaks OpenAI's protocol and does, request by request, what a test scripts."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any

from stub_server import Server, completion, read_request

MODEL = "judge-on-loopback-2026"


@dataclass(frozen=True)
class Say:
    """Reply with a text."""

    text: str
    delay: float = 0.0


@dataclass(frozen=True)
class Fail:
    """Reply with an error status."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    message: str = "scripted"


@dataclass(frozen=True)
class Give:
    """Reply with a body that need not be OpenAI's protocol."""

    body: str | bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


class Drip:
    """Send white space, a byte every tenth of a second, until the server stops."""


class Drop:
    """Close the connection without a reply."""


class Hold:
    """Keep the connection open, without a reply, until the server stops."""


Action = Say | Fail | Give | Drip | Drop | Hold
Script = Callable[[str, int], Action]
"""What to do about a prompt, given how many times the same prompt was asked before."""


def in_turn(actions: Iterable[Action]) -> Script:
    """One action per request of a prompt, the last one for all further ones."""
    listed = list(actions)
    return lambda prompt, before: listed[min(before, len(listed) - 1)]


class JudgeServer:
    """The server; `script` may be changed while it runs.

    Attributes:
        bodies: Every request's body, in the order of arrival.
        heads: Their paths and headers.
        asked: Requests by prompt.
        paid: Replies with a text that were wholly sent, by prompt.
        connections: Connections that clients opened.
        most_at_once: Most requests that were under way at the same time.
        changed: Held while these change, and notified of it.
    """

    def __init__(
        self, script: Script, port: int = 0, context: ssl.SSLContext | None = None, protocol: str = "HTTP/1.0"
    ) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.heads: list[tuple[str, Message]] = []
        self.asked: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        self.connections = self.most_at_once = self._under_way = 0
        self.changed = threading.Condition()
        self._stopping = threading.Event()
        self._http = Server(("127.0.0.1", port), _handler(self, protocol))
        self._scheme = "https" if context else "http"
        if context:
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_port}/v1"

    def wait_until(self, reached: Callable[[], bool], timeout: float = 60.0) -> None:
        with self.changed:
            assert self.changed.wait_for(reached, timeout), "the judge's server waited in vain"

    def __enter__(self) -> JudgeServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: JudgeServer, protocol: str) -> type[BaseHTTPRequestHandler]:  # noqa: C901
    class Handler(BaseHTTPRequestHandler):
        protocol_version = protocol

        def setup(self) -> None:
            with server.changed:
                server.connections += 1
            super().setup()

        def do_POST(self) -> None:
            server.heads.append((self.path, self.headers))
            length = int(self.headers["Content-Length"])
            data = self.rfile.read(length)
            with server.changed:
                # Its client was killed before the request was looked at.
                if len(data) < length or _is_gone(self.connection):
                    self.close_connection = True
                    return
                server.bodies.append(json.loads(data))
                prompt, _ = read_request(server.bodies[-1])
                server.asked[prompt] += 1
                server._under_way += 1
                server.most_at_once = max(server.most_at_once, server._under_way)
                server.changed.notify_all()
                action = server.script(prompt, server.asked[prompt] - 1)
            stopped = isinstance(action, Hold) and server._stopping.wait()
            stopped = stopped or (isinstance(action, Say) and server._stopping.wait(action.delay))
            with server.changed:
                # Whoever has the reply may ask again before this thread goes on.
                server._under_way -= 1
            paid = False
            with suppress(OSError):
                paid = not stopped and self._act(action)
            with server.changed:
                server.paid[prompt] += paid
                server.changed.notify_all()

        def _act(self, action: Action) -> bool:
            if isinstance(action, Say):
                self._write(200, completion(action.text, MODEL), {})
                return True
            if isinstance(action, Fail):
                error = {"message": action.message, "type": "scripted", "code": action.code}
                self._write(action.status, json.dumps({"error": error}), action.headers)
            elif isinstance(action, Give):
                self._write(action.status, action.body, action.headers)
            elif isinstance(action, Drip):
                self.send_response(200)
                self.end_headers()
                while not server._stopping.wait(0.1):
                    self.wfile.write(b" ")
            else:
                self.close_connection = True
            return False

        def _write(self, status: int, body: str | bytes, headers: Mapping[str, str]) -> None:
            data = body.encode() if isinstance(body, str) else body
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                **headers,
                "Content-Length": str(len(data)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


def _is_gone(connection: socket.socket) -> bool:
    """Whether the other side of a connection was closed; of an encrypted one it is not known."""
    if isinstance(connection, ssl.SSLSocket):
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nothing listens, and at which no other process can begin to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
