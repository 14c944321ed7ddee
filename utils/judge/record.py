"""A record of every reply, for work whose steps build on each other: it can be looked into, and goes on after a kill.

A cache keeps the replies that could be read. Here the others are kept too, each under the number of the request that
brought it, and a run that is resumed gets them from here in the same order: it asks nothing that was answered before,
and ends with the same result as a run that was left alone. Failures of a server are no replies and are tried again.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

from lmms_eval_tasks.utils.judge.cache import Reply, ReplyCache
from lmms_eval_tasks.utils.judge.client import Case, Sampling, Send, reply_key


class ReplyRecord(ReplyCache):
    """The record in a folder; a judge that asks through `recording` has it as its cache. Made anew for each run."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._asked: Counter[str] = Counter()
        self._accepted: dict[str, str] = {}
        self._lock = threading.Lock()

    def recording(self, send: Send, sampling: Sampling) -> Send:
        """What sends a request, or gives the recorded reply to it: the n-th time in a run that of the n-th request."""

        def send_once(case: Case) -> Reply:
            key = reply_key(sampling, case)
            with self._lock:
                name = _name(key, self._asked[key])
            reply = super(ReplyRecord, self).find(name)
            if reply is None:
                reply = send(case)
                super(ReplyRecord, self).store(name, reply)
            with self._lock:
                self._asked[key] += 1
            return reply

        return send_once

    def find(self, key: str) -> Reply | None:
        """The reply that was accepted in this run; None before one was."""
        with self._lock:
            name = self._accepted.get(key)
        return None if name is None else super().find(name)

    def store(self, key: str, reply: Reply) -> None:
        """Note that the last reply was accepted; it was kept when it came."""
        with self._lock:
            self._accepted[key] = _name(key, self._asked[key] - 1)


def _name(key: str, number: int) -> str:
    return f"{key}.{number}"
