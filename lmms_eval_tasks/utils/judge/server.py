"""Judges and other models behind servers that speak OpenAI's protocol, as `JudgeSettings` names them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import hide_secrets
from lmms_eval_tasks.utils.judge.replies import Case, Limits, Reply, Sampling, Send
from lmms_eval_tasks.utils.servers.address import header_value, parse_address
from lmms_eval_tasks.utils.servers.chat import OPENAI_KEY, PATH, ChatReply, chat_content, chat_request, read_chat
from lmms_eval_tasks.utils.servers.client import ServerClient

LOCAL_MODEL = "transformers"
"""The provider that asks no server."""
NEEDED = {"openai": ("OPENAI_API_KEY",), "azure": ("AZURE_API_KEY", "AZURE_ENDPOINT"), "local": ()}
ADDRESSES = {"openai": "OPENAI_API_URL", "azure": "AZURE_ENDPOINT", "local": "LLM_JUDGE_URL"}
"""The variables of servers' addresses, which are lmms-eval's."""
DEFAULTS = {"openai": "https://api.openai.com/v1", "local": "http://localhost:8000/v1"}


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
        """The server's address: as given, as the provider's own variable says, or the provider's default."""
        return self.url or self._named_address or DEFAULTS.get(self.provider, "")

    @property
    def _named_address(self) -> str:
        return os.environ.get(ADDRESSES.get(self.provider, ""), "")

    @property
    def server(self) -> str:
        """Provider and address, the latter as given or as the provider's own variable says; empty for its default."""
        address = (self.url or self._named_address).rstrip("/")
        return hide_secrets(f"{self.provider} {address.removesuffix('/chat/completions')}".rstrip(), {})

    @property
    def sampling(self) -> Sampling:
        """Sampling settings that determine the judge's replies."""
        return Sampling(**{name: getattr(self, name) for name in Sampling.__dataclass_fields__})

    @property
    def limits(self) -> Limits:
        """Limits on concurrent requests and retries."""
        return Limits(**{name: getattr(self, name) for name in Limits.__dataclass_fields__})

    def check_variables(self) -> None:
        """Refuse settings whose server cannot be asked for want of a key or an address."""
        if unset := [name for name in NEEDED.get(self.provider, ()) if not os.environ.get(name)]:
            raise InputError(
                f"The model {self.model} cannot be asked: Expected {' and '.join(unset)} to be set.\n"
                "For a server that asks for no key, any text will do, or choose provider=local."
            )


AZURE_KEY = "AZURE_API_KEY"
AZURE_VERSION, FIRST_AZURE_VERSION = "API_VERSION", "2024-02-15-preview"
"""The variable of Azure's version of the protocol, and the version without it, as in lmms-eval."""


def open_client(settings: JudgeSettings, path: str) -> ServerClient:
    """The client of a server's endpoint, such as `/chat/completions`."""
    if settings.provider == LOCAL_MODEL:
        raise InputError(
            f"Expected the provider openai, azure or local for {settings.model}, but got {settings.provider}: name the "
            "address of a server that speaks OpenAI's protocol."
        )
    if settings.provider == "azure" and settings.url:
        raise InputError("Expected no url for the provider azure: it reads AZURE_ENDPOINT.")
    settings.check_variables()
    server = parse_address(settings.address, "url" if settings.url else ADDRESSES[settings.provider])
    # An address may be named with the endpoint of chats, as lmms-eval's providers take it.
    server = replace(server, path=server.path.removesuffix(PATH))
    headers: dict[str, str] = {}
    if settings.provider == "openai":
        headers["Authorization"] = f"Bearer {header_value(os.environ[OPENAI_KEY], OPENAI_KEY)}"
    if settings.provider == "azure":
        headers["api-key"] = header_value(os.environ[AZURE_KEY], AZURE_KEY)
        version = os.environ.get(AZURE_VERSION) or FIRST_AZURE_VERSION
        url = server.endpoint(f"/openai/deployments/{quote(settings.model, safe='')}{path}", {"api-version": version})
    else:
        url = server.endpoint(path)
    return ServerClient(server, url, headers, settings.timeout, settings.concurrent)


def open_sender(settings: JudgeSettings, note: Callable[[ChatReply], None] | None = None) -> Send:
    """Return a sender of requests to a server that does not retry; threads share its connections."""
    client = open_client(settings, PATH)
    options = settings.model_dump(include={"model", "temperature", "max_tokens", "top_p", "json_mode"})

    def send(case: Case) -> Reply:
        reply = read_chat(client.post(chat_request(content=chat_content(case.text, case.images), **options)))
        if note is not None:
            note(reply)
        return Reply(client.hide(reply.text), client.hide(reply.model or settings.model))

    return send
