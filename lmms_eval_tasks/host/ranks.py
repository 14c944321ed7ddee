"""The ranks of an evaluation: stopping all of them at once, and ending torch's process group."""

from __future__ import annotations

import os
import sys
from typing import Any, TypeVar

Value = TypeVar("Value")


def stop_if_any(message: str | None) -> None:
    """End the run on every rank where one of them has a message; every rank has to call this.

    The first rank prints the messages, each once. The others wait for it, because the launcher ends all ranks as soon
    as one has ended.

    Args:
        message: Why this rank cannot go on; None where it can.

    Raises:
        SystemExit: on every rank.
    """
    import torch.distributed as dist

    messages = gather_objects(message)
    if len(messages) == 1:
        if message:
            raise SystemExit(f"\n{message}")
        return
    reasons = list(dict.fromkeys(text for text in messages if text))
    if not reasons:
        return
    if dist.get_rank() == 0:
        os.write(2, "".join(f"\n{text}\n" for text in reasons).encode())
    dist.barrier()
    raise SystemExit(1)


def gather_objects(value: Value) -> list[Value]:
    """What every rank passes, in the order of the ranks; every rank has to call this."""
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return [value]
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def leave_process_group() -> None:
    """End what torch runs in the background for the ranks on CPUs, which lmms-eval leaves to the end of the process.

    Now and then torch aborts the process there, after everything was written, and the launcher reports a failed run.
    """
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized() and dist.get_backend() == "gloo":
        dist.destroy_process_group()
