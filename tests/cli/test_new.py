"""`new` refuses names and folders that cannot be a benchmark's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import printed, refusal


def test_names_and_folders_that_cannot_be_a_benchmark_are_refused(
    expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("ball-bounce", "2balls", "balls_", "bälle", "class", "mvp", "mvp_mini", "mvp_mini_blind", "json")
    said = [refusal("new", name) for name in names]
    Path("ball_bounce").mkdir()
    wrote = printed("new", "ball_bounce")
    before = sorted(Path().rglob("*"))
    said += [refusal("new", "ball_bounce"), refusal("new", "balls", "--out", "ball_bounce/setup.cfg"), wrote]
    assert sorted(Path().rglob("*")) == before
    files = [path for path in before if path.is_file()]
    assert not any("NAME" in path.read_text("utf-8") for path in files)
    said.append("".join(f"{path.as_posix()}\n" for path in files))
    expected("\n".join(said))
