"""The job of a part, in a process of its own that submitit starts here or on a node of SLURM."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from io import BufferedReader, FileIO
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

import psutil
from submitit.helpers import DelayedSubmission

from lmms_eval_tasks.launch.plan import WORDS, Holder, LaunchedPart
from lmms_eval_tasks.runs.run_files import results_files
from lmms_eval_tasks.utils.core.files import BLOCK, FullDisk, naming_full_disk
from lmms_eval_tasks.utils.core.text import HIDDEN, SHARD, hide_secrets

MARK = "LAUNCHED_PART"
"""The variable; it holds the part's output path."""
GRACE = 15.0
"""Seconds that a process has to end by itself."""
ROUNDS = 3
"""One that ends may start another meanwhile."""


def end_processes(out: Path, session: int | None = None) -> None:
    """End the processes on this machine that work on a part, by SIGTERM, and by SIGKILL where that is not enough."""
    for _ in range(ROUNDS):
        found = list(_processes(out, session))
        if not found:
            return
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, living = psutil.wait_procs(found, timeout=GRACE)
        for process in living:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(living, timeout=GRACE)


def _processes(out: Path, session: int | None) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        # What is somebody else's cannot be looked into, and what has ended is gone.
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == str(out) or (session and os.getsid(process.pid) == session):
                yield process


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
            with naming_full_disk(self.part.folder), self.part.locked(PATIENCE) as free:
                return self._run() if free else HELD
        except _Stop:
            return STOPPED
        except FullDisk as error:
            return str(error)

    def checkpoint(self) -> DelayedSubmission:
        """Return what SLURM reruns after it has taken the node away: it goes on from the kept answers."""
        return DelayedSubmission(self)

    def _run(self) -> str:
        part, session = self.part, os.getsid(0) if self.own_session else None
        if part.is_done:
            return DONE
        part.write_holder(Holder(socket.gethostname(), os.getpid(), self.devices))
        end_processes(part.out)  # of a job that was killed
        before = set(results_files(part.out))
        if WORDS not in os.environ and any(HIDDEN in word for word in self.command):
            return "its command holds a key, which SLURM did not pass on: launch without --slurm export=NONE"
        try:
            status = self._wait(session)
        except FileNotFoundError:
            return f"there is no command {self.command[0]}"
        if status:
            return _name_status(status)
        # lmms-eval can end with status 0 after a failure.
        found = [path for path in results_files(part.out) if path not in before]
        if not found:
            return "it ended with exit status 0, but wrote no results file"
        with suppress(ValueError):
            json.loads(found[-1].read_text(encoding="utf-8"))
            part.write_done(found[-1])
            return DONE
        return f"its results file is not whole: {found[-1]}"

    def _wait(self, session: int | None) -> int:
        """Return the exit status of the command, or minus the signal that ended it; its processes are ended then."""
        part, words = self.part, list(self.command)
        keys: list[str] = []
        part.out.mkdir(parents=True, exist_ok=True)
        for place, found in json.loads(os.environ.get(WORDS, "{}")).items():
            *before, after = words[int(place)].split(HIDDEN, len(found))
            if len(before) == len(found):
                words[int(place)] = "".join(text + key for text, key in zip(before, found, strict=True)) + after
                keys += found
        hiding = {**os.environ, **{f"LAUNCHED_{number}_KEY": key for number, key in enumerate(keys)}}
        shard = {SHARD: str(part.shard)} if part.shard else {}
        environment = {**os.environ, **shard, MARK: str(part.out)}
        environment = {name: value for name, value in {**environment, **self.variables}.items() if value is not None}
        environment.pop(WORDS, None)
        with part.log.open("ab", buffering=0) as log:
            shown = hide_secrets(shlex.join(self.command), hiding)
            log.write(f"\n{TRY} {datetime.now():%Y-%m-%d %H:%M:%S}, {socket.gethostname()}: {shown}\n".encode())
            started = subprocess.Popen(
                words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            copying = Thread(target=_copy, args=(started.stdout, log, hiding), daemon=True)
            copying.start()
            try:
                return started.wait()
            finally:
                end_processes(part.out, session)
                copying.join(PATIENCE)


def _copy(printed: BufferedReader, log: FileIO, environment: Mapping[str, str]) -> None:
    """Copy each line that a command prints as soon as it ends, without keys; what a full disk does not take is lost."""
    held = b""
    while block := printed.read1(BLOCK):
        *lines, held = re.split(rb"(?<=[\r\n])", held + block)
        if len(held) > BLOCK:
            lines, held = [*lines, held], b""
        _write(lines, log, environment)
    _write([held], log, environment)


def _write(lines: list[bytes], log: FileIO, environment: Mapping[str, str]) -> None:
    for line in lines:
        hidden = hide_secrets(line.decode("utf-8", "surrogateescape"), environment)
        with suppress(OSError, ValueError):
            log.write(hidden.encode("utf-8", "surrogateescape"))


BLOCKED = (signal.SIGINT, signal.SIGHUP)
"""Signals of a terminal, which are the launcher's."""


TAIL = 20_000
"""The last lines of a log are looked for among so many of its last bytes."""


def last_lines(log: Path, count: int) -> list[str]:
    """Return the last lines that the last try has printed, without keys."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL))
            text = hide_secrets(file.read().decode("utf-8", "replace"), os.environ)
    except OSError:
        return []
    lines = re.split(r"[\r\n]+", re.split(rf"^{TRY} .*$", text, flags=re.MULTILINE)[-1])
    return [line.rstrip() for line in lines if line.strip()][-count:]


def _stop(number: int, frame: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Stop


def _name_status(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return f"ended by {signal.Signals(-status).name}"
    return f"ended by signal {-status}"
