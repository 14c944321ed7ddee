"""OpenAI's protocol of chats: what is asked, and where the text of a reply is."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_tasks.utils.servers.errors import ServerError

PATH = "/chat/completions"
OPENAI_KEY = "OPENAI_API_KEY"
"""The variable of the key."""


@dataclass(frozen=True)
class ChatReply:
    """A reply."""

    text: str
    model: str | None
    usage: dict[str, Any]


def chat_content(text: str, images: Sequence[bytes] = ()) -> str | list[Mapping[str, Any]]:
    """A message: a text, with pictures behind it."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    if not images:
        return text
    urls = [f"data:image/jpeg;base64,{base64.b64encode(image).decode('ascii')}" for image in images]
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]


def chat_request(
    model: str,
    content: Any,
    *,
    temperature: float = 0.0,
    max_tokens: int | None = None,
    top_p: float | None = None,
    json_mode: bool = False,
) -> dict[str, Any]:
    """A request with one message, in the names that the model's server knows."""
    request: dict[str, Any] = {"model": model}
    # OpenAI's reasoning models have another name for the limit, and refuse a temperature.
    reasons = model.startswith(("gpt-5", "o1", "o3", "o4"))
    if max_tokens is not None:
        request["max_completion_tokens" if reasons else "max_tokens"] = max_tokens
    if not reasons:
        request["temperature"] = temperature
    if top_p is not None:
        request["top_p"] = top_p
    if json_mode:
        request["response_format"] = {"type": "json_object"}
    return {**request, "messages": [{"role": "user", "content": content}]}


def read_chat(value: Any) -> ChatReply:
    """The reply of a server."""
    try:
        message = value["choices"][0]["message"]
        # OpenAI has a field of its own for a refusal.
        text = message["content"] if message["content"] is not None else message.get("refusal")
        model, usage = value.get("model"), value.get("usage")
    except (AttributeError, IndexError, KeyError, TypeError):
        raise ServerError("reply without text", again=True) from None
    return ChatReply(str(text or ""), str(model) if model else None, usage if isinstance(usage, dict) else {})
