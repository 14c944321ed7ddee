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
    """The file after the edits, in their order; it is taken for Latin-1, so that an edit can name any byte.

    Lines are counted from 1, and the entries of a list in a path from 0.
    """
    text = content.decode("latin-1")
    for edit in edits:
        lines = text.splitlines(keepends=True)
        match edit:
            case {"replace": [old, new], "line": number}:
                assert old in lines[number - 1]
                lines[number - 1] = lines[number - 1].replace(old, new, 1)
                text = "".join(lines)
            case {"replace": [old, new]}:
                assert old in text
                text = text.replace(old, new)
            case {"drop": numbers}:
                text = "".join(line for number, line in enumerate(lines, 1) if number not in numbers)
            case {"repeat": number}:
                text += lines[number - 1]
            case {"set": path} | {"delete": path}:
                value = inner = json.loads(text)
                *parents, last = path.split(".")
                for part in parents:
                    inner = inner[int(part) if isinstance(inner, list) else part]
                inner[last] = edit.get("to")
                if "delete" in edit:
                    del inner[last]
                text = json.dumps(value)
            case _:
                text = edit.get("prepend", "") + text + edit.get("append", "")
    return text.encode("latin-1")


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
