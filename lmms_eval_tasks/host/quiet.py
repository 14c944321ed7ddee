"""Silence for commands that load lmms-eval's tasks and show something else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from loguru import logger


@contextmanager
def quiet_host(*names: str) -> Iterator[None]:
    """Mute the messages and progress bars of lmms-eval and its data, and those of further packages."""
    import datasets

    muted = ("lmms_eval", *names)
    datasets.disable_progress_bars()
    for name in muted:
        logger.disable(name)
    try:
        yield
    finally:
        for name in muted:
            logger.enable(name)
        datasets.enable_progress_bars()
