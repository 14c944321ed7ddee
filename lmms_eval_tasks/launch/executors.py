"""Executors of jobs by submitit, on this machine with its GPUs dealt to the jobs, or on SLURM."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from submitit.core.core import Job
from submitit.core.utils import FailedJobError, pickle_load
from submitit.local.local import LocalExecutor
from submitit.slurm.slurm import SlurmExecutor, SlurmJob

from lmms_eval_tasks.launch.job import BLOCKED, DEVICES, PartJob, end_processes, last_lines
from lmms_eval_tasks.launch.plan import JOBS, Holder, LaunchedPart, LaunchPlan
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import hide_secrets

Devices = tuple[str, ...]
"""GPUs as CUDA_VISIBLE_DEVICES names them."""


def visible_gpus(environment: Mapping[str, str]) -> Devices:
    """Return the GPUs that a process would see: those of CUDA_VISIBLE_DEVICES where it is set, else all."""
    chosen = environment.get(DEVICES)
    if chosen is not None:
        names = [name.strip() for name in chosen.split(",")]
        # As CUDA reads it: nothing behind a name that is none.
        end = next((place for place, name in enumerate(names) if name in ("", "-1")), len(names))
        return tuple(names[:end])
    if shutil.which("nvidia-smi") is None:
        return ()
    listed = subprocess.run(
        ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    return tuple(listed.stdout.split()) if listed.returncode == 0 else ()


def deal_devices(gpus: Devices, jobs: int, each: int | None) -> list[Devices]:
    """Return the GPUs of each of so many jobs, none of them in two."""
    if each is None:
        each = len(gpus) // jobs if gpus else 0
        if gpus and not each:
            raise InputError(
                f"--jobs {jobs} cannot have a GPU each: there {_are(len(gpus))}. "
                f"Remedy: --jobs {len(gpus)}, or --gpus-per-shard 0 where jobs may share them."
            )
    if jobs * each > len(gpus):
        raise InputError(
            f"--jobs {jobs} with --gpus-per-shard {each} takes {jobs * each} GPUs, but there {_are(len(gpus))}"
            f"{f' ({DEVICES}: {chr(44).join(gpus)})' if gpus else ''}. Remedy: fewer jobs, or fewer GPUs for each."
        )
    return [gpus[number * each : (number + 1) * each] for number in range(jobs)]


def free_slots(slots: Sequence[Devices], used: Sequence[Devices]) -> list[Devices]:
    taken = {device for devices in used for device in devices}
    return [slot for slot in slots if taken.isdisjoint(slot)][: max(0, len(slots) - len(used))]


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count or 'none'}"


YEAR = 365 * 24 * 60
"""Minutes; submitit would end a local job after two."""
QUEUE = "queue.json"
"""The file of jobs that were given to SLURM."""

Running = Mapping[LaunchedPart, Holder | None]
"""Parts that are worked on, or wait in a queue, each with the job that has it locked."""


class Jobs:
    pause: float
    """Seconds between two looks at them."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._plan = plan
        self._jobs: dict[LaunchedPart, Job[str]] = {}

    def start(self, waiting: Sequence[LaunchedPart], running: Running) -> list[LaunchedPart]:
        """Start as many of the waiting parts as there is room for beside those that run; returns which."""
        raise NotImplementedError

    def find_earlier(self) -> list[LaunchedPart]:
        """Return the parts whose jobs an earlier launch has left in a queue, and which are this launch's now."""
        return []

    def outcome(self, part: LaunchedPart) -> str | None:
        """Return the outcome of the part's job, as `PartJob` returns it or in words, or None if it has not ended."""
        job = self._jobs.get(part)
        if job is None:
            return ""
        if not self._is_done(job):
            return None
        try:
            kind, value = pickle_load(job.paths.result_pickle)
        except (OSError, EOFError):
            kind, value = "", ": ".join(["its job ended without a word", *last_lines(job.paths.stderr, 1)])
        if kind == "error":
            value = f"its job failed: {str(value).strip().splitlines()[-1]}"
        return hide_secrets(str(value), os.environ)

    def _is_done(self, job: Job[str]) -> bool:
        return job.done()

    def stop(self, running: Running) -> None:
        """Ask the jobs of these parts to end; it may be asked again."""
        raise NotImplementedError

    def clean(self, part: LaunchedPart) -> None:
        """End what a killed job has left."""

    def _folder(self, name: str) -> Path:
        jobs = self._plan.folder / JOBS
        jobs.mkdir(mode=0o700, parents=True, exist_ok=True)
        return jobs / f"{name}-{uuid4().hex[:8]}"


class LocalJobs(Jobs):
    """Jobs in processes of this machine, which outlive their launcher."""

    pause = 0.2

    def __init__(self, plan: LaunchPlan, slots: Sequence[Devices]) -> None:
        super().__init__(plan)
        self._slots = slots
        self._devices: dict[LaunchedPart, Devices] = {}

    def start(self, waiting: Sequence[LaunchedPart], running: Running) -> list[LaunchedPart]:
        used = [self._devices.get(part) or (holder.devices if holder else ()) for part, holder in running.items()]
        dealt = list(zip(waiting, free_slots(self._slots, used), strict=False))
        for part, devices in dealt:
            self._devices[part] = devices
            # submitit hides all GPUs from a job that asks for none.
            shown = ",".join(devices) if devices else os.environ.get(DEVICES)
            job = PartJob(part, self._plan.command_of(part), {DEVICES: shown}, devices, own_session=True)
            # Files are named by the process, and a number comes back.
            executor = LocalExecutor(self._folder(part.name))
            executor.update_parameters(timeout_min=YEAR)
            with _without_terminal():
                self._jobs[part] = executor.submit(job)
        return [part for part, _ in dealt]

    def stop(self, running: Running) -> None:
        for part, holder in running.items():
            job = self._jobs.get(part)
            # submitit's process passes it on; it knows a job that has not come as far as its part's lock.
            ours = [int(job.job_id)] if job and not job.done() else []
            theirs = [holder.process] if holder and holder.host == socket.gethostname() else []
            for process in ours + theirs:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGTERM)

    def clean(self, part: LaunchedPart) -> None:
        end_processes(part.out)


class SlurmJobs(Jobs):
    """Jobs of SLURM arrays; SLURM ends what a job has started."""

    pause = 5.0

    def __init__(self, plan: LaunchPlan, jobs: int, parameters: Mapping[str, Any]) -> None:
        super().__init__(plan)
        if missing := [name for name in ("sbatch", "squeue", "scancel", "srun") if shutil.which(name) is None]:
            raise InputError(f"--slurm needs SLURM's commands, but there is no {missing[0]} here.")
        self._limit, self._parameters = jobs, parameters
        self._file = plan.folder / "state" / QUEUE
        self._queued: set[str] | None = None
        self._executor()

    def _executor(self) -> SlurmExecutor:
        executor = SlurmExecutor(self._folder("slurm"))
        try:
            executor.update_parameters(**self._parameters, array_parallelism=self._limit)
        except (TypeError, ValueError) as error:
            raise InputError(f"--slurm: {error}") from error
        return executor

    def start(self, waiting: Sequence[LaunchedPart], running: Running) -> list[LaunchedPart]:
        """Start all at first, for SLURM deals them, and what is tried again as soon as fewer than allowed run."""
        self._queued = _queue()
        started = list(waiting if not running else waiting[: max(0, self._limit - len(running))])
        if not started:
            return []
        jobs = [PartJob(part, self._plan.command_of(part), {}) for part in started]
        with _without_terminal():
            try:
                submitted = self._executor().submit_array(jobs)
            except FailedJobError as error:
                raise InputError(f"SLURM does not take the parts: {str(error).strip()}") from error
            self._jobs.update(zip(started, submitted, strict=True))
            known = {part.name: [job.job_id, str(job.paths.folder)] for part, job in self._jobs.items()}
            write_file(self._file, json.dumps(known, indent=2) + "\n")
        if self._queued is not None:
            self._queued |= {job.job_id for job in submitted}
        return started

    def find_earlier(self) -> list[LaunchedPart]:
        self._queued = _queue()
        known: dict[str, list[str]] = {}
        with suppress(OSError, ValueError):
            known = json.loads(self._file.read_text(encoding="utf-8"))
        parts = {part.name: part for part in self._plan.parts}
        for name, (number, folder) in known.items():
            if name in parts and self._queued is not None and number in self._queued:
                self._jobs[parts[name]] = SlurmJob(folder=folder, job_id=number)
        return list(self._jobs)

    def _is_done(self, job: Job[str]) -> bool:
        # While SLURM does not answer, nothing has ended. Its accounting, which submitit asks, is not everywhere.
        return self._queued is not None and job.job_id not in self._queued

    def stop(self, running: Running) -> None:
        self._queued = _queue()
        numbers = {job.job_id for part, job in self._jobs.items() if part in running}
        if numbers and self._queued is not None:
            numbers &= self._queued
        if numbers:
            subprocess.run(["scancel", *sorted(numbers)], check=False, capture_output=True)


def _queue() -> set[str] | None:
    """Return the numbers of the user's jobs that SLURM has not ended; None where it does not answer."""
    asked = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=False)
    return set(listed.stdout.split()) if listed.returncode == 0 else None


@contextmanager
def _without_terminal() -> Iterator[None]:
    """Shield processes started meanwhile from the terminal's signals; signals for this process wait until the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def connect(plan: LaunchPlan, jobs: int, gpus_each: int | None, slurm: Sequence[str] | None) -> Jobs:
    """Return so many jobs at a time: on SLURM, each asked for with what ``--slurm`` says, or without it here."""
    if not slurm:
        return LocalJobs(plan, deal_devices(visible_gpus(os.environ), jobs, gpus_each))
    parameters = {"job_name": "lmms-eval-tasks", **({"gpus_per_node": gpus_each} if gpus_each else {})}
    return SlurmJobs(plan, jobs, {**parameters, **read_parameters(slurm)})


def read_parameters(given: Iterable[str]) -> dict[str, Any]:
    from submitit.slurm.slurm import _get_default_parameters

    named: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(f"Expected --slurm KEY=VALUE, but got --slurm {text}.")
        named[key.strip().replace("-", "_")] = int(value) if value.isdecimal() else value
    if not isinstance(named.get("time"), int):
        raise InputError(
            "Expected --slurm time=MINUTES, a whole number, for each part. A part that runs out of time resumes in the "
            "same job, up to three times."
        )
    own = set(_get_default_parameters())
    others = {key.replace("_", "-"): named.pop(key) for key in list(named) if key not in own}
    return {**named, **({"additional_parameters": others} if others else {})}
