"""Own scenes that are really rendered: a build that was killed goes on, and ends as one that was left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from host_run import environment
from sample_runs import at
from small_worlds import rolling, wait_until

from lmms_eval_tasks.api.release import as_lines
from lmms_eval_tasks.worlds.benchmark import prepare

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_renderer")]

COMMAND = """
import os
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
from lmms_eval_tasks.cli.app import app
app()
"""
"""`lmms-eval-tasks` on one core: each further process would import everything again."""


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    """A file of two scenes, with what is drawn of them once."""
    from lmms_eval_tasks.worlds.kept_scenes import read_drafts, write_drafts

    shown = [rolling("slow"), rolling("fast", velocity=2.5)]
    path = tmp_path / "scenes.jsonl"
    lines = [scene.model_copy(update={"family": "chain"}).model_dump(mode="json") for scene in shown]
    path.write_text(as_lines(lines), encoding="utf-8")
    write_drafts(read_drafts(path, processes=1), path)
    return path


def start(home: Path, scenes: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "prepare", "worlds", "--scenes", str(scenes)],
        env=environment(home), stdout=subprocess.DEVNULL,
    )  # fmt: skip


def prepared(home: Path, scenes: Path) -> dict[str, bytes]:
    """What is prepared in a home: table, manifest, scenes and clips, by their paths."""
    with at(home):
        prepare(scenes=scenes)
    folder = home / "worlds"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_killed_build_ends_as_one_that_was_left_alone(
    scenes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, alone = tmp_path / "killed", tmp_path / "alone"
    process = start(killed, scenes)
    wait_until(lambda: len(list(killed.rglob("clips/*.mp4"))) >= 1 or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not (killed / "worlds").exists()
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    made = prepared(killed, scenes)
    assert "manifest.json" in made and len([name for name in made if name.startswith("videos/")]) >= 3
    assert made == prepared(alone, scenes)
