"""Builds that are killed again and again, or run twice at once, beside one that is left alone."""

from __future__ import annotations

import gc
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from judge_server import Action, Hold, JudgeServer, PictureScript, Say
from kept_answers import kept_lines

FOREVER = 10**9
REPLIES = "replies"


class CountedScript:
    """A script that counts what it answers, and from some number on holds every request."""

    def __init__(self, script: PictureScript) -> None:
        self.script = script
        self.clear()

    def clear(self) -> None:
        self.most = FOREVER
        # Requests that were acted on, and replies with a text, by prompt and pictures.
        self.answered: Counter[tuple[str, tuple[bytes, ...]]] = Counter()
        self.texts: Counter[tuple[str, tuple[bytes, ...]]] = Counter()

    def __call__(self, prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        if self.answered.total() >= self.most:
            return Hold()
        key = (prompt, pictures)
        action = self.script(prompt, pictures, self.answered[key])
        # In this order: who kills the client waits for as many replies as have a text once enough is answered.
        self.texts[key] += isinstance(action, Say)
        self.answered[key] += 1
        return action


Build = Callable[[str, Path], None]
"""Runs a build, given the server's address and its folder."""


def fork(run: Callable[[], None]) -> int:
    """Run something in a child of this process, whose exit code is 0 where it ended without an error.

    What PyAV holds with threads of its own does not survive a fork, and is let go before.
    """
    gc.collect()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        run()
        code = 0
    finally:
        os._exit(code)


def files_of(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a build, but for locks; of its replies the lines, whichever file they are in."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and REPLIES not in path.relative_to(folder).parts
    }
    return {**files, REPLIES: "\n".join(sorted(map(str, kept_lines(folder / REPLIES)))).encode()}


def check_killed_builds(build: Build, script: PictureScript, folder: Path, kills: int = 10) -> None:
    """A build that is killed with -9 at random points ends as one that was not, byte by byte, and asks nothing twice.

    A request counts as answered once its reply is on the disk: nobody has what a server sent to a client that was
    dying. Points are numbers of answered requests. What a server failed at may be asked again, so only replies with a
    text are counted.
    """
    counted = CountedScript(script)
    with JudgeServer(picture_script=counted) as server:
        alone, killed = folder / "alone", folder / "killed"
        texts, total = build_alone(build, server.url, alone, counted)
        for point in sorted(random.Random(0).choices(range(1, total), k=kills)):
            # Not while a request of the child that was killed last is looked at.
            with server.changed:
                counted.most = max(point, counted.answered.total())
            child = fork(lambda: build(server.url, killed))
            try:
                deadline = time.monotonic() + 60
                while counted.answered.total() < counted.most or _kept(killed) < counted.texts.total():
                    assert time.monotonic() < deadline, "the build does not go on"
                    time.sleep(0.005)
            finally:
                os.kill(child, signal.SIGKILL)
                code = _exit_code(child)
            assert code == -signal.SIGKILL, "the build ended before it was killed"
            assert not (killed / "release").exists()
        counted.most = FOREVER
        assert _exit_code(fork(lambda: build(server.url, killed))) == 0
    assert files_of(killed) == files_of(alone)
    assert counted.texts == texts


def check_two_builds_at_once(build: Build, script: PictureScript, folder: Path) -> None:
    """Two builds into one folder at once end with the bytes of one alone, and no request is answered twice."""
    counted = CountedScript(script)
    with JudgeServer(picture_script=counted) as server:
        alone, shared = folder / "one", folder / "two"
        texts, _ = build_alone(build, server.url, alone, counted)
        children = [fork(lambda: build(server.url, shared)) for _ in range(2)]
        assert [_exit_code(child) for child in children] == [0, 0]
    assert files_of(shared) == files_of(alone)
    assert counted.texts == texts


def build_alone(build: Build, url: str, out: Path, counted: CountedScript) -> tuple[Counter[object], int]:
    """The replies with a text, and the number of requests, of a build that is left alone.

    It runs in a child too, so that this process keeps no thread or connection that a fork would tear.
    """
    assert _exit_code(fork(lambda: build(url, out))) == 0
    texts, total = Counter[object](counted.texts), counted.answered.total()
    counted.clear()
    return texts, total


def _kept(folder: Path) -> int:
    return len(kept_lines(folder / REPLIES))


def _exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
