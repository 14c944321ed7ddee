"""Requests to servers that speak OpenAI's protocol: what is sent, and what an error says about asking again."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.redaction import hide_known_secrets, hide_secrets
from lmms_eval_tasks.utils.judge.cache import Reply
from lmms_eval_tasks.utils.judge.client import Case, Send, ServerError
from lmms_eval_tasks.utils.judge.settings import ADDRESSES, JudgeSettings

OPENAI = "https://api.openai.com/v1"
SHOWN = 200
READ_OF_ERROR = 10_000
"""Characters of a server's error text that are looked at: it may be of any length."""


class _RefusedRequest(Exception):
    """A reply with an error status, in the form that `server_error` reads."""

    def __init__(self, response: Any, text: str, code: str | None) -> None:
        super().__init__(text)
        self.response = response
        self.code = code


def open_sender(settings: JudgeSettings) -> Send:
    """What sends requests to a server, without trying again; threads share its connections.

    It knows nothing of lmms-eval, whose import takes seconds and most of a gigabyte, and takes a quarter of the
    processor time of lmms-eval's providers: pipelines ask thousands of questions.

    Raises:
        InputError: the server's key is missing, or the provider is azure, which has another protocol.
    """
    import httpx

    if settings.provider == "azure":
        raise InputError("Expected the provider openai or local, but got azure: name its address of OpenAI's protocol.")
    settings.check_variables()
    address = (settings.url or os.environ.get(ADDRESSES[settings.provider], "") or OPENAI).rstrip("/")
    key = os.environ.get("OPENAI_API_KEY", "") if settings.provider == "openai" else ""
    client = httpx.Client(
        headers={"Authorization": f"Bearer {key}"} if key else {},
        limits=httpx.Limits(max_connections=settings.concurrent, max_keepalive_connections=settings.concurrent),
        timeout=settings.timeout,
    )
    url = f"{address.removesuffix('/chat/completions')}/chat/completions"
    options = _options(settings)

    def send(case: Case) -> Reply:
        body = {**options, "messages": [{"role": "user", "content": message_content(case)}]}
        until = time.monotonic() + settings.timeout
        try:
            with client.stream("POST", url, json=body) as response:
                content = b"".join(_until(until, response.iter_bytes()))
            return _read_answer(response, content, settings.model)
        except Exception as error:
            # Not `from error`: its text and its request hold the key.
            raise server_error(error) from None

    return send


def _until(end: float, parts: Iterator[bytes]) -> Iterator[bytes]:
    """Parts of a reply as they come; a client's own timeout starts anew with each.

    Raises:
        TimeoutError: one comes after a moment of the monotonic clock.
    """
    for part in parts:
        if time.monotonic() > end:
            raise TimeoutError
        yield part


def _options(settings: JudgeSettings) -> dict[str, Any]:
    """What a request says beside its messages, in the names that the model's server knows."""
    options: dict[str, Any] = {"model": settings.model}
    # OpenAI's reasoning models have another name for the limit, and refuse a temperature.
    if settings.model.startswith(("gpt-5", "o1", "o3", "o4")):
        options["max_completion_tokens"] = settings.max_tokens
    else:
        options |= {"max_tokens": settings.max_tokens, "temperature": settings.temperature}
    if settings.top_p is not None:
        options["top_p"] = settings.top_p
    if settings.json_mode:
        options["response_format"] = {"type": "json_object"}
    return options


def _read_answer(response: Any, content: bytes, model: str) -> Reply:
    if response.status_code >= 300:
        raise _RefusedRequest(response, content[:READ_OF_ERROR].decode("utf-8", "replace"), _error_code(content))
    value = json.loads(content)
    message = value["choices"][0]["message"]
    text = message["content"]
    if text is None:
        # OpenAI has a field of its own for a refusal.
        text = message.get("refusal") or ""
    texts = (str(text), str(value.get("model") or model))
    return Reply(*(hide_known_secrets(text, os.environ) for text in texts))


def _error_code(content: bytes) -> str | None:
    """OpenAI's code of an error; None where a body has none."""
    try:
        code = json.loads(content)["error"]["code"]
    except (ValueError, TypeError, KeyError):
        return None
    return code if isinstance(code, str) else None


def message_content(case: Case) -> str | list[dict[str, Any]]:
    """A case as a message of OpenAI's protocol."""
    text = case.text.encode("utf-8", "replace").decode("utf-8")
    if not case.images:
        return text
    urls = [f"data:image/jpeg;base64,{base64.b64encode(image).decode('ascii')}" for image in case.images]
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]


def server_error(error: Exception) -> ServerError:
    """What an exception of a provider says about asking again.

    Too many requests, timeouts, lost connections, errors of the server and replies without content may pass; a request
    that the server refuses, and a used-up quota, will not. This is the one place where a server's text enters ours, so
    keys and passwords in it are hidden here.
    """
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    kind = type(error).__name__
    if not isinstance(status, int):
        if isinstance(error, (AttributeError, IndexError, KeyError, TypeError)):
            # The provider looked for the text where OpenAI's protocol has it.
            return ServerError("reply without text", again=True)
        reason = "timed out" if "timeout" in kind.lower() else f"no reply ({kind}: {error})"
        return ServerError(_one_line(reason), again=True)
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    if status == 429:
        if getattr(error, "code", None) == "insufficient_quota":
            return ServerError("quota used up (429)", again=False)
        return ServerError("too many requests (429)", again=True, wait=retry_after(headers))
    if status in (408, 409, 425) or status >= 500:
        return ServerError(f"server error ({status})", again=True, wait=retry_after(headers))
    if status in (401, 403):
        # Servers quote the key in their message, and the reason goes into logs.
        return ServerError(f"key refused ({status})", again=False)
    return ServerError(_one_line(f"request refused ({status}): {error}"), again=False)


def _one_line(text: str) -> str:
    """The beginning of a text as one line without secrets."""
    return " ".join(hide_secrets(text[:READ_OF_ERROR], os.environ).split())[:SHOWN]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait, from ``Retry-After`` (seconds or a date); None where it does not say."""
    text = headers.get("retry-after") or headers.get("Retry-After")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            until = parsedate_to_datetime(text)
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=timezone.utc)
        seconds = (until - datetime.now(timezone.utc)).total_seconds()
    return max(0.0, seconds) if isfinite(seconds) else None
