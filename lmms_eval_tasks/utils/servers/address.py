"""Addresses of servers, and what opens them: a key, or a user and a password. No message quotes any of these."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from lmms_eval_tasks.utils.core.errors import InputError

SCHEMES = ("http", "https")


@dataclass(frozen=True)
class ServerAddress:
    """Address of a server."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: str = field(repr=False)
    login: str = field(repr=False)

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port else "")

    @property
    def shown(self) -> str:
        """The address without what may be secret."""
        return f"{self.origin}{self.path}" + ("?…" if self.query else "")

    def endpoint(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """The address of a path below this one, with this one's query, which comes before what is added to it."""
        given = dict(parse_qsl(self.query))
        more = urlencode({name: value for name, value in (query or {}).items() if name not in given})
        whole = "&".join(part for part in (self.query, more) if part)
        return f"{self.origin}{self.path}{path}" + (f"?{whole}" if whole else "")


def parse_address(text: str, name: str) -> ServerAddress:
    """Read an address."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise InputError(_wrong(name, "another host or port")) from None
    if parts.scheme.lower() not in SCHEMES or "://" not in text:
        # Of "localhost:8000" the scheme would be the host.
        got = f"{parts.scheme}://" if "://" in text and parts.scheme else "no scheme"
        raise InputError(_wrong(name, got))
    if any(character.isspace() or not character.isprintable() for character in text):
        raise InputError(_wrong(name, "white space or a line break in it"))
    if not host:
        raise InputError(_wrong(name, "no host"))
    if port == 0:
        raise InputError(_wrong(name, "port 0"))
    if "@" not in parts.netloc and ":" in parts.netloc and "@" in f"{parts.path}{parts.query}{parts.fragment}":
        raise InputError(_wrong(name, "an @ behind the host: write /, ? and # of a password as %2F, %3F, %23"))
    return ServerAddress(parts.scheme.lower(), host, port, parts.path.rstrip("/"), parts.query, _login(parts))


def _wrong(name: str, got: str) -> str:
    return f"Expected {name} to be an address such as http://localhost:8000/v1, but got {got}."


def _login(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def basic_authorization(login: str) -> str:
    """The header's value for `user:password`."""
    return f"Basic {base64.b64encode(login.encode('utf-8', 'surrogatepass')).decode('ascii')}"


def header_value(key: str, variable: str) -> str:
    """A key as a header can have it: without the white space around it, as files of keys end with a line break."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            f"Expected {variable} to hold one key, in one line of ASCII characters, but it has a line break or others."
        )
    return key
