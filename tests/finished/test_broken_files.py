"""Broken submission files: every one is refused, with the whole message that its case holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from broken_files import break_file
from hook_runs import FILES

from lmms_eval_tasks.finished.submit import validate
from lmms_eval_tasks.utils.core.errors import InputError

CASES = json.loads((Path(__file__).parent / "broken.json").read_text("utf-8"))


def test_there_are_twenty_and_some_of_every_benchmark() -> None:
    assert len(CASES) >= 20
    assert {case["benchmark"] for case in CASES} == {"causalvqa", "mvp", "cast_bench", "yocausal"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['benchmark']}: {case['change']}")
def test_a_broken_file_is_refused(
    case: dict[str, Any], world_home: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    assert str(refused.value).splitlines() == case["message"]
