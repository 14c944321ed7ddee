"""Which blind views `make real` asks, and which model `make demo` shows."""

from __future__ import annotations

import importlib
import os
import subprocess
from pathlib import Path

import pytest
from docs import ROOT
from sample_runs import prepared_sample

from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.registry import registry

STAND_INS = {
    # Of `tools/real.py`, the only thing that the demo asks python for.
    "python": 'echo "$*" >> "$CALLS"; echo "why it cannot run"; exit $STATUS',
    "lmms-eval-tasks": 'echo "$1" >> "$CALLS"',
    "lmms-eval": 'mkdir -p "$2"; echo "$*" >> "$CALLS"; echo "mvp_mini: pair accuracy 1.0%"',
}


@pytest.mark.slow
def test_every_item_that_can_be_asked_blind_is_asked_once(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = prepared_sample(tmp_path_factory)
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
    monkeypatch.syspath_prepend(ROOT / "tools")
    chosen = importlib.import_module("real").blind_tasks(home)
    evaluation = Evaluation(clips_needed=False)

    def items(name: str) -> list[tuple[str, str]]:
        members = registry().find_members(name.removesuffix("_blind"))
        return [
            (task.benchmark.name, item) for task in members for item in evaluation.open_items(task.pointer)["item_id"]
        ]

    asked = [item for name in chosen for item in items(name)]
    assert len(asked) == len({*asked})
    assert all(registry().find_members(name) for name in chosen)
    blind = [
        name
        for name, task in registry().tasks.items()
        if "blind" in task.kind.views and task.kind.judge != "required" and task.kind.answer_form == "words"
    ]
    assert {*asked} == {item for name in blind for item in items(name)}


@pytest.mark.parametrize("missing", [False, True])
def test_the_demo_shows_random_weights_only_where_the_released_model_cannot_run(tmp_path: Path, missing: bool) -> None:
    stand_ins, out, calls = tmp_path / "bin", tmp_path / "out", tmp_path / "calls"
    for folder in (stand_ins, out / "runs" / "sample_solver", out / "logs"):
        folder.mkdir(parents=True)
    for name, text in STAND_INS.items():
        (stand_ins / name).write_text(f"#!/bin/sh\n{text}\n")
        (stand_ins / name).chmod(0o755)
    (out / "logs" / "smollm2.txt").write_text("mvp_mini_blind: pair accuracy 2.0%\n")
    path = f"{stand_ins}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "CALLS": str(calls), "STATUS": str(int(missing))}
    command = [ROOT / "examples" / "demo.sh", out]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert f"{out} --parts demo" in calls.read_text()
    assert calls.read_text().count(",worlds_minimal --model") == 2
    assert ("--model qwen2_5_vl" in calls.read_text()) == missing
    assert ("a tiny Qwen2.5-VL of random weights answers in its place: why it cannot run" in said) == missing
    assert ("\nsmollm2\n  mvp_mini_blind: pair accuracy 2.0%\n" in said) != missing
    assert ("\ntiny-qwen2.5-vl\n  mvp_mini: pair accuracy 1.0%\n" in said) == missing
