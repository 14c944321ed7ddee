"""What a part's job does, in a process of its own that submitit starts: here, or on a node of SLURM."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from submitit.helpers import DelayedSubmission

from lmms_eval_tasks.launch.parts import Holder, LaunchedPart
from lmms_eval_tasks.launch.processes import MARK, end_processes
from lmms_eval_tasks.utils.core.redaction import hide_secrets
from lmms_eval_tasks.utils.core.variables import SHARD

DEVICES = "CUDA_VISIBLE_DEVICES"
TRY = "==="
"""How the line begins by which a job begins a try in the part's log."""
PATIENCE = 10.0
"""Seconds after which a job gives up a part that another works on; who only looks has it locked for less than one."""

DONE, HELD, STOPPED = "done", "held", "stopped"
"""How a job ends, beside a text that says why it failed: the part has its results; another job works on it; it was
asked to stop."""


class _Stop(BaseException):
    """A signal asks the job to end."""


@dataclass(frozen=True)
class PartJob:
    """Runs the command of a part.

    Attributes:
        part: The part.
        command: Its words, with the part's output path.
        variables: Environment variables that the command has beside the job's; None for one that it has not.
        devices: The GPUs that are dealt to it.
        own_session: Whether its processes are a session of their own, which no terminal ends. SLURM would lose them.
    """

    part: LaunchedPart
    command: tuple[str, ...]
    variables: Mapping[str, str | None]
    devices: tuple[str, ...] = ()
    own_session: bool = False

    def __call__(self) -> str:
        """Run it, unless the part is done or another job works on it; returns how that ended."""
        signal.signal(signal.SIGTERM, _stop)
        try:
            if self.own_session:
                os.setsid()
                # The launcher blocks them while it starts a job, and they would stay so.
                signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
            with self.part.locked(PATIENCE) as free:
                return self._run() if free else HELD
        except _Stop:
            return STOPPED

    def checkpoint(self) -> DelayedSubmission:
        """What SLURM runs again after it has taken the node away: the same, which goes on from the kept answers."""
        return DelayedSubmission(self)

    def _run(self) -> str:
        part, session = self.part, os.getsid(0) if self.own_session else None
        if part.is_done:
            return DONE
        part.write_holder(Holder(socket.gethostname(), os.getpid(), self.devices))
        end_processes(part.out)  # of a job that was killed
        before = set(part.results())
        try:
            status = self._wait()
        except FileNotFoundError:
            return f"there is no command {self.command[0]}"
        finally:
            end_processes(part.out, session)
        if status:
            return _name_status(status)
        # lmms-eval can end with status 0 after a failure.
        found = [path for path in part.results() if path not in before]
        if not found:
            return "it ended with exit status 0, but wrote no results file"
        with suppress(ValueError):
            json.loads(found[-1].read_text(encoding="utf-8"))
            part.write_done(found[-1])
            return DONE
        return f"its results file is not whole: {found[-1]}"

    def _wait(self) -> int:
        """The exit status of the command, below 0 the signal that ended it."""
        part = self.part
        part.out.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, SHARD: f"{part.number}/{part.count}", MARK: str(part.out)}
        environment = {name: value for name, value in {**environment, **self.variables}.items() if value is not None}
        with part.log.open("ab") as log:
            words = hide_secrets(shlex.join(self.command), os.environ)
            log.write(f"\n{TRY} {datetime.now():%Y-%m-%d %H:%M:%S}, {socket.gethostname()}: {words}\n".encode())
            log.flush()
            started: subprocess.Popen[bytes] = subprocess.Popen(
                self.command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
            return started.wait()


BLOCKED = (signal.SIGINT, signal.SIGHUP)
"""Signals of a terminal, which are the launcher's."""


def _stop(number: int, frame: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Stop


def _name_status(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return f"ended by {signal.Signals(-status).name}"
    return f"ended by signal {-status}"
