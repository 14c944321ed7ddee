"""Keeping keys and passwords out of what is printed, logged or saved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from urllib.parse import quote

HIDDEN = "[hidden]"
LEAST = 6
"""A value of fewer characters is no key, and hiding it everywhere would hide words."""

_PARTS = r"api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|subscription[_-]?key|token|secret|passphrase"
_WORDS = r"key|pass|pwd|auth|sig|signature|cookie"
_NAME = rf"(?:[\w-]*(?:{_PARTS}|password|passwd|credentials?|authorization)|(?:[\w-]*[_-])?(?:{_WORDS}))"
_NOT_A_NAME = r"(?:cluster|sort|primary|foreign|public|group|partition)[_-]key\b"
_NO_SECRET = r"(?!(?:true|false|none|null)\b)"
_VALUE = r"(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|(?:(?:basic|bearer|digest|token)\s+)?[^\s,;\"'}]+)"
_NAMED = re.compile(
    rf"(?i)(?<![\w-])(?!{_NOT_A_NAME})(?P<name>{_NAME}[\"']?\s*[=:]\s*|--?{_NAME}(?:=|\s+)){_NO_SECRET}{_VALUE}"
)
_SHAPED = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|AIza[A-Za-z0-9_-]{20,}|A[KS]IA[A-Z0-9]{12,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|gsk_[A-Za-z0-9]{16,}"
    r"|nvapi-[\w-]{16,}|r8_[A-Za-z0-9]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s]*(?=@)")
_BEARER = re.compile(r"(?i)(?<=bearer )\S+")
_SECRET_VARIABLE = re.compile(
    r"(?i)(?:key|token|secret|password|passwd|passphrase|credential)s?$|authorization$|(?:^|_)(?:pass|auth)$|_pwd$"
)


def hide_secrets(text: str, environment: Mapping[str, str]) -> str:
    """A text without keys and passwords."""
    text = hide_known_secrets(text, environment)
    for pattern in (_SHAPED, _IN_ADDRESS, _BEARER):
        text = pattern.sub(HIDDEN, text)
    return _NAMED.sub(rf"\g<name>{HIDDEN}", text)


def hide_in_words(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The words of a command as `hide_secrets` leaves them, also the word after an option such as --api_key."""
    after = (
        not word.startswith("-") and option[:1] == "-" and _NAMED.fullmatch(f"{option} x")
        for option, word in pairwise(["", *words])
    )
    return [HIDDEN if named else hide_secrets(word, environment) for named, word in zip(after, words, strict=True)]


def hide_known_secrets(text: str, environment: Mapping[str, str]) -> str:
    """A text without the values of the environment's variables whose names end in KEY, TOKEN, PASSWORD or the like."""
    return hide_forms(text, secret_forms(environment))


def secret_forms(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What `hide_known_secrets` hides of an environment, the longest first: found once, to be hidden in many texts."""
    values = {value for name, value in environment.items() if _SECRET_VARIABLE.search(name)}
    values |= {part for value in values for part in re.split(r"[,;\s]+", value)}
    written = {form for value in values for form in (value, quote(value, safe="", errors="replace"), _in_json(value))}
    return tuple(sorted((form for form in written if len(form) >= LEAST), key=len, reverse=True))


def hide_forms(text: str, forms: Iterable[str]) -> str:
    """A text without what `secret_forms` gave."""
    for form in forms:
        text = text.replace(form, HIDDEN)
    return text


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]
