"""Broken submission files: every one is refused, with all that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from hook_runs import FILES

from lmms_eval_tasks.finished.submit import validate
from lmms_eval_tasks.utils.core.errors import InputError

CASES = json.loads((Path(__file__).parent / "broken.json").read_text("utf-8"))


def break_file(content: bytes, edits: Sequence[Mapping[str, Any]]) -> bytes:
    """The file after the edits, in their order.

    An edit has one of these keys: ``replace`` [old, new] in line ``line``, or everywhere without it; ``drop`` [lines];
    ``repeat`` a line at the end; ``prepend`` and ``append`` a text; ``bytes`` [old, new] as hexadecimal; ``set`` [path,
    value] and ``delete`` path in a file that is one JSON object, where numbers in a path count entries from 0.
    """
    for edit in edits:
        lines = content.splitlines(keepends=True)
        if "set" in edit or "delete" in edit:
            content = with_value(content, edit)
        elif "bytes" in edit:
            content = replaced(content, *map(bytes.fromhex, edit["bytes"]))
        elif "drop" in edit:
            content = b"".join(line for number, line in enumerate(lines, 1) if number not in edit["drop"])
        elif "repeat" in edit:
            content += lines[edit["repeat"] - 1]
        elif "replace" in edit:
            old, new = (text.encode() for text in edit["replace"])
            place = edit.get("line", 0) - 1
            if place >= 0:
                lines[place] = replaced(lines[place], old, new)
            content = b"".join(lines) if place >= 0 else replaced(content, old, new, -1)
        else:
            content = edit.get("prepend", "").encode() + content + edit.get("append", "").encode()
    return content


def replaced(content: bytes, old: bytes, new: bytes, count: int = 1) -> bytes:
    assert old in content, old
    return content.replace(old, new, count)


def with_value(content: bytes, edit: Mapping[str, Any]) -> bytes:
    path = edit["set"][0] if "set" in edit else edit["delete"]
    value = inner = json.loads(content)
    *parents, last = path.split(".")
    for part in parents:
        inner = inner[int(part) if isinstance(inner, list) else part]
    if "set" in edit:
        inner[last] = edit["set"][1]
    else:
        del inner[last]
    return json.dumps(value).encode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['benchmark']}: {case['change']}")
def test_a_broken_file_is_refused(
    case: dict[str, Any],
    world: Path,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    expected: Expected,
) -> None:
    good = (run / FILES[case["benchmark"], case.get("part", "")]).read_bytes()
    monkeypatch.chdir(tmp_path)
    if not case.get("prepared", True):
        monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "empty"))
    Path("good").write_bytes(good)
    validate(case["benchmark"], Path("good"))
    Path("broken").write_bytes(break_file(good, case["edits"]))
    with pytest.raises(InputError) as refused:
        validate(case["benchmark"], Path("broken"))
    expected(str(refused.value))
