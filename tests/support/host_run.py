"""Runs of the real lmms-eval command, as a user would start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from warm_host import IMPORT_TIME, WarmHost

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


def _command(arguments: Sequence[str], out: Path, log_samples: bool, ranks: int = 1) -> list[str]:
    """The command of a run, whose output folder is made."""
    out.mkdir(parents=True, exist_ok=True)
    command = [*launcher(ranks), "-m", "lmms_eval"] if ranks > 1 else [str(LMMS_EVAL)]
    logged = ["--log_samples"] if log_samples else []
    return [*command, *arguments, "--output_path", str(out), *logged]


def start_host(
    *arguments: str,
    home: Path,
    out: Path,
    ranks: int = 1,
    env: dict[str, str] | None = None,
    log_samples: bool = True,
) -> subprocess.Popen[str]:
    """Start lmms-eval in an empty folder, as `lmms-eval …` or, on several ranks, as `torchrun … -m lmms_eval …`."""
    return subprocess.Popen(
        _command(arguments, out, log_samples, ranks),
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


def run_host(*arguments: str, home: Path, out: Path, warm: bool = True, **options: Any) -> HostRun:
    """Run lmms-eval to its end; options as for `start_host`.

    On one rank it runs in a fork of a process that has imported lmms-eval, unless a variable is set that is read at
    import, or `warm` is false.
    """
    extra = options.get("env") or {}
    if warm and options.get("ranks", 1) == 1 and not any(name.startswith(IMPORT_TIME) for name in extra):
        command = _command(arguments, out, options.get("log_samples", True))
        status, output = _warm_host().run(command, out, environment(home, extra))
        return HostRun(status, output, out)
    run = start_host(*arguments, home=home, out=out, **options)
    try:
        output, _ = run.communicate(timeout=900)
    except BaseException:
        kill_host(run)
        raise
    return HostRun(run.returncode, output, out)


@cache
def _warm_host() -> WarmHost:
    return WarmHost(environment(Path()))
