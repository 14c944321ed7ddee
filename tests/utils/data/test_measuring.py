"""Measuring clips while a set is prepared: each once, kept over an interruption, and again where it is another clip."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.prepare import measure_clips


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    names, kept, asked = ["a.mp4", "b.mp4", "c.mp4"], tmp_path / "test.measured", []
    for name in names:
        (tmp_path / name).write_bytes(name.encode())

    def measure(path: Path) -> dict[str, Any]:
        asked.append(path.name)
        return {"size": path.stat().st_size}

    def stop(what: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_clips(tmp_path, names, measure, kept, stop, "measuring")
    (first,) = kept.iterdir()
    done_before = len(first.read_text(encoding="utf-8").splitlines())
    with first.open("a", encoding="utf-8") as file:
        file.write('{"cut off')
    assert done_before >= 1
    asked.clear()
    found = measure_clips(tmp_path, names, measure, kept, no_progress, "measuring")
    assert found == {name: {"size": 5} for name in names} and len(asked) == 3 - done_before

    (tmp_path / "b.mp4").write_bytes(b"another")
    os.utime(tmp_path / "b.mp4", ns=(1, 1))
    asked.clear()
    assert measure_clips(tmp_path, names, measure, kept, no_progress, "measuring")["b.mp4"] == {"size": 7}
    assert asked == ["b.mp4"]
