"""Replies of judges kept on disk, so that a resumed run pays for each only once, and the cases that they answer."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.core.files import clear_parts, write_file
from lmms_eval_tasks.utils.core.text import hide_secrets
from lmms_eval_tasks.utils.data.home import home

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reply:
    """A judge's reply."""

    text: str
    model: str


class ReplyCache:
    """Accepted replies by key; threads and processes may share a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or home() / "judge_cache"

    def find(self, key: str) -> Reply | None:
        """The reply kept under a key; None where there is none that can be read."""
        try:
            value = json.loads(self._path(key).read_text(encoding="utf-8"))
            text, model = value["text"], value["model"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            logger.warning("judge cache: %s cannot be read and is asked for again (%s)", self._path(key), error)
            return None
        return Reply(text, model) if isinstance(text, str) and isinstance(model, str) else None

    def store(self, key: str, reply: Reply) -> None:
        """Keep a reply."""
        path = self._path(key)
        try:
            write_file(path, json.dumps(asdict(reply)))
        except OSError as error:
            logger.warning("judge cache: %s cannot be kept and may be paid for again (%s)", path, error)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


@dataclass(frozen=True)
class Sampling:
    """Settings that, with the prompt, determine a judge's replies; other values make another judge."""

    model: str
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 2048
    json_mode: bool = False
    server: str = ""


@dataclass(frozen=True)
class Limits:
    """Limits on how many requests a judge gets at once and how often they are repeated."""

    concurrent: int = 8
    requests: int = 6
    unreadable: int = 3
    first_delay: float = 1.0
    longest_delay: float = 120.0
    give_up_after: int = 32
    seed: int = 0


LOCAL_MODEL = "transformers"
"""The provider that asks no server."""
ADDRESSES = {"openai": "OPENAI_API_URL", "azure": "AZURE_ENDPOINT", "local": "LLM_JUDGE_URL"}
"""The variables of servers' addresses, which are lmms-eval's."""


class JudgeSettings(BaseModel):
    """Settings for reaching and asking a judge."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    provider: Literal["openai", "azure", "local", "transformers"] = "openai"
    url: str | None = None
    timeout: float = Field(default=120.0, gt=0.0, allow_inf_nan=False)
    temperature: float = Field(default=Sampling.temperature, ge=0.0, allow_inf_nan=False)
    top_p: float | None = Field(default=Sampling.top_p, gt=0.0, le=1.0)
    max_tokens: int = Field(default=Sampling.max_tokens, ge=1)
    json_mode: bool = Sampling.json_mode
    concurrent: int = Field(default=Limits.concurrent, ge=1, le=256)
    requests: int = Field(default=Limits.requests, ge=1, le=20)
    unreadable: int = Field(default=Limits.unreadable, ge=1, le=20)
    first_delay: float = Field(default=Limits.first_delay, ge=0.0, allow_inf_nan=False)
    longest_delay: float = Field(default=Limits.longest_delay, ge=0.0, allow_inf_nan=False)
    give_up_after: int = Field(default=Limits.give_up_after, ge=1)
    seed: int = Limits.seed

    @property
    def address(self) -> str:
        """The server's address, as given or as the provider's own variable says; empty for its default."""
        return self.url or os.environ.get(ADDRESSES.get(self.provider, ""), "")

    @property
    def server(self) -> str:
        """Provider and address without secrets, which tell servers of one model's name from each other."""
        address = self.address.rstrip("/").removesuffix("/chat/completions")
        return hide_secrets(f"{self.provider} {address}".rstrip(), {})

    @property
    def sampling(self) -> Sampling:
        """The settings that determine the judge's replies."""
        return Sampling(**{name: getattr(self, name) for name in Sampling.__dataclass_fields__})

    @property
    def limits(self) -> Limits:
        """The limits on concurrent requests and retries."""
        return Limits(**{name: getattr(self, name) for name in Limits.__dataclass_fields__})


@dataclass(frozen=True)
class Case:
    """Case to be assessed by a judge.

    Attributes:
        text: The prompt, its fields filled in.
        prompt: The prompt that was filled in, which signs the verdict.
        images: The bytes of JPEG files to look at, in order.
    """

    text: str
    prompt: Prompt
    images: tuple[bytes, ...] = ()


class ServerError(Exception):
    """A request without a reply: the reason in one line without secrets, and whether to ask again, after what wait."""

    def __init__(self, reason: str, *, again: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.again, self.wait = reason, again, wait


Send = Callable[[Case], Reply]
"""Sends one request and returns its reply, from any thread, or raises `ServerError`; any other error counts as lasting.
"""


def reply_key(sampling: Sampling, case: Case) -> str:
    """Hexadecimal SHA-256 of all that decides the reply: the judge, the prompt and what it was filled in with."""
    parts = {
        **vars(sampling),
        "prompt_id": case.prompt.prompt_id,
        "prompt": case.prompt.sha256,
        "text": case.text,
        "images": [hashlib.sha256(image).hexdigest() for image in case.images],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()


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
        """Return a sender that gives recorded replies, or sends the request: the n-th time in a run gets the reply to
        the n-th request."""

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
