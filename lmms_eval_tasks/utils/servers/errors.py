"""Requests that brought no reply: why, in a line without secrets, and whether to ask again."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import isfinite

TRUST = "SSL_CERT_FILE"
"""What a message about certificates names."""
NEVER_AGAIN = (ConnectionRefusedError, socket.gaierror)
"""Where nobody is; a server that has answered may be back."""


class ServerError(Exception):
    """A request that brought no reply."""

    def __init__(self, reason: str, *, again: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.wait = wait


def connection_error(error: BaseException, has_answered: bool) -> ServerError:
    """Convert an exception of a connection to a server error that says whether to retry."""
    causes = list(_causes(error))
    kind = type(error).__name__
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        text = next(cause.verify_message for cause in causes if isinstance(cause, ssl.SSLCertVerificationError))
        return ServerError(
            f"certificate refused ({text}): where its authority is to be trusted, name the authority's file in {TRUST}",
            again=False,
        )
    if any("407" in str(cause) and "Tunnel connection failed" in str(cause) for cause in causes):
        return proxy_refusal()
    reason = "timed out" if "timeout" in kind.lower() else f"no reply ({kind}: {error})"
    lasting = any(isinstance(cause, ssl.SSLError) for cause in causes)
    absent = any(isinstance(cause, NEVER_AGAIN) and not _may_pass(cause) for cause in causes)
    return ServerError(reason, again=not lasting and (has_answered or not absent))


def _may_pass(error: BaseException) -> bool:
    """Whether it is a name that could not be looked up just now."""
    return isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it was made of; urllib3 hands the original on as an argument."""
    while error is not None:
        yield error
        inner = [value for value in (*error.args, getattr(error, "original_error", None)) if value is not error]
        given = next((value for value in inner if isinstance(value, BaseException)), None)
        error = error.__cause__ or given or error.__context__


def proxy_refusal() -> ServerError:
    """A proxy that wants a user and a password, or others."""
    return ServerError("proxy refused (407): its address has no user and password, or wrong ones", again=False)


def status_error(status: int, headers: Mapping[str, str], text: str, code: str | None) -> ServerError:
    """Convert a status to a server error that says whether to retry."""
    if status == 429:
        if code == "insufficient_quota":
            return ServerError("quota used up (429)", again=False)
        return ServerError("too many requests (429)", again=True, wait=retry_after(headers))
    if status in (408, 409, 425) or status >= 500:
        return ServerError(f"server error ({status})", again=True, wait=retry_after(headers))
    if status in (401, 403):
        # Servers quote the key in their message, and the reason goes into logs.
        return ServerError(f"key refused ({status})", again=False)
    if status == 407:
        return proxy_refusal()
    if status < 400:
        return ServerError(
            f"sent elsewhere ({status}), which is not followed: name the server's own address", again=False
        )
    return ServerError(f"request refused ({status}): {text}", again=False)


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
