"""The processor cores that a process may use."""

from __future__ import annotations

import os


def own_cores() -> int:
    """Cores that this process may use, shared among the ranks of this machine; at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE") or 1))
