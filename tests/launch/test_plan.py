from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from locks import held_by_another_process

from lmms_eval_tasks.launch.executors import LocalJobs, read_parameters
from lmms_eval_tasks.launch.plan import WORDS, LaunchPlan, make_plan
from lmms_eval_tasks.launch.run import run_parts, show_parts
from lmms_eval_tasks.runs.run_files import results_files
from lmms_eval_tasks.utils.core.errors import InputError


def plan(out: Path, *words: str, count: int = 3) -> LaunchPlan:
    return make_plan([sys.executable, "--output_path", str(out), *words], count)


def test_each_part_has_an_output_path_of_its_own(tmp_path: Path) -> None:
    found = plan(tmp_path / "out", "--x", "1")
    assert [part.name for part in found.parts] == ["1-of-3", "2-of-3", "3-of-3"]
    second = found.parts[1]
    assert found.command_of(second) == (sys.executable, "--output_path", f"{tmp_path}/out/parts/2-of-3", "--x", "1")
    joined = make_plan([sys.executable, f"--output_path={tmp_path}/out"], 3)
    assert joined.command_of(second) == (sys.executable, f"--output_path={tmp_path}/out/parts/2-of-3")


def test_a_command_that_cannot_be_launched_is_refused(tmp_path: Path, home: Path) -> None:
    with pytest.raises(InputError, match=r"no --output_path.*\n.*--model x,api_key=\[hidden\]"):
        make_plan([sys.executable, "--model", "x,api_key=abcdefgh"], 2)
    with pytest.raises(InputError, match="There is no command `lmms-evil` to launch"):
        make_plan(["lmms-evil", "--output_path", "out"], 2)
    with pytest.raises(InputError, match=r"is not prepared(.|\n)*lmms-eval-tasks prepare"):
        plan(tmp_path / "out", "--tasks", "mvp_mini_shuffled")


def test_another_command_for_the_same_parts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with plan(out, "--x", "1").kept():
        pass
    again = plan(out, "--x", "1").kept()
    held = held_by_another_process(out / "parts" / "launch.lock")
    with held, pytest.raises(InputError, match="Another launch is at work"), again:
        pass
    kept = (out / "parts" / "launch.json").read_bytes()
    monkeypatch.setenv("LMMS_EVAL_TASKS_PROMPT", "official")
    with pytest.raises(InputError) as refused, plan(out, "--x", "2", count=4).kept():
        pass
    assert str(refused.value) == (
        f"{out}/parts holds the parts of another launch, nothing was started:\n"
        f"  command: {sys.executable} --output_path {out} --x 1\n"
        f"    now {sys.executable} --output_path {out} --x 2\n"
        "  parts: `3`, now `4`\n"
        "  settings: LMMS_EVAL_TASKS_PROMPT was `null`, now `official`\n"
        f"Remedy: give another --output_path, or delete {out}/parts."
    )
    assert (out / "parts" / "launch.json").read_bytes() == kept


def test_no_key_is_kept(tmp_path: Path) -> None:
    with plan(tmp_path, "--model_args", "api_key=abcdefgh").kept():
        assert "abcdefgh" in os.environ[WORDS]
    assert WORDS not in os.environ
    assert json.loads((tmp_path / "parts" / "launch.json").read_text())["command"][-1] == "api_key=[hidden]"


def test_parts_are_no_runs_of_the_folder_that_they_are_merged_into(tmp_path: Path) -> None:
    found = plan(tmp_path)
    for folder in (tmp_path / "model", found.parts[0].out / "model"):
        folder.mkdir(parents=True)
        (folder / "20260101_results.json").touch()
    assert len(results_files(tmp_path)) == 2
    with found.kept():
        pass
    assert results_files(tmp_path) == [tmp_path / "model" / "20260101_results.json"]
    assert results_files(found.parts[0].out) == [found.parts[0].out / "model" / "20260101_results.json"]


def test_what_is_done_is_not_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(tmp_path)
    for part in found.parts:
        part.out.mkdir(parents=True)
        part.write_done(part.out / "20260101_results.json")
    with show_parts(3) as show:
        assert run_parts(found, LocalJobs(found, [()]), 1, show) == {}
    assert capsys.readouterr().err == "Parts: 3 done, 0 running, 0 waiting, 0 failed\n3 of 3 parts are done already.\n"
    assert found.parts[2].read_results() == found.parts[2].out / "20260101_results.json"
    assert not (found.folder / "jobs").exists()


def test_options_of_sbatch_that_submitit_does_not_know_are_passed_on() -> None:
    assert read_parameters(["time=240", "partition=gpu", "gpus_per_node=2", "reservation=a=b", "mem=8GB"]) == {
        "time": 240, "partition": "gpu", "gpus_per_node": 2, "mem": "8GB",
        "additional_parameters": {"reservation": "a=b"},
    }  # fmt: skip
    with pytest.raises(InputError, match="Expected --slurm KEY=VALUE, but got --slurm partition"):
        read_parameters(["partition"])
    with pytest.raises(InputError, match="Expected --slurm time=MINUTES"):
        read_parameters(["partition=gpu", "time=04:00:00"])
