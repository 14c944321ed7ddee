"""The commands lmms-eval and lmms-eval-tasks in forks of one warm process, for the shells that run a page's blocks."""

from __future__ import annotations

import json
import socketserver
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warm_host import WarmHost

NAMES = ("lmms-eval", "lmms-eval-tasks")
# Isolated and without `site`, a process costs 10 ms.
SCRIPT = """#!{python} -IS
import json, os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({address!r})
command = [{script!r}, *sys.argv[1:]]
asked.sendall((json.dumps([command, os.getcwd(), dict(os.environ), os.getpid()]) + "\\n").encode())
sys.exit(int(asked.makefile().read()))
"""


@contextmanager
def commands_on_path(host: WarmHost, scripts: Path) -> Iterator[Path]:
    """A folder for `PATH` whose `NAMES` run those of a folder of scripts in forks of a warm process, one at a time.

    What they print goes where the shell sends it; a file must be open for appending.
    """

    class Answer(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            command, folder, environment, asking = json.loads(self.rfile.readline())
            output, errors = (Path(f"/proc/{asking}/fd/{number}") for number in (1, 2))
            status = host.start(command, Path(folder), environment, output, errors).wait()
            # As a shell says of a process that a signal ended.
            self.wfile.write(str(status if status >= 0 else 128 - status).encode())

    with tempfile.TemporaryDirectory() as made:
        for name in NAMES:
            script = Path(made, name)
            text = SCRIPT.format(python=sys.executable, address=f"{made}/socket", script=str(scripts / name))
            script.write_text(text)
            script.chmod(0o755)
        with socketserver.UnixStreamServer(f"{made}/socket", Answer) as server:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
            try:
                yield Path(made)
            finally:
                server.shutdown()
