"""What a launch or a sweep works on, and on which devices, before anything starts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import call
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from locks import held_by_another_process
from refusals import refusal

from lmms_eval_tasks.launch.executors import LocalJobs, deal_devices, free_slots, read_parameters, visible_gpus
from lmms_eval_tasks.launch.plan import WORDS, LaunchPlan, make_plan, make_sweep
from lmms_eval_tasks.launch.run import Show, run_parts
from lmms_eval_tasks.runs.run_files import results_files

EIGHT = tuple("01234567")
RESULTS = "20260101_results.json"


def plan(out: Path, *words: str, count: int = 3) -> LaunchPlan:
    return make_plan([sys.executable, "--output_path", str(out), *words], count)


def test_each_part_has_an_output_path_of_its_own_and_no_key_is_kept(tmp_path: Path) -> None:
    found = plan(tmp_path / "out", "--x", "1")
    assert [part.name for part in found.parts] == ["1-of-3", "2-of-3", "3-of-3"]
    second = found.parts[1]
    assert found.command_of(second) == (sys.executable, "--output_path", f"{tmp_path}/out/parts/2-of-3", "--x", "1")
    joined = make_plan([sys.executable, f"--output_path={tmp_path}/out"], 3)
    assert joined.command_of(second) == (sys.executable, f"--output_path={tmp_path}/out/parts/2-of-3")
    with plan(tmp_path, "--model_args", "api_key=abcdefgh").kept():
        assert "abcdefgh" in os.environ[WORDS]
    assert WORDS not in os.environ
    assert json.loads((tmp_path / "parts" / "launch.json").read_text())["command"][-1] == "api_key=[hidden]"


def test_a_command_that_cannot_be_launched_is_refused(
    expected: Any, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    said = [
        refusal(make_plan, [sys.executable, "--model", "x,api_key=abcdefgh"], 2),
        refusal(make_plan, ["lmms-evil", "--output_path", "out"], 2),
        refusal(plan, out, "--tasks", "mvp_mini_shuffled"),
    ]
    with plan(out, "--x", "1").kept():
        pass
    kept = (out / "parts" / "launch.json").read_bytes()
    with held_by_another_process(out / "parts" / "launch.lock"):
        said.append(refusal(plan(out, "--x", "1").kept().__enter__))
    monkeypatch.setenv("LMMS_EVAL_TASKS_PROMPT", "official")
    said.append(refusal(plan(out, "--x", "2", count=4).kept().__enter__))
    assert (out / "parts" / "launch.json").read_bytes() == kept
    expected("\n\n".join(said).replace(sys.executable, "python"))


def test_parts_are_no_runs_of_the_folder_that_they_are_merged_into(tmp_path: Path) -> None:
    found = plan(tmp_path)
    for folder in (tmp_path / "model", found.parts[0].out / "model"):
        folder.mkdir(parents=True)
        (folder / RESULTS).touch()
    assert len(results_files(tmp_path)) == 2
    with found.kept():
        pass
    assert results_files(tmp_path) == [tmp_path / "model" / RESULTS]
    assert results_files(found.parts[0].out) == [found.parts[0].out / "model" / RESULTS]


def test_what_is_done_is_not_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(tmp_path)
    for part in found.parts:
        part.out.mkdir(parents=True)
        part.write_done(part.out / RESULTS)
    show = Show(3)
    with show.bar:
        assert run_parts(found, LocalJobs(found, [()]), 1, show) == {}
    assert capsys.readouterr().err == "Parts: 3 done, 0 running, 0 waiting, 0 failed\n3 of 3 parts are done already.\n"
    assert found.parts[2].read_results() == found.parts[2].out / RESULTS
    assert not (found.folder / "jobs").exists()


def test_options_of_sbatch_that_submitit_does_not_know_are_passed_on(expected: Any) -> None:
    assert read_parameters(["time=240", "partition=gpu", "gpus_per_node=2", "reservation=a=b", "mem=8GB"]) == {
        "time": 240, "partition": "gpu", "gpus_per_node": 2, "mem": "8GB",
        "additional_parameters": {"reservation": "a=b"},
    }  # fmt: skip
    expected("\n".join(refusal(read_parameters, words) for words in (["partition"], ["time=04:00:00"])))


def test_the_gpus_are_those_that_are_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus({}) == ()
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 0\necho 1\n")
    tool.chmod(0o755)
    assert visible_gpus({}) == ("0", "1")
    for chosen, gpus in (("2, 5", "2 5"), ("", ""), ("-1", ""), ("0,-1,3", "0"), ("GPU-a1,MIG-b2", "GPU-a1 MIG-b2")):
        assert visible_gpus({"CUDA_VISIBLE_DEVICES": chosen}) == tuple(gpus.split())


def test_gpus_are_divided_by_jobs_shared_or_counted(expected: Any) -> None:
    assert deal_devices(EIGHT, 4, None) == [("0", "1"), ("2", "3"), ("4", "5"), ("6", "7")]
    assert deal_devices(EIGHT, 2, 3) == [("0", "1", "2"), ("3", "4", "5")]
    assert deal_devices(EIGHT, 3, 0) == [(), (), ()] == deal_devices((), 3, None)
    expected("\n".join(refusal(deal_devices, *given) for given in ((EIGHT, 9, None), (EIGHT, 4, 3), ((), 1, 1))))


@given(st.integers(1, 8), st.lists(st.lists(st.sampled_from(EIGHT), unique=True, max_size=4), max_size=4))
def test_no_gpu_is_given_twice_and_no_job_too_many_runs(jobs: int, used: list[list[str]]) -> None:
    slots = deal_devices(EIGHT, jobs, None)
    free = free_slots(slots, [tuple(devices) for devices in used])
    given_out = [device for slot in free for device in slot]
    assert len(set(given_out)) == len(given_out) and not set(given_out) & {one for devices in used for one in devices}
    assert len(free) <= max(0, jobs - len(used))
    if not used:
        assert free == slots


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


@pytest.mark.slow
def test_a_run_gets_its_setting_and_the_key_and_no_part_of_a_run(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out"
    words = ["--output_path", out, "--model_args", "model=x,api_key=made-up-key"]
    done = call("sweep", "--set", "fps=1,2", "--tries", "1", "--", sys.executable, "-c", PRINTS, *words)
    texts = [(out / f"fps-{value}" / "given.txt").read_text() for value in (1, 2)]
    assert texts == ["model=x,api_key=the key,fps=1", "model=x,api_key=the key,fps=2"]
    assert not any(b"made-up-key" in path.read_bytes() for path in out.rglob("*") if path.is_file())
    # What it wrote is no run of lmms-eval.
    assert done.status == 1 and "fps-1/1_results.json" in done.err
