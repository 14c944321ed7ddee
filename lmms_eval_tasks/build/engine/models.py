"""The models of a build: one for each role, all through the one client, every reply recorded, within a budget."""

from __future__ import annotations

import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lmms_eval_tasks.build.engine.budget import RequestBudget
from lmms_eval_tasks.build.engine.config import BuildConfig, RoleSettings
from lmms_eval_tasks.build.engine.replies import fault_kind
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.judge.client import Judge
from lmms_eval_tasks.utils.judge.replies import Case, Reply, ReplyRecord, Send
from lmms_eval_tasks.utils.judge.server import JudgeSettings, open_sender
from lmms_eval_tasks.utils.servers.errors import ServerError

T = TypeVar("T")


class Models:
    """Models of a build, ready to be asked; threads share it."""

    def __init__(
        self,
        config: BuildConfig,
        folder: Path,
        max_requests: int | None = None,
        apart: Mapping[str, str] | None = None,
        open_sender: Callable[[JudgeSettings], Send] = open_sender,
    ) -> None:
        self._config = config
        self._records = {"": ReplyRecord(folder)}
        self._apart = apart or {}
        for name in set(self._apart.values()):
            self._records[name] = ReplyRecord(folder / name)
        self._open_sender = open_sender
        self._budget = RequestBudget(max_requests)
        self._lock = threading.Lock()
        # By their settings, so that two roles of one model that ask the same at once ask it once, unless apart.
        self._senders: dict[tuple[RoleSettings, str], Send] = {}
        self._judges: dict[tuple[RoleSettings, str, Any], Judge[Any]] = {}
        self.cores = threading.BoundedSemaphore(os.cpu_count() or 1)
        """Held by work that takes processor time or memory."""
        self.server_faults: Counter[str] = Counter()
        """What servers failed at since `take_server_faults`, also where the next request succeeded."""

    def judge(self, role: str, read: Callable[[str], T]) -> Judge[T]:
        """Return the judge that asks a role for replies that `read` can read."""
        with self._lock:
            settings, place = self._config.role(role), self._place(role)
            if (settings, place, read) not in self._judges:
                sender = self._sender(role)
                # What is bounded is the requests, not what is made of their replies.
                limits = replace(settings.limits, concurrent=self.threads((role,)))
                judge = Judge(sender, settings.sampling, read, self._records[place], limits)
                self._judges[settings, place, read] = judge
            return self._judges[settings, place, read]

    def model(self, role: str) -> str:
        """The name of the model of a role."""
        return self._config.role(role).model

    def check(self, roles: Sequence[str]) -> None:
        """Refuse roles that cannot be asked: want of a key, or a provider of another protocol."""
        faults: defaultdict[str, list[str]] = defaultdict(list)
        for role in roles:
            try:
                self._sender(role)
            except InputError as error:
                faults[str(error)].append(role)
        problems = Problems()
        for fault, names in faults.items():
            problems.add(f"roles, {', '.join(names)}", fault)
        problems.raise_if_any("Nothing can be built", "nothing was asked")

    def unreadable(self, role: str, key: str) -> list[str]:
        """The texts of the replies to a role's request in this build that could not be read, in their order."""
        return self._records[self._place(role)].unreadable(key)

    def threads(self, roles: tuple[str, ...]) -> int:
        """In how many threads roles are asked: twice as many as requests may be under way, so that none is missing
        while replies are kept and read.
        """
        return 2 * max(self._config.role(role).concurrent for role in roles)

    @property
    def sent(self) -> int:
        """Requests that were sent."""
        return self._budget.sent

    def check_budget(self) -> None:
        """Stop where a request could not be sent for want of budget."""
        self._budget.check()

    def take_server_faults(self) -> Counter[str]:
        """The faults of servers since the last call, by kind."""
        with self._lock:
            faults, self.server_faults = self.server_faults, Counter()
        return faults

    def _place(self, role: str) -> str:
        return self._apart.get(role, "")

    def _sender(self, role: str) -> Send:
        settings, place = self._config.role(role), self._place(role)
        if (settings, place) not in self._senders:
            slots = threading.BoundedSemaphore(settings.concurrent)
            send = partial(self._send, self._open_sender(settings), slots)
            self._senders[settings, place] = self._records[place].recording(send, settings.sampling)
        return self._senders[settings, place]

    def _send(self, send: Send, slots: threading.BoundedSemaphore, case: Case) -> Reply:
        self._budget.spend()
        try:
            with slots:
                return send(case)
        except ServerError as error:
            with self._lock:
                self.server_faults[fault_kind(error.reason)] += 1
            raise
