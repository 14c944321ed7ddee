"""The models of a build, one for each role, within a budget of requests, and the strict reading of their replies."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from lmms_eval_tasks.construct.engine.config import BuildConfig, RoleSettings
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.judge.client import UNREADABLE, Judge, UnreadableReply, judge_sender, read_reply
from lmms_eval_tasks.utils.judge.replies import LOCAL_MODEL, Case, Reply, ReplyRecord, Send, ServerError

NO_REPLY = "no usable reply"

_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am)? (?:can(?:no|')t|sorry|unable|not able|won't|will not|must decline|apologi[sz]e)"
    r"|(?:sorry|apologies),|as an ai\b|against (?:my|our|the) (?:policy|policies|guidelines))",
    re.IGNORECASE,
)


class Form(BaseModel):
    """Base of the forms of replies: exactly their keys, no value changed into another type."""

    model_config = ConfigDict(extra="forbid", frozen=True)


F = TypeVar("F", bound=Form)


def read_form(text: str, form: type[F]) -> F:
    try:
        return read_reply(text, form)
    except UnreadableReply as error:
        # What `read_json` finds wrong has no colon; what the form does names its field first.
        kind = "another form" if ":" in str(error) else "malformed JSON"
        if "{" not in text:
            kind = "refusal" if is_refusal(text) else "no JSON"
        raise UnreadableReply(f"{kind}: {error}") from None


def is_refusal(text: str) -> bool:
    """Whether a text says that its writer will not or cannot do what was asked."""
    return _REFUSAL.search(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")[:1000]) is not None


def fault_kind(reason: str) -> str:
    """The kind of a fault, from the reason of a verdict: `timed out`, `malformed JSON`, `server error (500)`."""
    kind = reason.removeprefix(UNREADABLE).partition(":")[0]
    return "no connection" if kind.startswith("no reply (") else kind


T = TypeVar("T")


class Models:
    """Models of a build, ready to be asked, within a budget of requests; threads share it."""

    def __init__(self, config: BuildConfig, folder: Path, max_requests: int | None = None) -> None:
        self._config = config
        self._records = {name: ReplyRecord(folder / name) for name in ("", *config.reply_folders.values())}
        self._left = max_requests
        self.sent = 0
        """Requests that were sent."""
        self._lock = threading.Lock()
        # By settings and folder of replies, so that two roles of one model that ask the same at once ask it once.
        self._senders: dict[tuple[RoleSettings, str], Send] = {}
        self._judges: dict[tuple[RoleSettings, str, Any], Judge[Any]] = {}
        self.cores = threading.BoundedSemaphore(os.cpu_count() or 1)
        """Held by work that takes processor time or memory."""
        self.server_faults: Counter[str] = Counter()
        """What servers failed at since `take_server_faults`, also where the next request succeeded."""

    def judge(self, role: str, read: Callable[[str], T]) -> Judge[T]:
        with self._lock:
            settings, place = self._config.role(role), self._config.reply_folders.get(role, "")
            if (settings, place, read) not in self._judges:
                sender = self._sender(role)
                # What is bounded is the requests, not what is made of their replies.
                limits = settings.model_copy(update={"concurrent": self.threads((role,))})
                judge = Judge(sender, settings.sampling, read, self._records[place], limits)
                self._judges[settings, place, read] = judge
            return self._judges[settings, place, read]

    def model(self, role: str) -> str:
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
        return self._records[self._config.reply_folders.get(role, "")].unreadable(key)

    def threads(self, roles: tuple[str, ...]) -> int:
        """In how many threads roles are asked: twice as many as requests may be under way, so that none is missing
        while replies are kept and read.
        """
        return 2 * max(self._config.role(role).concurrent for role in roles)

    def check_budget(self) -> None:
        if self._left is not None and self._left < 0:
            raise InputError(
                f"{self.sent:,} requests were sent, as many as --max-requests allows; no set was written.\n"
                "Every reply is kept: the same command goes on from here, with as many requests more."
            )

    def take_server_faults(self) -> Counter[str]:
        with self._lock:
            faults, self.server_faults = self.server_faults, Counter()
        return faults

    def _sender(self, role: str) -> Send:
        settings, place = self._config.role(role), self._config.reply_folders.get(role, "")
        if (settings, place) not in self._senders:
            slots = threading.BoundedSemaphore(settings.concurrent)
            from lmms_eval_tasks.utils.judge.server import open_sender

            # A server is asked without lmms-eval, whose import takes longer than a small build.
            sender = judge_sender if settings.provider == LOCAL_MODEL else open_sender
            send = partial(self._send, sender(settings), slots)
            self._senders[settings, place] = self._records[place].recording(send, settings.sampling)
        return self._senders[settings, place]

    def _send(self, send: Send, slots: threading.BoundedSemaphore, case: Case) -> Reply:
        with self._lock:
            if self._left is not None:
                self._left = max(self._left - 1, -1)
                if self._left < 0:
                    raise ServerError("the budget is reached", again=False)
            self.sent += 1
        try:
            with slots:
                return send(case)
        except ServerError as error:
            with self._lock:
                self.server_faults[fault_kind(error.reason)] += 1
            raise
