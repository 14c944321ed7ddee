"""Launches on a real SLURM of one node: munged, slurmctld and slurmd, with all their files in one folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from docs import ROOT, blocks
from host_run import SCRIPTS, SampleWorld, environment, free_port
from launch_processes import answered, commands, launch_items, wait_for

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import results_files

ITEMS = 12
DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "squeue", "scancel", "srun", "sinfo")
SLOTS = 4
"""Processors that the node claims to have; each job takes one."""
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
MpiDefault=none
ReturnToService=2
KillWait=2
MinJobAge=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={slots} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing_for_slurm() -> str:
    """Why there can be no SLURM here; empty where there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "its daemons are started as root on Linux"
    absent = [name for name in (*DAEMONS, *COMMANDS) if find_program(name) is None]
    return f"{absent[0]} is not installed (Debian: apt-get install slurm-wlm munge)" if absent else ""


def find_program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@contextmanager
def one_node_slurm(folder: Path) -> Iterator[dict[str, str]]:
    """SLURM as long as the block lasts; gives the variables by which its commands find it."""
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(parents=True)
    host = socket.gethostname().split(".")[0]
    ports = {"controller_port": free_port(), "node_port": free_port()}
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(host=host, folder=folder, slots=SLOTS, **ports), encoding="utf-8")
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    variables = {"SLURM_CONF": str(configuration)}
    munge = [f"--{name}-file={folder}/munge/{name}" for name in ("key", "pid", "log", "seed")]
    daemons = (
        ["munged", "--foreground", "--force", f"--socket={folder}/munge/socket", *munge],
        ["slurmctld", "-D", "-f", str(configuration)],
        ["slurmd", "-D", "-f", str(configuration)],
    )
    running = []
    try:
        for name, *options in daemons:
            command = [str(find_program(name)), *options]
            running.append(_start(command, folder / f"{name}.out", variables))
            time.sleep(0.5)
        _wait_for_node(variables)
        yield variables
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def _start(command: list[str], output: Path, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    with output.open("wb") as file:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env={**os.environ, **variables}
        )


def _wait_for_node(variables: dict[str, str]) -> None:
    for _ in range(60):
        asked = subprocess.run(
            ["sinfo", "--noheader", "--format=%t"], env={**os.environ, **variables}, capture_output=True, text=True
        )
        if asked.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    raise RuntimeError(f"The node of SLURM is not idle: {asked.stdout}{asked.stderr}")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    if reason := missing_for_slurm():
        pytest.skip(f"no SLURM: {reason}")
    with one_node_slurm(tmp_path_factory.mktemp("slurm")) as variables:
        yield {**os.environ, **variables, "PYTHONPATH": str(ROOT)}


def start(variables: dict[str, str], out: Path, *options: str, parts: int = 3) -> subprocess.Popen[str]:
    return launch_items(out, *options, count=parts, slurm="time=5 cpus_per_task=1", **variables)


def queue(environment: dict[str, str]) -> list[str]:
    return subprocess.run(["squeue", "-h", "-r"], env=environment, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.slow
@pytest.mark.nightly
def test_a_failed_part_is_tried_again_and_ctrl_c_cancels_what_runs_and_what_is_queued(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    launcher = start(slurm, out, "--fail", "2", "--items", str(ITEMS), "--pause", "0.1", parts=2)
    output, _ = launcher.communicate(timeout=400)
    assert launcher.returncode == 1, output
    assert "Part 2-of-2 failed (exit status 3), try 2 of 2." in output
    assert "Something is wrong with this part." in output
    assert answered(out) == Counter(range(1, ITEMS + 1, 2))
    launcher = start(slurm, tmp_path / "other", "--pause", "20")
    wait_for(lambda: len(commands(tmp_path / "other")) == 2)
    launcher.send_signal(signal.SIGINT)
    output, _ = launcher.communicate(timeout=120)
    assert launcher.returncode == 1 and "Interrupted: 0 of 3 parts are done. Repeat the command to resume." in output
    wait_for(lambda: not queue(slurm))
    assert commands(tmp_path / "other") == [] and answered(tmp_path / "other") == Counter()


@pytest.mark.slow
@pytest.mark.nightly
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


@pytest.mark.nightly  # two processes that import lmms-eval anew
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
