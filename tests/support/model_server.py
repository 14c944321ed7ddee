"""A model behind OpenAI's protocol on loopback, which counts what it is asked and says how many tokens that took.

`model_server.py PORT LETTER` is one that answers every question with a letter.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any

from stub_server import Server, completion

PROMPT_TOKENS = 100


class ModelServer:
    """The server.

    Args:
        say: The number of a request, from 0, to the reply's text and tokens; a text of None is a reply without one.
        port: Where it listens; 0 for any port that is free.

    Attributes:
        bodies: Every request's body, in the order of arrival.
    """

    def __init__(self, say: Callable[[int], tuple[str | None, int]], port: int = 0) -> None:
        self.bodies: list[dict[str, Any]] = []
        server, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer({"object": "list", "data": []})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    text, tokens = say(len(server.bodies))
                    server.bodies.append(body)
                reply = json.loads(completion(text or ""))
                reply["choices"][0]["message"]["content"] = text
                reply["usage"] = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": tokens, "total_tokens": 0}
                self._answer(reply)

            def _answer(self, reply: dict[str, Any]) -> None:
                data = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = Server(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def arguments(self) -> list[str]:
        """The command's arguments for a run that asks it, one request at a time."""
        address = f"model_version=org/served,base_url=http://127.0.0.1:{self._http.server_port}/v1,api_key=none"
        return ["--model", "openai", "--model_args", f"{address},max_frames_num=2,num_concurrent=1,max_retries=1"]

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()


if __name__ == "__main__":
    with ModelServer(lambda number: (sys.argv[2], 1), int(sys.argv[1])):
        threading.Event().wait()
