"""Replies of judges kept on disk, so that a resumed run pays for each only once, and the cases that they answer."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.core.files import key_lock
from lmms_eval_tasks.utils.core.store import KeptValues
from lmms_eval_tasks.utils.core.text import hide_secrets
from lmms_eval_tasks.utils.data.home import home

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeReply:
    text: str
    model: str


class ReplyCache:
    """Accepted replies by key; threads and processes may share a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.values = KeptValues(folder or home() / "judge_cache")

    def find(self, key: str) -> JudgeReply | None:
        value = self.values.find(key) or {}
        text, model = value.get("text"), value.get("model")
        return JudgeReply(text, model) if isinstance(text, str) and isinstance(model, str) else None

    def store(self, key: str, reply: JudgeReply) -> None:
        try:
            self.values.keep(key, asdict(reply))
        except OSError as error:
            logger.warning("judge cache: a reply cannot be kept and may be paid for again (%s)", error)


@dataclass(frozen=True)
class Sampling:
    """Settings that, with the prompt, determine a judge's replies; other values make another judge."""

    model: str
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 2048
    json_mode: bool = False
    server: str = ""


class Limits(BaseModel):
    """Limits on how many requests a judge gets at once and how often they are repeated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrent: int = Field(default=8, ge=1, le=256)
    requests: int = Field(default=6, ge=1, le=20)
    unreadable: int = Field(default=3, ge=1, le=20)
    first_delay: float = Field(default=1.0, ge=0.0, allow_inf_nan=False)
    longest_delay: float = Field(default=120.0, ge=0.0, allow_inf_nan=False)
    give_up_after: int = Field(default=32, ge=1)
    seed: int = 0


LOCAL_MODEL = "transformers"
"""The provider that asks no server."""
ADDRESSES = {"openai": "OPENAI_API_URL", "azure": "AZURE_ENDPOINT", "local": "LLM_JUDGE_URL"}
"""The variables of servers' addresses, which are lmms-eval's."""


class JudgeSettings(Limits):
    model: str = Field(min_length=1)
    provider: Literal["openai", "azure", "local", "transformers"] = "openai"
    url: str | None = None
    timeout: float = Field(default=120.0, gt=0.0, allow_inf_nan=False)
    temperature: float = Field(default=Sampling.temperature, ge=0.0, allow_inf_nan=False)
    top_p: float | None = Field(default=Sampling.top_p, gt=0.0, le=1.0)
    max_tokens: int = Field(default=Sampling.max_tokens, ge=1)
    json_mode: bool = Sampling.json_mode

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
        return Sampling(**{name: getattr(self, name) for name in Sampling.__dataclass_fields__})


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

    @classmethod
    def of(cls, prompt: Prompt, material: Mapping[str, Any], images: tuple[bytes, ...] = ()) -> Case:
        """The case of a prompt whose field ``case`` is JSON; its texts are strings, which cannot end their quotation.

        A lone surrogate, which no file and no request can hold, becomes a question mark.
        """
        text = json.dumps(material, ensure_ascii=False, indent=1).encode("utf-8", "replace").decode("utf-8")
        return cls(prompt.render(case=text), prompt, images)


class ServerError(Exception):
    """A request without a reply: the reason in one line without secrets, and whether to ask again, after what wait."""

    def __init__(self, reason: str, *, again: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.again, self.wait = reason, again, wait


Send = Callable[[Case], JudgeReply]
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


class ReplyRecord(ReplyCache):
    """Every reply of a build, accepted or not; a judge that asks through `recording` has it as its cache."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._asked: Counter[str] = Counter()
        self._accepted: dict[str, str] = {}
        self._lock = threading.Lock()

    def recording(self, send: Send, sampling: Sampling) -> Send:
        """Return a sender that gives recorded replies, or sends the request: the n-th time in a run gets the reply to
        the n-th request."""

        def send_once(case: Case) -> JudgeReply:
            key = reply_key(sampling, case)
            with self._lock:
                name = f"{key}.{self._asked[key]}"
            reply = self._recorded(name)
            if reply is None:
                with key_lock(self.values.folder, name):
                    reply = self._recorded(name)
                    if reply is None:
                        reply = send(case)
                        super(ReplyRecord, self).store(name, reply)
            with self._lock:
                self._asked[key] += 1
            return reply

        return send_once

    def unreadable(self, key: str) -> list[str]:
        """Return the texts of the replies to a request in this run that were not accepted, in their order."""
        with self._lock:
            number = self._asked[key] - (key in self._accepted)
        stored = (self._recorded(f"{key}.{place}") for place in range(number))
        return [reply.text for reply in stored if reply is not None]

    def find(self, key: str) -> JudgeReply | None:
        """Return the reply that was accepted in this run; None before one was."""
        with self._lock:
            name = self._accepted.get(key)
        return None if name is None else self._recorded(name)

    def store(self, key: str, reply: JudgeReply) -> None:
        with self._lock:
            self._accepted[key] = f"{key}.{self._asked[key] - 1}"

    def _recorded(self, name: str) -> JudgeReply | None:
        return super().find(name)
