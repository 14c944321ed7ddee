"""Things that are made of a clip, in whatever process, and say which that was."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.made import MadeClip

LONGEST = 60.0
"""Seconds in which what is waited for has to happen."""


def wait_until(has_happened: Callable[[], object]) -> None:
    end = time.monotonic() + LONGEST
    while not has_happened():
        assert time.monotonic() < end, "what was waited for has not happened"
        time.sleep(0.005)


def makers(folder: Path) -> list[int]:
    """The process of each thing that was made, or begun, so that it is known whether any is made twice."""
    log = folder / "log"
    return list(map(int, log.read_text().split())) if log.exists() else []


def make(clip: Path, name: str, how: str, store: ClipStore) -> MadeClip:
    """A file with the process that has made it, in the store of a folder that says what happened.

    Args:
        clip: The source.
        name: Tells it from others.
        how: ``plainly``; ``together``, when another one has begun as well; ``later``, when the folder has a file
            ``go``; or ``deadly``, which ends the process.
        store: The store.
    """
    folder = store.folder.parent

    def write(path: Path) -> int:
        with (folder / "log").open("a") as log:
            log.write(f"{os.getpid()}\n")
        if how == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        path.write_text("half")
        if how == "together":
            wait_until(lambda: len(set(makers(folder))) > 1)
        if how == "later":
            wait_until((folder / "go").exists)
        path.write_text(str(os.getpid()))
        return 1

    return MadeClip(store.find_or_make(clip, {"name": name}, ".txt", name, write)[0], (0,))
