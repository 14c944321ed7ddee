"""A server of OpenAI's protocol that answers every question with a letter: one_letter_server.py PORT LETTER."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from stub_server import completion


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer('{"object": "list", "data": []}')

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(completion(sys.argv[2]))

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
