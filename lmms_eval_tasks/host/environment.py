"""The software and hardware that a run card names, as found in this process."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lmms_eval_tasks import __version__
from lmms_eval_tasks.runs.run_card import Unknown

PACKAGES = (
    "lmms-eval-tasks", "lmms-eval", "torch", "transformers", "accelerate", "datasets", "numpy", "decord", "av",
    "torchvision", "torchcodec", "qwen-vl-utils", "diffusers", "vllm",
)  # fmt: skip
STANDS_IN = {"decord": "adapters of lmms-eval that read clips by it cannot run; our own models read by PyAV"}
"""Packages that can be done without, and what is then otherwise."""
OPTIONAL_PACKAGES = frozenset({"torchvision", "torchcodec", "qwen-vl-utils", "diffusers", "vllm"})


def installed_version(package: str) -> str | None:
    """The version of a package, None where no package of that name is installed; ours is that of the code that runs."""
    if package == "lmms-eval-tasks":
        return __version__
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def missing_requirements() -> list[str]:
    """Packages that ours requires, without its extras, and that are not installed; none where ours is not installed."""
    try:
        requirements = metadata.requires("lmms-eval-tasks") or []
    except metadata.PackageNotFoundError:
        return []
    names = [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements if "extra ==" not in text]
    # A package of another name can bring the same module, as eva-decord does.
    return [name for name in names if installed_version(name) is None and not find_spec(name.replace("-", "_"))]


def package_version(package: str) -> str:
    """The version of a package for a run card; ``not installed`` for one that not every run needs."""
    version = installed_version(package)
    if version is None and package not in OPTIONAL_PACKAGES:
        raise Unknown("no package of that name is installed")
    return version or "not installed"


def _cuda() -> str:
    import torch

    return str(torch.version.cuda or "none: a build for the CPU")


def _gpus() -> str:
    import torch

    if not torch.cuda.is_available():
        return "none"
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names))


def _driver() -> str:
    """The NVIDIA driver by the kernel's own file; asking a tool could hang."""
    try:
        line = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        if _gpus() == "none":
            return "none"
        raise Unknown("the kernel does not say") from None
    return " ".join(line.partition(":")[2].split())


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


SOFTWARE: Mapping[str, Callable[[], Any]] = {"python": platform.python_version, "CUDA of torch": _cuda}
HARDWARE: Mapping[str, Callable[[], Any]] = {
    "GPUs": _gpus,
    "driver": _driver,
    "CPU": _cpu,
    "CPU cores": os.cpu_count,
    "system": platform.platform,
}
