"""Breaks a good file in the ways that a case describes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def break_file(content: bytes, edits: Sequence[Mapping[str, Any]]) -> bytes:
    """The file after the edits, in their order.

    An edit has one of these keys: ``replace`` [old, new] in line ``line``, or everywhere without it; ``drop`` [lines];
    ``repeat`` a line at the end; ``prepend`` and ``append`` a text; ``bytes`` [old, new] as hexadecimal; ``set`` [path,
    value] and ``delete`` path in a file that is one JSON object, where numbers in a path count entries from 0.
    """
    for edit in edits:
        if "bytes" in edit:
            old, new = map(bytes.fromhex, edit["bytes"])
            content = _replaced(content, old, new)
        elif "set" in edit or "delete" in edit:
            content = _with_value(content, edit)
        else:
            content = _edited(content.decode("utf-8"), edit).encode("utf-8")
    return content


def _edited(text: str, edit: Mapping[str, Any]) -> str:
    if "prepend" in edit or "append" in edit:
        return edit.get("prepend", "") + text + edit.get("append", "")
    lines = text.splitlines(keepends=True)
    if "drop" in edit:
        return "".join(line for number, line in enumerate(lines, 1) if number not in edit["drop"])
    if "repeat" in edit:
        return text + lines[edit["repeat"] - 1]
    old, new = edit["replace"]
    if "line" not in edit:
        return _replaced(text.encode(), old.encode(), new.encode(), -1).decode()
    line = edit["line"] - 1
    lines[line] = _replaced(lines[line].encode(), old.encode(), new.encode()).decode()
    return "".join(lines)


def _replaced(content: bytes, old: bytes, new: bytes, count: int = 1) -> bytes:
    assert old in content, old
    return content.replace(old, new, count)


def _with_value(content: bytes, edit: Mapping[str, Any]) -> bytes:
    path = edit["set"][0] if "set" in edit else edit["delete"]
    value = json.loads(content)
    inner = value
    *parents, last = path.split(".")
    for part in parents:
        inner = inner[int(part) if isinstance(inner, list) else part]
    if "set" in edit:
        inner[last] = edit["set"][1]
    else:
        del inner[last]
    return json.dumps(value).encode()
