"""A SLURM of one node on this machine: munged, slurmctld and slurmd, with all their files in one folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
    if sys.platform != "linux":
        return "SLURM runs on Linux only"
    if os.geteuid() != 0:
        return "its daemons are started as root here, and this is another user"
    for name in (*DAEMONS, *COMMANDS):
        if _found(name) is None:
            return f"{name} is not installed (Debian: apt-get install slurm-wlm munge)"
    return ""


@contextmanager
def one_node_slurm(folder: Path) -> Iterator[dict[str, str]]:
    """SLURM as long as the block lasts; gives the variables by which its commands find it.

    Raises:
        RuntimeError: its node does not come up.
    """
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
            command = [str(_found(name)), *options]
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


def _found(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
