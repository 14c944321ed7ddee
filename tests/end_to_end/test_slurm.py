"""Launches on a real SLURM of one node."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from docs import ROOT, blocks
from host_run import SCRIPTS, SampleWorld, environment
from launch_processes import heed_ctrl_c, processes_of
from one_node_slurm import free_port, missing_for_slurm, one_node_slurm

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import results_files

SUPPORT = ROOT / "tests" / "support"
ITEMS = 12


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    if reason := missing_for_slurm():
        pytest.skip(f"no SLURM: {reason}")
    with one_node_slurm(tmp_path_factory.mktemp("slurm")) as variables:
        yield {**os.environ, **variables, "PYTHONPATH": str(ROOT)}


def start(environment: dict[str, str], out: Path, *options: str, parts: int = 3) -> subprocess.Popen[str]:
    command = [sys.executable, str(SUPPORT / "numbered_items.py"), "--output_path", str(out), *options]
    launcher = [sys.executable, str(SUPPORT / "launch_parts.py"), str(parts), "2", "time=5 cpus_per_task=1"]
    return subprocess.Popen(
        [*launcher, *command], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=heed_ctrl_c,
    )  # fmt: skip


def answered(out: Path) -> Counter[int]:
    return Counter(int(item) for file in out.rglob("answers") for item in file.read_text(encoding="utf-8").split())


def queue(environment: dict[str, str]) -> list[str]:
    return subprocess.run(["squeue", "-h", "-r"], env=environment, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.slow
def test_parts_are_jobs_of_an_array_and_a_failed_one_is_tried_again(slurm: dict[str, str], tmp_path: Path) -> None:
    launcher = start(slurm, tmp_path / "out", "--fail", "2", "--items", str(ITEMS), "--pause", "0.1")
    output, _ = launcher.communicate(timeout=400)
    assert launcher.returncode == 1, output
    assert "Part 2-of-3 failed (exit status 3), try 2 of 2." in output
    assert "Something is wrong with this part." in output
    (tmp_path / "out" / "mended").touch()
    launcher = start(slurm, tmp_path / "out", "--fail", "2", "--items", str(ITEMS), "--pause", "0.1")
    output, _ = launcher.communicate(timeout=400)
    assert launcher.returncode == 0 and "2 of 3 parts are done already." in output
    assert answered(tmp_path / "out") == Counter(range(1, ITEMS + 1))


@pytest.mark.slow
def test_a_new_launch_takes_over_what_is_queued_and_runs_again_what_was_killed(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = ("--items", str(2 * ITEMS), "--wait")
    first = start(slurm, out, *options, parts=5)
    wait_for(lambda: answered(out).total() == 2)
    first.kill()
    assert len(queue(slurm)) == 5
    commands(out)[0].kill()
    second = start(slurm, out, *options, parts=5)
    assert second.stdout is not None
    while "is worked on by a job of an earlier launch" not in second.stdout.readline():
        assert second.poll() is None
    (out / "go").touch()
    output, _ = second.communicate(timeout=400)
    assert second.returncode == 0, output
    assert answered(out) == Counter(range(1, 2 * ITEMS + 1))
    # One job for each part, and one more for that which was killed.
    assert sum(path.read_text(encoding="utf-8").count("===") for path in (out / "parts").glob("*.log")) == 6
    assert len(list((out / "parts").rglob("*_submitted.pkl"))) == 6


@pytest.mark.slow
def test_ctrl_c_cancels_what_runs_and_what_is_queued(slurm: dict[str, str], tmp_path: Path) -> None:
    launcher = start(slurm, tmp_path / "out", "--pause", "20", parts=3)
    wait_for(lambda: len(commands(tmp_path / "out")) == 2)
    launcher.send_signal(signal.SIGINT)
    output, _ = launcher.communicate(timeout=120)
    assert launcher.returncode == 1 and "Interrupted: 0 of 3 parts are done. The same command goes on." in output
    wait_for(lambda: not queue(slurm))
    assert commands(tmp_path / "out") == [] and answered(tmp_path / "out") == Counter()


@pytest.mark.host
def test_the_script_of_the_page_runs_one_run_on_several_nodes(
    slurm: dict[str, str], sample_world: SampleWorld, tmp_path: Path
) -> None:
    """Here with two tasks on one node, on the CPU."""
    (script,) = (block.text for block in blocks(ROOT / "docs/slurm.md") if "--num_machines" in block.text)
    model = "--model qwen2_5_vl --model_args pretrained=Qwen/Qwen2.5-VL-7B-Instruct,max_num_frames=16"
    given = {
        "--nodes=2 --ntasks-per-node=1 --gpus-per-node=8": "--nodes=1 --ntasks=2",
        "LMMS_EVAL_TASKS_HOME=/data/benchmarks HF_HOME=/data/hub": "ACCELERATE_USE_CPU=true",
        "8 * SLURM_NTASKS": "SLURM_NTASKS",
        "29500": str(free_port()),
        model: "--model sample_solver",
        "--tasks mvp ": "--tasks causalvqa_debug_paired --limit 4 ",
    }
    for on_the_page, here in given.items():
        assert script.count(on_the_page) == 1
        script = script.replace(on_the_page, here)
    (tmp_path / "job.sh").write_text(script, encoding="utf-8")
    variables = {**slurm, **environment(sample_world.home), "PATH": f"{SCRIPTS}:{slurm['PATH']}"}
    variables |= {name: slurm[name] for name in ("SLURM_CONF", "PYTHONPATH")}
    subprocess.run(["sbatch", "--wait", "job.sh"], cwd=tmp_path, env=variables, timeout=600, capture_output=True)
    (output,) = tmp_path.glob("slurm-*.out")
    found = results_files(tmp_path / "out/qwen-two-nodes")
    assert len(found) == 1, output.read_text(encoding="utf-8")
    assert read_run(found[0]).card["run"]["ranks"] == 2


def commands(out: Path) -> list[psutil.Process]:
    return processes_of(out / "parts")["command"]


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)
