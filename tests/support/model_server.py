"""A model behind OpenAI's protocol on loopback, which counts what it is asked and says how many tokens that took.

`model_server.py PORT LETTER` is one that answers every question with a letter.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from stub_server import Server, completion

PROMPT_TOKENS = 100


class ModelServer(Server):
    """The server; `bodies` has every request's body, in the order of arrival."""

    def __init__(self, say: Callable[[int], tuple[str, int]], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.say, self.lock = say, threading.Lock()
        self.bodies: list[dict[str, Any]] = []

    def arguments(self) -> list[str]:
        """The command's arguments for a run that asks it, one request at a time."""
        address = f"model_version=org/served,base_url=http://127.0.0.1:{self.server_port}/v1,api_key=none"
        return ["--model", "openai", "--model_args", f"{address},max_frames_num=2,num_concurrent=1,max_retries=1"]


class Handler(BaseHTTPRequestHandler):
    """What answers requests."""

    server: ModelServer

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            text, tokens = self.server.say(len(self.server.bodies))
            self.server.bodies.append(body)
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": tokens, "total_tokens": 0}
        self._answer({**json.loads(completion(text)), "usage": usage})

    def _answer(self, reply: dict[str, Any]) -> None:
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def model_server(say: Callable[[int], tuple[str, int]]) -> Iterator[ModelServer]:
    """A server at a free port, which answers a request by its number, from 0, with a text of so many tokens."""
    with ModelServer(say) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


if __name__ == "__main__":
    ModelServer(lambda number: (sys.argv[2], 1), int(sys.argv[1])).serve_forever()
