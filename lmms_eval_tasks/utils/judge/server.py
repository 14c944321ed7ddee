"""Judges and other models behind servers that speak OpenAI's protocol, with the settings to reach and ask them."""

from __future__ import annotations

import logging
import os
import socket
import ssl
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, TypeVar
from urllib.parse import quote
from urllib.request import getproxies

import certifi
import httpx
import openai

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import hide_forms, hide_secrets, secret_forms
from lmms_eval_tasks.utils.judge.replies import ADDRESSES, Case, JudgeReply, JudgeSettings, Send, ServerError

LARGEST = 16 << 20
"""Bytes of a reply that are taken, unpacked; of an error's text, `READ_OF_ERROR`."""
READ_OF_ERROR = 10_000
SHOWN = 200
"""Characters of a reason."""
OPENAI_KEY = "OPENAI_API_KEY"
NEEDED = {"openai": (OPENAI_KEY,), "azure": ("AZURE_API_KEY", "AZURE_ENDPOINT"), "local": ()}
"""The variables without which a provider cannot be asked, its key first."""
DEFAULTS = {"openai": "https://api.openai.com/v1", "local": "http://localhost:8000/v1"}
AZURE_VERSION = "2024-02-15-preview"
"""The version of Azure's protocol where API_VERSION is not set, as in lmms-eval."""
TRUSTED = "SSL_CERT_FILE"

T = TypeVar("T")

# They log whole addresses, with the passwords and keys in them.
for _name in ("httpx", "openai"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Server:
    """A server that settings name; nothing is sent to open it, no request is repeated, and threads may share it."""

    def __init__(self, settings: JudgeSettings) -> None:
        if settings.provider not in NEEDED:
            raise InputError(
                f"Expected the provider openai, azure or local for {settings.model}, but got {settings.provider}: name "
                "the address of a server that speaks OpenAI's protocol."
            )
        if settings.provider == "azure" and settings.url:
            raise InputError("Expected no url for the provider azure: it reads AZURE_ENDPOINT.")
        needed = NEEDED[settings.provider]
        if unset := [name for name in needed if not os.environ.get(name)]:
            raise InputError(
                f"The model {settings.model} cannot be asked: Expected {' and '.join(unset)} to be set.\n"
                "For a server that asks for no key, any text will do, or choose provider=local."
            )
        named = "url" if settings.url else ADDRESSES[settings.provider]
        address = parse_address(settings.address or DEFAULTS[settings.provider], named)
        # An address may be named with the endpoint of chats, as lmms-eval's providers take it.
        base = str(address.copy_with(query=None, fragment=None)).rstrip("/").removesuffix("/chat/completions")
        query = address.params
        key = _read_key(needed[0]) if needed else ""
        self._headers: dict[str, Any] = {"Accept-Encoding": "gzip"}
        if settings.provider == "azure":
            base += f"/openai/deployments/{quote(settings.model, safe='')}"
            version = os.environ.get("API_VERSION") or AZURE_VERSION
            query = httpx.QueryParams({"api-version": version}).merge(query)
            self._headers["api-key"] = key
        if settings.provider != "openai":
            # Without these, the client sends what the environment has for OpenAI.
            self._headers |= dict.fromkeys(("Authorization", "OpenAI-Organization", "OpenAI-Project"), openai.Omit())
        self._http = _open_connections(settings, query)
        self.client = openai.OpenAI(
            api_key=key or "none", base_url=base, max_retries=0, timeout=settings.timeout,
            http_client=self._http,  # type: ignore[arg-type]
        )  # fmt: skip
        proxies = [value for scheme, value in getproxies().items() if scheme in ("http", "https", "all") and value]
        addresses = [address, *(httpx.URL(value if "://" in value else f"http://{value}") for value in proxies)]
        sent = [key, *(part for one in addresses if one.userinfo for part in _login(one))]
        # Names that mark the values as secrets.
        secrets = {f"{place}_KEY": value for place, value in enumerate(sent)}
        self._secrets = secret_forms({**os.environ, **address.params, **secrets})

    def ask(self, create: Callable[..., T], **request: Any) -> T:
        """Return what one of the client's functions returns, or raise a `ServerError`."""
        try:
            return create(**request, extra_headers=self._headers)
        except Exception as error:
            fault = _as_fault(error, self._http.has_answered)
        # Outside the handler: what was raised there holds the key, and a traceback would show it.
        raise ServerError(safe_line(fault.reason, self._secrets), again=fault.again, wait=fault.wait)

    def hide(self, text: str) -> str:
        return hide_forms(text, self._secrets)


def open_sender(settings: JudgeSettings, note: Callable[[str, int, int], None] | None = None) -> Send:
    """Return a sender of chats to a server; `note` gets the model and the tokens of each prompt and reply."""
    server = Server(settings)
    # OpenAI's reasoning models have another name for the limit, and refuse a temperature.
    if settings.model.startswith(("gpt-5", "o1", "o3", "o4")):
        options: dict[str, Any] = {"max_completion_tokens": settings.max_tokens}
    else:
        options = {"max_tokens": settings.max_tokens, "temperature": settings.temperature}
    if settings.top_p is not None:
        options["top_p"] = settings.top_p
    if settings.json_mode:
        options["response_format"] = {"type": "json_object"}

    def send(case: Case) -> JudgeReply:
        content: Any = case.text.encode("utf-8", "replace").decode("utf-8")
        if case.images:
            urls = [f"data:image/jpeg;base64,{b64encode(image).decode('ascii')}" for image in case.images]
            pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            content = [{"type": "text", "text": content}, *pictures]
        create, messages = server.client.chat.completions.create, [{"role": "user", "content": content}]
        reply: Any = server.ask(create, model=settings.model, messages=messages, **options)
        try:
            message = reply.choices[0].message
            # OpenAI has a field of its own for a refusal.
            text = message.content if message.content is not None else getattr(message, "refusal", None)
        except (AttributeError, IndexError, KeyError, TypeError):
            raise ServerError("reply without text", again=True) from None
        model = str(getattr(reply, "model", None) or settings.model)
        if note is not None:
            usage = getattr(reply, "usage", None)
            asked, said = (getattr(usage, name, 0) for name in ("prompt_tokens", "completion_tokens"))
            note(model, asked if isinstance(asked, int) else 0, said if isinstance(said, int) else 0)
        return JudgeReply(server.hide(str(text or "")), server.hide(model))

    return send


def parse_address(text: str, name: str) -> httpx.URL:
    """Return a server's address; a message about a wrong one names the setting and quotes no secret."""
    text = text.strip()
    scheme, separator, _ = text.partition("://")
    got, address = "", httpx.URL()
    if not separator:
        got = "no scheme"
    elif scheme.lower() not in ("http", "https"):
        got = f"{scheme}://" if scheme.isalpha() else "another scheme"
    elif any(character.isspace() or not character.isprintable() for character in text):
        got = "white space or a line break in it"
    else:
        with suppress(httpx.InvalidURL):
            address = httpx.URL(text)
        if not address.host or (address.port is not None and not 0 < address.port < 1 << 16):
            got = "another host or port"
        elif address.port and not address.userinfo and "@" in f"{address.path}{address.query!r}{address.fragment}":
            got = "an @ behind the host: write /, ? and # of a password as %2F, %3F, %23"
    if got:
        raise InputError(f"Expected {name} to be an address such as http://localhost:8000/v1, but got {got}.")
    return address


def _login(address: httpx.URL) -> tuple[str, ...]:
    """Return the secrets that open an address, as they are written and sent."""
    login = f"{address.username}:{address.password}"
    return address.password, login, b64encode(login.encode("utf-8", "surrogatepass")).decode("ascii")


def _read_key(variable: str) -> str:
    """Return a key without the line break with which files of keys end."""
    key = os.environ[variable].strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            f"Expected {variable} to hold one key, in one line of ASCII characters, but it has a line break or others."
        )
    return key


class _Connections(httpx.Client):
    """Connections that follow no redirect, as the key would go with it, and take replies up to a size and a time."""

    has_answered = False

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        until = time.monotonic() + (self.timeout.read or 0.0)
        response = super().send(request, **{**options, "stream": True})
        self.has_answered = True
        most = LARGEST if response.is_success else READ_OF_ERROR
        unpacker = zlib.decompressobj(31) if response.headers.get("Content-Encoding") == "gzip" else None
        body = bytearray()
        with closing(response):
            for part in response.iter_raw():
                # A timeout of the connection begins anew with each part.
                if time.monotonic() > until:
                    raise httpx.ReadTimeout("", request=request)
                body += unpacker.decompress(part, most + 1 - len(body)) if unpacker else part
                if len(body) > most:
                    break
        if response.is_success and len(body) > most:
            raise ServerError(f"a reply of more than {LARGEST >> 20} MB", again=False)
        # Whatever type a server names: of any other, the client would not read the JSON.
        headers = {"Content-Type": "application/json", "Retry-After": response.headers.get("Retry-After", "")}
        return httpx.Response(response.status_code, headers=headers, content=bytes(body[:most]), request=request)


def _open_connections(settings: JudgeSettings, query: httpx.QueryParams) -> _Connections:
    """Open connections by the proxies and certificates that the environment names."""
    named, system = os.environ.get(TRUSTED), ssl.get_default_verify_paths()
    try:
        context = ssl.create_default_context(cafile=named or (None if any(system[:2]) else certifi.where()))
    except OSError as error:
        raise InputError(f"Expected {TRUSTED} to name a file of certificates, but {named}: {error.strerror}.") from None
    limits = httpx.Limits(max_keepalive_connections=settings.concurrent)
    try:
        return _Connections(verify=context, params=query, timeout=settings.timeout, limits=limits)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        # The others quote the address, perhaps with its password.
        got = f": {error}" if isinstance(error, ImportError) else ""
    raise InputError(
        "Expected HTTP_PROXY, HTTPS_PROXY and ALL_PROXY to be addresses such as http://localhost:3128 or "
        f"socks5://localhost:1080, but one of them cannot be used{got or '.'}"
    )


def safe_line(text: str, secrets: Iterable[str]) -> str:
    """Return the beginning of a text as one line, without these secrets and without what looks like one."""
    return " ".join(hide_secrets(hide_forms(text[:READ_OF_ERROR], secrets), {}).split())[:SHOWN]


def _as_fault(error: Exception, has_answered: bool) -> ServerError:
    """Convert whatever the client raises into the reason why there is no reply; it may still hold secrets."""
    causes: list[BaseException] = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, ServerError):
            return cause
        if isinstance(cause, openai.APIStatusError):
            return _refusal(cause.status_code, cause.response.headers.get("Retry-After", ""), cause)
        if isinstance(cause, ssl.SSLCertVerificationError):
            remedy = f"where its authority is to be trusted, name the authority's file in {TRUSTED}"
            return ServerError(f"certificate refused ({cause.verify_message}): {remedy}", again=False)
        if isinstance(cause, httpx.ProxyError) and "407" in str(cause):
            return _refusal(407)
        if isinstance(cause, (httpx.TimeoutException, TimeoutError)):
            return ServerError("timed out", again=True)
    shown = next((cause for cause in causes if not isinstance(cause, openai.APIConnectionError)), error)
    # A name that could not be looked up just now may be found later.
    absent = any(
        isinstance(cause, (ConnectionRefusedError, socket.gaierror)) and cause.errno != socket.EAI_AGAIN
        for cause in causes
    )
    lasting = any(isinstance(cause, ssl.SSLError) for cause in causes)
    again = not lasting and (has_answered or not absent)
    return ServerError(f"no reply ({type(shown).__name__}: {shown})", again=again)


def _refusal(status: int, wait: str = "", error: openai.APIStatusError | None = None) -> ServerError:
    if status == 429 and error is not None and error.code == "insufficient_quota":
        return ServerError("quota used up (429)", again=False)
    if status in (408, 409, 425, 429) or status >= 500:
        kind = "too many requests" if status == 429 else "server error"
        return ServerError(f"{kind} ({status})", again=True, wait=retry_after(wait))
    if status in (401, 403):
        # Servers quote the key in their message, and the reason goes into logs.
        return ServerError(f"key refused ({status})", again=False)
    if status == 407:
        return ServerError("proxy refused (407): its address has no user and password, or wrong ones", again=False)
    if status < 400:
        reason = f"sent elsewhere ({status}), which is not followed: name the server's own address"
        return ServerError(reason, again=False)
    return ServerError(f"request refused ({status}): {error.response.text if error else ''}", again=False)


def retry_after(text: str) -> float | None:
    """Return the seconds that a `Retry-After` asks to wait, in seconds or as a date; None where it says none."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            until = parsedate_to_datetime(text)
            seconds = (until.replace(tzinfo=until.tzinfo or timezone.utc) - datetime.now(timezone.utc)).total_seconds()
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
    return max(0.0, seconds) if isfinite(seconds) else None
