"""Runs of the real lmms-eval command, as a user would start them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from warm_host import IMPORT_TIME, WarmHost, WarmRun

from lmms_eval_tasks.runs.run_card import Value
from lmms_eval_tasks.runs.scores import read_scores, scores_path

SCRIPTS = Path(sysconfig.get_path("scripts"))
LMMS_EVAL = str(SCRIPTS / "lmms-eval")
GUESSED = (
    "causalvqa_debug_paired,causalvqa_paired,mvp_mini,mvp,intphys2_main,intphys2_debug,intphys2_heldout,"
    "intphys2_surprise,cast_bench,cast_bench_open,countervqa,yocausal_vlm"
)
"""Tasks of the session's run of guesses."""


@dataclass(frozen=True)
class HostRun:
    """A run that has ended: exit status, all it printed, and its output folder."""

    status: int
    output: str
    out: Path

    def results_file(self) -> Path:
        found = sorted(path for path in self.out.rglob("*_results.json") if path.parent.name != "submissions")
        # The host catches what a run raises and still ends with status 0.
        assert self.status == 0 and len(found) == 1, self.output
        return found[0]

    def results(self) -> dict[str, Any]:
        results: dict[str, Any] = json.loads(self.results_file().read_text(encoding="utf-8"))
        return results

    def score(self, task: str, metric: str) -> Any:
        return self.scores(task)[metric]

    def scores(self, task: str) -> dict[str, Any]:
        """Every score of a task or group: those that the host prints, and those of the file of scores alone."""
        found = self.results()["results"][task]
        printed = {
            name.removesuffix(",none"): value
            for name, value in found.items()
            if name.endswith(",none") and "_stderr" not in name
        }
        path = scores_path(self.results_file())
        parts = read_scores(path).parts if path.is_file() else []
        scored = {score.metric: score.value for part in parts if part.name == task for score in part.scores}
        both = scored.keys() & printed.keys()
        assert {name: scored[name] for name in both} == {name: printed[name] for name in both}
        return {**printed, **scored}

    def samples(self, task: str) -> list[dict[str, Any]]:
        (path,) = self.out.rglob(f"*_samples_{task}.jsonl")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def samples_in_order(self, task: str) -> list[dict[str, Any]]:
        """The samples by their documents; of several ranks the host logs those of one after those of another."""
        return sorted(self.samples(task), key=lambda sample: sample["doc_id"])

    def submission_file(self, name: str) -> Path:
        """A file for a leaderboard, by its name without the model's."""
        (path,) = (self.out / name).parent.glob(f"{Path(name).stem}.*{Path(name).suffix}")
        return path

    def submission(self, name: str) -> list[dict[str, Any]]:
        """The rows of such a file."""
        return [json.loads(line) for line in self.submission_file(name).read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class SampleWorld:
    """The sample world, written and prepared by the command that users run."""

    home: Path
    folder: Path


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a run: the given data home, no network, no GPU."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LMMS_EVAL", "HF_"))}
    return {
        **kept,
        "LMMS_EVAL_TASKS_HOME": str(home),
        "HF_HOME": str(home.parent / "hf"),
        "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        **(extra or {}),
    }


def qwen_arguments(checkpoint: Path, tokens: int = 4, model: str = "qwen2_5_vl") -> list[str]:
    """Arguments for lmms-eval's own adapter on a tiny checkpoint, which writes so many tokens."""
    shown = "max_num_frames=4,min_pixels=3136,max_pixels=25088"
    loaded = f"pretrained={checkpoint},device_map=cpu,attn_implementation=eager,{shown}"
    return ["--model", model, "--model_args", loaded, "--device", "cpu", "--gen_kwargs", f"max_new_tokens={tokens}"]


def _command(arguments: Sequence[str], out: Path) -> list[str]:
    """The command of a run, which logs its samples, and whose output folder is made."""
    out.mkdir(parents=True, exist_ok=True)
    return [LMMS_EVAL, *arguments, "--output_path", str(out), "--log_samples"]


def start_host(
    *arguments: str,
    home: Path,
    out: Path,
    ranks: int = 1,
    env: Mapping[str, str] | None = None,
    output: Path = Path(os.devnull),
) -> WarmRun:
    """Start lmms-eval in an empty folder, in forks of a process that has imported it; `output` has what it prints."""
    return warm_host(env).start(_command(arguments, out), out, environment(home, env), output, ranks=ranks)


def run_host(*arguments: str, home: Path, out: Path, ranks: int = 1, env: Mapping[str, str] | None = None) -> HostRun:
    """The same to its end."""
    with tempfile.TemporaryDirectory() as printed:
        output = Path(printed, "output")
        run = warm_host(env).start(_command(arguments, out), out, environment(home, env), output, ranks=ranks)
        return HostRun(run.wait(), output.read_text(encoding="utf-8", errors="replace"), out)


def numbers(fields: Mapping[str, Value]) -> dict[str, float]:
    """Those fields of a section of a run card that are numbers."""
    return {name: value for name, value in fields.items() if isinstance(value, int | float)}


def kill_host(run: WarmRun) -> None:
    """End a run and all of its ranks by SIGKILL."""
    if run.poll() is None:
        first = psutil.Process(run.pid)
        first.suspend()  # or it would start anew, or report, what is killed before it
        for process in [*first.children(recursive=True), first]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    run.wait()


def own_command(
    home: Path, *arguments: str | Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `lmms-eval-tasks` beside a data home, in a fork of a process that has imported it."""
    command = [str(SCRIPTS / "lmms-eval-tasks"), *map(str, arguments)]
    return warm_host(env).run(command, home.parent, environment(home, env))


def own_command_alone(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `lmms-eval-tasks` in a process of its own, and fail where it has imported lmms-eval or what that imports."""
    script = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}; from lmms_eval_tasks.cli.app import app; app()", *map(str, arguments)],
        cwd=home.parent, env=environment(home), capture_output=True, text=True,
    )  # fmt: skip
    imported = set(done.stderr.splitlines()[-1].split())
    assert "lmms_eval_tasks" in imported and not {"lmms_eval", "torch", "transformers"} & imported, done.stderr
    return done


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def warm_host(env: Mapping[str, str] | None = None) -> WarmHost:
    """The process of this worker whose forks are the runs with these variables."""
    return _warm_host(frozenset(item for item in (env or {}).items() if item[0].startswith(IMPORT_TIME)))


@cache
def _warm_host(variables: frozenset[tuple[str, str]]) -> WarmHost:
    return WarmHost(environment(Path(), dict(variables)))
