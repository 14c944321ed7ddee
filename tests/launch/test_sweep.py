"""Sweeps: the command of each setting, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

from commands import call
from expected import Expected
from refusals import refusal

from lmms_eval_tasks.launch.plan import make_sweep

PRINTS = """
import json, os, pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--output_path") + 1])
assert "LMMS_EVAL_TASKS_SHARD" not in os.environ
(out / "given.txt").write_text(sys.argv[sys.argv.index("--model_args") + 1].replace("made-up" + "-key", "the key"))
(out / "1_results.json").write_text("{}")
"""


def test_each_combination_of_settings_is_a_run_with_an_output_path_of_its_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "--model_args", "pretrained=x,api_key=made-up-key", f"--output_path={out}"]
    plan = make_sweep(command, ["max_num_frames=4,8", "max_new_tokens=16,64"])
    assert [part.name for part in plan.parts] == [
        "max_num_frames-4_max_new_tokens-16", "max_num_frames-4_max_new_tokens-64",
        "max_num_frames-8_max_new_tokens-16", "max_num_frames-8_max_new_tokens-64",
    ]  # fmt: skip
    assert plan.command_of(plan.parts[1]) == (
        sys.executable, "--model_args", "pretrained=x,api_key=[hidden],max_num_frames=4",
        f"--output_path={out}/max_num_frames-4_max_new_tokens-64", "--gen_kwargs", "max_new_tokens=64",
    )  # fmt: skip
    with plan.kept():
        assert "made-up-key" not in (out / "sweep" / "launch.json").read_text()
    with make_sweep(command, ["max_num_frames=4,8,16"]).kept():
        """Further values belong to the same sweep."""


def test_what_cannot_be_swept_is_refused(tmp_path: Path, home: Path, expected: Expected) -> None:
    command = [sys.executable, "--output_path", str(tmp_path / "out"), "--gen_kwargs", "temperature=0"]
    asked = ("fps", "fps=1,", "fps=1", "fps=1,1.0", "a/b=1,2", "think=yes,no", "temperature=0,1")
    refused = [refusal(make_sweep, command, [given]) for given in asked]
    refused.append(refusal(make_sweep, command[:1], ["fps=1,2"]).partition("\n")[0])
    expected("\n".join(refused))


def test_a_run_gets_its_setting_and_the_key_and_no_part_of_a_run(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out"
    words = ["--output_path", out, "--model_args", "model=x,api_key=made-up-key"]
    done = call("sweep", "--set", "fps=1,2", "--tries", "1", "--", sys.executable, "-c", PRINTS, *words)
    texts = [(out / f"fps-{value}" / "given.txt").read_text() for value in (1, 2)]
    assert texts == ["model=x,api_key=the key,fps=1", "model=x,api_key=the key,fps=2"]
    assert not any(b"made-up-key" in path.read_bytes() for path in out.rglob("*") if path.is_file())
    # What it wrote is no run of lmms-eval.
    assert done.status == 1 and "fps-1/1_results.json" in done.err
