"""The page on submissions: its commands run, in order."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import printed
from docs import ROOT, blocks
from hook_runs import FILES, write_hook_run
from submission_world import EVERY

from lmms_eval_tasks.registry import registry


@pytest.mark.slow
def test_its_commands_run_from_top_to_bottom(
    world: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("causalvqa", "mvp", "intphys2", "cast_bench"):
        said = {task: answer for task, answer in EVERY.items() if task.startswith(name)}
        write_hook_run(Path("out", f"qwen-{name.replace('_', '-')}"), said)
    shutil.copytree(run, Path("out", "wan"))
    page = ROOT / "docs" / "submissions.md"
    commands = [words for block in blocks(page) for words in block.commands()]
    assert len(commands) == 14
    for program, *arguments in commands:
        assert program == "lmms-eval-tasks"
        printed(*arguments)
    for file in FILES.values():
        written = Path(file).name.replace("causalvqa_test", "causalvqa").replace("intphys2_heldout", "intphys2")
        assert Path(written).read_bytes() == (run / file).read_bytes()
    text = page.read_text("utf-8")
    for benchmark in ("causalvqa", "mvp", "cast_bench", "yocausal"):
        unofficial = [name for name, task in registry().tasks_of(benchmark).items() if task.kind.no_submission]
        assert all(f"`{task}` " in text or f"`{task}` and" in text for task in unofficial)
