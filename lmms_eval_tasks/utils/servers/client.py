"""The client of every server that this package asks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Timeout

from lmms_eval_tasks.utils.core.text import hide_forms, hide_secrets, secret_forms
from lmms_eval_tasks.utils.servers.address import ServerAddress, basic_authorization
from lmms_eval_tasks.utils.servers.environment import find_proxy, trusted_certificates
from lmms_eval_tasks.utils.servers.errors import ServerError, connection_error, status_error

LARGEST = 16 << 20
"""Bytes of a reply that are taken, unpacked; of an error's text, `READ_OF_ERROR`."""
READ_OF_ERROR = 10_000
SHOWN = 200
"""Characters of a reason."""
BLOCK = 1 << 16


class ServerClient:
    """Sends requests to one address of a server; threads share its connections."""

    def __init__(
        self, server: ServerAddress, url: str, headers: Mapping[str, str], timeout: float, at_once: int
    ) -> None:
        self._url, self._timeout = url, timeout
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip", **headers}
        if server.login:
            self._headers["Authorization"] = basic_authorization(server.login)
        self._connections, proxy_login = _open_connections(server, timeout, at_once)
        self._secrets = secret_forms({**os.environ, **self._sent_secrets(server, headers, proxy_login)})
        self._has_answered = False

    def _sent_secrets(self, server: ServerAddress, headers: Mapping[str, str], proxy_login: str) -> dict[str, str]:
        """Return the sent values to be hidden, under names that mark them as secrets; of `Bearer …` the second word."""
        values = [value.rpartition(" ")[2] for value in (*headers.values(), self._headers.get("Authorization", ""))]
        for login in (server.login, proxy_login):
            values += [login, login.partition(":")[2]]
        named = {f"{place}_KEY": value for place, value in enumerate(values)}
        return {**dict(parse_qsl(server.query)), **named}

    def post(self, value: Mapping[str, Any]) -> Any:
        """Send a JSON object and return the JSON value that comes."""
        body = json.dumps(value).encode()
        until = time.monotonic() + self._timeout
        try:
            response = self._connections.request(
                "POST", self._url, body=body, headers=self._headers, preload_content=False, redirect=False
            )
            self._has_answered = True
            try:
                content = _read(response, until)
            finally:
                # Of a reply that was read to its end, the connection was let go of before.
                response.close()
            return json.loads(content)
        except ServerError as error:
            fault = error
        except Exception as error:
            fault = connection_error(error, self._has_answered)
        # Outside the handlers: what was raised there holds the key, and a traceback would show it.
        raise ServerError(safe_line(fault.reason, self._secrets), again=fault.again, wait=fault.wait)

    def hide(self, text: str) -> str:
        """A server's text without the secrets of this client and of the environment, should it repeat them."""
        return hide_forms(text, self._secrets)


def safe_line(text: str, secrets: Iterable[str]) -> str:
    """The beginning of a text as one line, without these secrets and without what looks like one."""
    return " ".join(hide_secrets(hide_forms(text[:READ_OF_ERROR], secrets), {}).split())[:SHOWN]


def _open_connections(server: ServerAddress, timeout: float, at_once: int) -> tuple[PoolManager, str]:
    """The connections to a server, through the proxy that the environment names for it, and that proxy's login."""
    options: dict[str, Any] = {"maxsize": at_once, "retries": False, "timeout": Timeout(connect=timeout, read=timeout)}
    if server.scheme == "https":
        options["ssl_context"] = trusted_certificates()
    proxy = find_proxy(server)
    if proxy is None:
        return PoolManager(**options), ""
    if proxy.scheme == "https":
        options["proxy_ssl_context"] = trusted_certificates()
    if login := proxy.login:
        options["proxy_headers"] = {"Proxy-Authorization": basic_authorization(login)}
    return ProxyManager(proxy.origin, **options), login


def _read(response: BaseHTTPResponse, until: float) -> bytes:
    """The body of a reply."""
    if response.status >= 300:
        content = b""
        for part in _parts(response, until):
            content += part
            if len(content) >= READ_OF_ERROR:
                break
        else:
            response.release_conn()
        text = content[:READ_OF_ERROR].decode("utf-8", "replace")
        raise status_error(response.status, response.headers, text, _error_code(content))
    parts, size = [], 0
    for part in _parts(response, until):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise ServerError(f"a reply of more than {LARGEST >> 20} MB", again=False)
    response.release_conn()
    return b"".join(parts)


def _parts(response: BaseHTTPResponse, until: float) -> Iterator[bytes]:
    """A response's bytes as they come, unpacked; a timeout of the connection starts anew with each."""
    while part := response.read1(BLOCK):
        if time.monotonic() > until:
            raise TimeoutError
        yield part


def _error_code(content: bytes) -> str | None:
    """OpenAI's code of an error; None where a body has none."""
    try:
        code = json.loads(content)["error"]["code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return code if isinstance(code, str) else None
