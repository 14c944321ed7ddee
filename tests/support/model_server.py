"""A model behind OpenAI's protocol on loopback, which counts what it is asked and says how many tokens that took.

`model_server.py PORT LETTER` is one that answers every question with a letter.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stub_server import JsonHandler, Server, completion

PROMPT_TOKENS = 100
Said = str | Mapping[str, Any]
"""A text; or fields of the reply's choice; or, with ``status``, those of an error."""


class ModelServer(Server):
    """The server; `bodies` has every request's body, in the order of arrival."""

    def __init__(self, say: Callable[[int], tuple[Said, int]], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.say, self.lock = say, threading.Lock()
        self.bodies: list[dict[str, Any]] = []

    def arguments(self, at_once: int = 1, key: str = ",api_key=none") -> list[str]:
        """The command's arguments for a run that asks it, so many requests at a time."""
        address = f"model_version=org/served,base_url=http://127.0.0.1:{self.server_port}/v1{key}"
        shown = f"max_frames_num=2,num_concurrent={at_once},max_retries=1"
        return ["--model", "openai", "--model_args", f"{address},{shown}"]

    def asynchronous(self, at_once: int = 1, key: str = ",api_key=none") -> list[str]:
        """The same for lmms-eval's other adapter."""
        arguments = self.arguments(at_once, key)[-1]
        arguments = arguments.replace("max_frames_num", "nframes").replace("num_concurrent", "num_cpus")
        return ["--model", "async_openai", "--model_args", arguments]


class Handler(JsonHandler):
    """What answers requests."""

    server: ModelServer

    def do_GET(self) -> None:
        self.answer(json.dumps({"object": "list", "data": []}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            said, tokens = self.server.say(len(self.server.bodies))
            self.server.bodies.append(body)
        if isinstance(said, Mapping) and "status" in said:
            self.answer(json.dumps({"error": said}), said["status"])
            return
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": tokens, "total_tokens": 0}
        reply = json.loads(completion(said if isinstance(said, str) else ""))
        if isinstance(said, Mapping):
            reply["choices"][0] |= said
        self.answer(json.dumps({**reply, "usage": usage}))


@contextmanager
def model_server(say: Callable[[int], tuple[Said, int]]) -> Iterator[ModelServer]:
    """A server at a free port, which answers a request by its number, from 0, with a text or more of so many tokens."""
    with ModelServer(say) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


if __name__ == "__main__":
    ModelServer(lambda number: (sys.argv[2], 1), int(sys.argv[1])).serve_forever()
