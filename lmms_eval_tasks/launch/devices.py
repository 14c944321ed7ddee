"""GPUs, dealt to the parts that run here at the same time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence

from lmms_eval_tasks.launch.job import DEVICES
from lmms_eval_tasks.utils.core.problems import InputError

Devices = tuple[str, ...]
"""GPUs as CUDA_VISIBLE_DEVICES names them."""


def visible_gpus(environment: Mapping[str, str]) -> Devices:
    """The GPUs that a process would see: those of CUDA_VISIBLE_DEVICES where it is set, else all of the machine."""
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
    """The GPUs of each of so many jobs, none of them in two."""
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
    """The slots that another job can have."""
    taken = {device for devices in used for device in devices}
    return [slot for slot in slots if taken.isdisjoint(slot)][: max(0, len(slots) - len(used))]


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count or 'none'}"
