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
from urllib.request import getproxies, proxy_bypass

from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Timeout

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.redaction import hide_forms, hide_secrets, secret_forms
from lmms_eval_tasks.utils.judge.cache import Reply
from lmms_eval_tasks.utils.judge.client import Case, Send, ServerError
from lmms_eval_tasks.utils.judge.settings import ADDRESSES, JudgeSettings

OPENAI = "https://api.openai.com/v1"
SHOWN = 200
READ_OF_ERROR = 10_000
"""Characters of a server's error text that are looked at: it may be of any length."""


class _RefusedRequest(Exception):
    """A reply with an error status, in the form that `server_error` reads."""

    def __init__(self, response: BaseHTTPResponse, text: str, code: str | None) -> None:
        super().__init__(text)
        self.response = response
        self.status_code = response.status
        self.code = code


def open_sender(settings: JudgeSettings) -> Send:
    """What sends requests to a server, without trying again; threads share its connections.

    It knows nothing of lmms-eval, whose import takes seconds and most of a gigabyte, and takes a quarter of the
    processor time of lmms-eval's providers: pipelines ask thousands of questions.

    Raises:
        InputError: the server's key is missing, or the provider has another protocol.
    """
    if settings.provider not in ("openai", "local"):
        raise InputError(
            f"Expected the provider openai or local for {settings.model}, but got {settings.provider}: name the "
            "address of a server that speaks OpenAI's protocol."
        )
    settings.check_variables()
    address = (settings.url or os.environ.get(ADDRESSES[settings.provider], "") or OPENAI).rstrip("/")
    url = f"{address.removesuffix('/chat/completions')}/chat/completions"
    key = os.environ.get("OPENAI_API_KEY", "") if settings.provider == "openai" else ""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    connections = _open_connections(url, settings)
    options = _options(settings)
    secrets = secret_forms(os.environ)

    def send(case: Case) -> Reply:
        body = json.dumps({**options, "messages": [{"role": "user", "content": message_content(case)}]}).encode()
        until = time.monotonic() + settings.timeout
        try:
            response = connections.request("POST", url, body=body, headers=headers, preload_content=False)
            try:
                content = b"".join(_parts(response, until))
            except BaseException:
                response.close()
                raise
            response.release_conn()
            text, model = _read_answer(response, content)
            return Reply(hide_forms(text, secrets), hide_forms(model or settings.model, secrets))
        except Exception as error:
            # Not `from error`: its text and its request hold the key.
            raise server_error(error) from None

    return send


def _open_connections(url: str, settings: JudgeSettings) -> PoolManager:
    """The connections to a server, through the proxy that the environment names for it."""
    options: dict[str, Any] = {
        "maxsize": settings.concurrent,
        "retries": False,
        "timeout": Timeout(connect=settings.timeout, read=settings.timeout),
    }
    scheme, _, rest = url.partition("://")
    proxy = None if proxy_bypass(rest.partition("/")[0]) else getproxies().get(scheme)
    return ProxyManager(proxy, **options) if proxy else PoolManager(**options)


def _parts(response: BaseHTTPResponse, until: float) -> Iterator[bytes]:
    """A response's bytes as they come; a timeout of the connection starts anew with each.

    Raises:
        TimeoutError: some come after a moment of the monotonic clock.
    """
    while part := response.read1():
        if time.monotonic() > until:
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


def _read_answer(response: BaseHTTPResponse, content: bytes) -> tuple[str, str | None]:
    """The text of a reply, and the name that the server gives the model."""
    if response.status >= 300:
        raise _RefusedRequest(response, content[:READ_OF_ERROR].decode("utf-8", "replace"), _error_code(content))
    value = json.loads(content)
    message = value["choices"][0]["message"]
    # OpenAI has a field of its own for a refusal.
    text = message["content"] if message["content"] is not None else message.get("refusal")
    return str(text or ""), value.get("model") and str(value["model"])


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
    status = getattr(response, "status_code", getattr(error, "status_code", None))
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
