"""Judges and other models behind servers that speak OpenAI's protocol, as `JudgeSettings` names them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.judge.cache import Reply
from lmms_eval_tasks.utils.judge.client import Case, Send
from lmms_eval_tasks.utils.judge.settings import ADDRESSES, LOCAL_MODEL, JudgeSettings
from lmms_eval_tasks.utils.servers.address import header_value, parse_address
from lmms_eval_tasks.utils.servers.chat import OPENAI_KEY, PATH, ChatReply, chat_content, chat_request, read_chat
from lmms_eval_tasks.utils.servers.client import ServerClient

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
    """What sends requests to a server, without trying again; threads share its connections."""
    client = open_client(settings, PATH)
    options = settings.model_dump(include={"model", "temperature", "max_tokens", "top_p", "json_mode"})

    def send(case: Case) -> Reply:
        reply = read_chat(client.post(chat_request(content=chat_content(case.text, case.images), **options)))
        if note is not None:
            note(reply)
        return Reply(client.hide(reply.text), client.hide(reply.model or settings.model))

    return send
