"""Runs of the real lmms-eval command, as a user would start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

LMMS_EVAL = Path(sysconfig.get_path("scripts")) / "lmms-eval"


@dataclass(frozen=True)
class HostRun:
    """A run that has ended: exit status, all it printed, and its output folder."""

    status: int
    output: str
    out: Path

    def results(self) -> dict[str, Any]:
        found = sorted(path for path in self.out.rglob("*_results.json") if path.parent.name != "submissions")
        # The host catches what a run raises and still ends with status 0.
        assert self.status == 0 and len(found) == 1, self.output
        (path,) = found
        return json.loads(path.read_text(encoding="utf-8"))

    def score(self, task: str, metric: str) -> Any:
        return self.results()["results"][task][f"{metric},none"]

    def scores(self, task: str) -> dict[str, Any]:
        """Every score of a task or group, without the host's error estimates."""
        found = self.results()["results"][task]
        return {
            name.removesuffix(",none"): value
            for name, value in found.items()
            if name.endswith(",none") and "_stderr" not in name
        }

    def samples(self, task: str) -> list[dict[str, Any]]:
        (path,) = self.out.rglob(f"*_samples_{task}.jsonl")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def submission(self, name: str) -> list[dict[str, str]]:
        path = self.out / name
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class SampleWorld:
    """The sample world, written and prepared by the command that users run."""

    home: Path
    folder: Path


def environment(home: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of a run: the given data home, no network, no GPU."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LMMS_EVAL", "HF_"))}
    return {
        **kept,
        "LMMS_EVAL_TASKS_HOME": str(home),
        "HF_HOME": str(home.parent / "hf"),
        "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "true",
        "FORCE_QWENVL_VIDEO_READER": "decord",
        "OMP_NUM_THREADS": "1",
        **(extra or {}),
    }


def launcher(ranks: int) -> list[str]:
    """How ranks are started: they meet at a port that the launcher itself binds, so that no other run can take it."""
    meeting = ["--standalone", "--local_addr=127.0.0.1"]
    return [sys.executable, "-m", "torch.distributed.run", f"--nproc_per_node={ranks}", *meeting]


def start_host(
    *arguments: str,
    home: Path,
    out: Path,
    ranks: int = 1,
    env: dict[str, str] | None = None,
    log_samples: bool = True,
) -> subprocess.Popen[str]:
    """Start lmms-eval in an empty folder, as `lmms-eval …` or, on several ranks, as `torchrun … -m lmms_eval …`."""
    out.mkdir(parents=True, exist_ok=True)
    command = [str(LMMS_EVAL)]
    if ranks > 1:
        command = [*launcher(ranks), "-m", "lmms_eval"]
    logged = ["--log_samples"] if log_samples else []
    return subprocess.Popen(
        [*command, *arguments, "--output_path", str(out), *logged],
        cwd=out,
        env=environment(home, env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def kill_host(run: subprocess.Popen[str]) -> None:
    """End a run and all of its ranks, which the launcher puts into groups of their own, by SIGKILL."""
    if run.poll() is None:
        first = psutil.Process(run.pid)
        first.suspend()  # or it would start anew, or tell, what is killed before it
        for process in [*first.children(recursive=True), first]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    run.communicate(timeout=60)


def run_host(*arguments: str, home: Path, out: Path, **options: Any) -> HostRun:
    """Run lmms-eval to its end; options as for `start_host`."""
    run = start_host(*arguments, home=home, out=out, **options)
    try:
        output, _ = run.communicate(timeout=900)
    except BaseException:
        kill_host(run)
        raise
    return HostRun(run.returncode, output, out)
