"""Keeping keys out of what is written down."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "[hidden]"
LEAST = 6
"""A value of fewer characters is no key, and hiding it everywhere would hide words."""

_NAME = r"(?:\w*(?:api[_-]?key|access[_-]?key|token|secret|password|passwd|credential)|key)"
_PLAIN = r"(?!(?:true|false|none|null)\b)"
_NAMED = re.compile(rf"(?i)(?<![\w-])(?P<name>{_NAME}\"?\s*[=:]\s*\"?|(?:--?){_NAME}(?:=|\s+)){_PLAIN}[^\s,;\"'}}]+")
_SHAPED = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|AIza[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{12,})")
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_BEARER = re.compile(r"(?i)(?<=bearer )\S+")
_SECRET_VARIABLE = re.compile(r"(?i)(?:key|token|secret|password|passwd|credentials?)$")


def hide_secrets(text: str, environment: Mapping[str, str]) -> str:
    """A text without keys.

    Hidden are the values of names that end in api_key, token, secret, password or the like, keys of well-known shapes,
    user and password of an address, and every value that a variable of the environment with such a name has.
    """
    known = {value for name, value in environment.items() if _SECRET_VARIABLE.search(name) and len(value) >= LEAST}
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    text = _NAMED.sub(rf"\g<name>{HIDDEN}", text)
    for pattern in (_SHAPED, _IN_ADDRESS, _BEARER):
        text = pattern.sub(HIDDEN, text)
    return text
