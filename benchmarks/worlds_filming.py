"""How many clips of worlds are rendered in an hour, in how much memory, and what going on after an interruption costs.

Scenes are of all families in turn. The rival renders them one after the other in one process, and keeps nothing until
the end. Afterwards the run is killed with a part of its clips made, and started anew.

Measured on two cores, 2026-11-26: 3,627 clips an hour on two processors, 0.48 of the rival's time and 0.28 of that of
1,000 an hour (EGL without a GPU, 60 clips); 1.9 s of a processor and 94 kB a clip; 321 MB a process; every file as
without the kill, and the rest in 0.55 of the time of all with half of them made.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil
from measuring import Options, end_without, in_own_process, print_ratio

from lmms_eval_tasks.api import InputError
from lmms_eval_worlds.physics.filming import SceneClip, film
from lmms_eval_worlds.physics.processes import find_backend

ASKED = 1_000
"""Clips an hour that two processors are to render."""
MEASURED = "import sys, worlds_filming as w; w.film_some(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3])"
"""A run that can be killed."""


def clips(number: int, seconds: float) -> list[SceneClip]:
    """Clips of scenes of all families in turn."""
    from lmms_eval_worlds.scenes.families import families

    found = []
    for place in range(number):
        name = list(families())[place % len(families())]
        drawn = families()[name].draw(f"{name}_{place}", place, np.random.default_rng(place))
        found.append(SceneClip(drawn.model_copy(update={"seconds": seconds})))
    return found


def film_some(number: int, seconds: float, folder: str) -> None:
    """Render clips into a folder, in as many processes as there are processors."""
    film(clips(number, seconds), Path(folder))


def film_in_turn(wanted: Sequence[SceneClip], backend: str | None) -> float:
    """The rival: seconds for all clips in this process, none of which is kept before all are there."""
    os.environ.update({"LP_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
    if backend:
        os.environ["MUJOCO_GL"] = backend
    from lmms_eval_worlds.physics.filming import encode_frames
    from lmms_eval_worlds.physics.pictures import Filmer
    from lmms_eval_worlds.physics.rollout import FPS, roll_out

    started, made = time.perf_counter(), []
    for clip in wanted:
        poses = roll_out(clip.scene).poses
        with Filmer(clip.scene) as filmer:
            made.append(encode_frames(filmer.frames(poses), FPS, clip.digest))
    return time.perf_counter() - started


class Memory:
    """Bytes of this process and those that it starts, the most at one time and the most of one."""

    def __init__(self) -> None:
        self.together = self.largest = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            sizes = []
            for process in psutil.Process().children(recursive=True):
                try:
                    sizes.append(process.memory_info().rss)
                except psutil.Error:
                    continue
            self.together = max(self.together, sum(sizes))
            self.largest = max(self.largest, *sizes, 0)


def seconds_after_kill(number: int, seconds: float, folder: Path) -> float:
    """Seconds of a run that goes on where another one was killed with half of its clips made."""
    command = [sys.executable, "-c", MEASURED, str(number), str(seconds), str(folder)]
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    run = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
    while run.poll() is None and len(list(folder.glob("*.mp4"))) < number // 2:
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    time.sleep(3 * seconds)  # what is being rendered becomes whole
    started = time.perf_counter()
    film_some(number, seconds, str(folder))
    return time.perf_counter() - started


def main() -> None:
    """Print the time of our processes in parts of the rival's, and what a clip takes."""
    parser = Options(__doc__)
    parser.add_size("--clips", 60, 4, "clips")
    parser.add_size("--seconds", 4.0, 0.25, "of each clip")
    options = parser.parse_args()
    try:
        backend = find_backend()
    except InputError as error:
        end_without(str(error).splitlines()[0])
    wanted, cores = clips(options.clips, options.seconds), len(os.sched_getaffinity(0))
    in_turn = in_own_process(film_in_turn, wanted, backend, cuda=True)
    with tempfile.TemporaryDirectory() as folder:
        whole, halved = Path(folder, "whole"), Path(folder, "halved")
        before, started = os.times(), time.perf_counter()
        with Memory() as memory:
            film(wanted, whole)
        taken, after = time.perf_counter() - started, os.times()
        processor = after.children_user + after.children_system - before.children_user - before.children_system
        size = sum(path.stat().st_size for path in whole.iterdir()) / len(wanted)
        started = time.perf_counter()
        film(wanted, whole)
        nothing = time.perf_counter() - started
        rest = seconds_after_kill(len(wanted), options.seconds, halved)
        one, other = ({path.name: path.read_bytes() for path in made.iterdir()} for made in (whole, halved))
        assert one == other, "a killed run ends otherwise"
    print(
        f"{backend or 'the renderer of MUJOCO_GL'}, {cores} processors: {len(wanted)} clips in {taken:.0f} s, "
        f"{3600 * len(wanted) / taken:,.0f} an hour; {processor / len(wanted):.2f} s of a processor, "
        f"{3600 * len(wanted) / processor:,.0f} an hour of one; {size / 1e3:.0f} kB a clip; "
        f"{memory.largest / 1e6:.0f} MB a process, {memory.together / 1e6:.0f} MB together"
    )
    print_ratio(taken / in_turn, f"{len(wanted)} clips in processes to one process in turn ({in_turn:.1f} s)")
    print_ratio(rest / taken, "going on after a kill with half of them made to making all, every file alike")
    print_ratio(nothing / taken, "finding that all are made to making them")
    print_ratio(ASKED * taken / 3600 / len(wanted), f"the time to that of {ASKED:,} clips an hour")


if __name__ == "__main__":
    main()
