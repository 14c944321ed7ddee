"""A record of every reply, for work whose steps build on each other: it can be looked into, and goes on after a
kill."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lmms_eval_tasks.utils.core.files import clear_parts
from lmms_eval_tasks.utils.judge.cache import Reply, ReplyCache
from lmms_eval_tasks.utils.judge.client import Case, Sampling, Send, reply_key

LOCKS = ".requests"
"""A file without content; a byte of it is locked for each request under way."""
PLACES = 1 << 62
PAUSE = 0.02
"""Seconds between two looks at a request of another process."""


class ReplyRecord(ReplyCache):
    """The record in a folder; a judge that asks through `recording` has it as its cache."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for shelf in folder.glob("??"):
            clear_parts(shelf)
        self._asked: Counter[str] = Counter()
        self._accepted: dict[str, str] = {}
        self._lock = threading.Lock()
        self._requests: int | None = None

    def recording(self, send: Send, sampling: Sampling) -> Send:
        """What sends a request, or gives the recorded reply to it: the n-th time in a run that of the n-th request."""

        def send_once(case: Case) -> Reply:
            key = reply_key(sampling, case)
            with self._lock:
                name = _name(key, self._asked[key])
            reply = super(ReplyRecord, self).find(name)
            if reply is None:
                with self._only_one(name):
                    reply = super(ReplyRecord, self).find(name)
                    if reply is None:
                        reply = send(case)
                        super(ReplyRecord, self).store(name, reply)
            with self._lock:
                self._asked[key] += 1
            return reply

        return send_once

    def unreadable(self, key: str) -> list[str]:
        """The texts of the replies to a request in this run that were not accepted, in their order."""
        with self._lock:
            number = self._asked[key] - (key in self._accepted)
        stored = (super(ReplyRecord, self).find(_name(key, place)) for place in range(number))
        return [reply.text for reply in stored if reply is not None]

    def find(self, key: str) -> Reply | None:
        """The reply that was accepted in this run; None before one was."""
        with self._lock:
            name = self._accepted.get(key)
        return None if name is None else super().find(name)

    def store(self, key: str, reply: Reply) -> None:
        """Note that the last reply was accepted; it was kept when it came."""
        with self._lock:
            self._accepted[key] = _name(key, self._asked[key] - 1)

    @contextmanager
    def _only_one(self, name: str) -> Iterator[None]:
        """Keep other processes from the same request; a process that is killed lets go of it."""
        place = int(name[:15], 16) % PLACES
        file = self._lock_file()
        while True:
            try:
                # Not waited for in the kernel, which takes threads of two processes that wait for each other's
                # requests for a deadlock.
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                break
            except BlockingIOError:
                time.sleep(PAUSE)
        try:
            yield
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    def _lock_file(self) -> int:
        """The file of locks, open until the process ends: closing it once would let go of all its locks."""
        with self._lock:
            if self._requests is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._requests = os.open(self.folder / LOCKS, os.O_RDWR | os.O_CREAT, 0o644)
            return self._requests


def _name(key: str, number: int) -> str:
    return f"{key}.{number}"
