"""Kills what belongs to a launch at random: the launcher, jobs of parts, submitit's processes, the parts' commands."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "LAUNCHED_PART"


def heed_ctrl_c() -> None:
    """In a process before its program starts: Ctrl-C ends it also where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def processes_of(parts: Path) -> dict[str, list[psutil.Process]]:
    """The processes of jobs that run, by what they are."""
    found: dict[str, list[psutil.Process]] = {"job": [], "submitit": [], "command": []}
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            words = process.cmdline()
            below = any(word.startswith(f"{parts}/jobs/") for word in words)
            if process.environ().get(MARK, "").startswith(f"{parts}/"):
                found["command"].append(process)
            elif below and "submitit.core._submit" in words:
                found["job"].append(process)
            elif below and "submitit.local._local" in words:
                found["submitit"].append(process)
    return found


def kill_at_random(
    words: Sequence[str],
    environment: Mapping[str, str],
    out: Path,
    kills: int,
    longest: float,
    draw: random.Random,
    look: Callable[[], None] = lambda: None,
) -> Counter[str]:
    """Start a launch again and again, and kill something of it by SIGKILL at random times, until it ends well.

    There are `kills` at most, with `longest` seconds between two of them at most, after each of which `look` is called.
    What launchers print is appended to the file ``out.log`` beside the output path.

    Returns:
        How many processes of which sort were killed; in the end the launch was left alone and has ended.
    """
    killed: Counter[str] = Counter()
    alone = 0
    with out.with_suffix(".log").open("ab") as log:
        while True:
            launcher = subprocess.Popen(
                words, env=dict(environment), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            while launcher.poll() is None:
                if killed.total() >= kills:
                    launcher.wait()
                    break
                time.sleep(draw.uniform(0, longest))
                if launcher.poll() is None:
                    there = {"launcher": [launcher], **processes_of(out / "parts")}
                    sorts = [name for name, some in there.items() if some]
                    # Where nothing but the launcher is there, it starts, or merges.
                    if len(sorts) == 1 and draw.random() < 0.85:
                        continue
                    sort = draw.choice(sorts)
                    with suppress(psutil.Error, ProcessLookupError):
                        draw.choice(there[sort]).kill()
                        killed[sort] += 1
                    look()
            if launcher.returncode == 0:
                return killed
            # Kills may have used up a part's tries.
            alone += killed.total() >= kills
            assert alone < 3, f"The launch fails also where it is left alone: {out.with_suffix('.log')}"
