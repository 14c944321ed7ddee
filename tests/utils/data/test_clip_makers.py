"""Processes that make clips: several at once, each clip once, and nothing half made however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from slow_makings import make, makers, wait_until

from lmms_eval_tasks.utils.data.clip_makers import ClipMakers
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.made import Making, show_reversed
from lmms_eval_tasks.utils.data.release import UnreadableClip

START = """
import sys
from pathlib import Path
from slow_makings import make
from lmms_eval_tasks.utils.data.clip_makers import ClipMakers
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.made import Making
folder = Path(sys.argv[1])
ClipMakers(ClipStore(folder / "made", 1 << 30), 1).submit(Making(make, folder / "clip.mp4", ("one", "later"))).result()
"""


class World:
    def __init__(self, folder: Path) -> None:
        self.folder, self.clip, self.store = folder, folder / "clip.mp4", ClipStore(folder / "made", 1 << 30)
        self.clip.write_bytes(b"clip")

    def making(self, name: str, how: str = "plainly") -> Making:
        return Making(make, self.clip, (name, how))

    def visible(self) -> list[Path]:
        return list(self.store.folder.glob("??/[!.]*"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def two(world: World) -> Iterator[ClipMakers]:
    processes = ClipMakers(world.store, 2)
    yield processes
    processes.close()


def test_clips_are_made_at_once_in_other_processes(world: World, two: ClipMakers) -> None:
    makings = [world.making(name, "together") for name in "ab"]
    for done in [two.submit(making) for making in makings]:
        done.result()
    assert len(set(makers(world.folder)) - {os.getpid()}) == 2
    first = [making.run(world.store).path.read_text() for making in makings]
    for done in [two.submit(making) for making in makings]:
        done.result()
    assert len(makers(world.folder)) == 2
    assert [making.run(world.store).path.read_text() for making in makings] == first


def test_no_process_is_started_where_all_is_there(world: World, two: ClipMakers) -> None:
    before = psutil.Process().children()
    making = world.making("a")
    making.run(world.store)
    two.submit(making).result()
    two.submit(Making(make, world.folder / "none.mp4", ("a", "plainly"))).result()
    assert psutil.Process().children() == before and makers(world.folder) == [os.getpid()]


def test_a_clip_that_cannot_be_decoded_is_a_fact_and_harms_no_other(world: World, two: ClipMakers) -> None:
    two.submit(Making(show_reversed, world.clip)).result()
    with pytest.raises(UnreadableClip, match="cannot be opened"):
        Making(show_reversed, world.clip).run(ClipStore(world.store.folder, 1 << 30, makes=False))
    two.submit(world.making("a")).result()
    assert len(makers(world.folder)) == 1


def test_a_process_that_dies_is_replaced(world: World, tmp_path: Path) -> None:
    one = ClipMakers(world.store, 1)
    try:
        one.submit(world.making("a", "deadly")).result()
        wait_until(lambda: not psutil.pid_exists(makers(tmp_path)[0]) or one._processes[0].poll() is not None)
        assert not world.visible()
        one.submit(world.making("b")).result()
        assert len(set(makers(tmp_path))) == 2 and len(world.visible()) == 1
    finally:
        one.close()


def test_closing_ends_what_is_half_made_and_begins_nothing(world: World, two: ClipMakers) -> None:
    coming = [two.submit(world.making(name, "later")) for name in "abcd"]
    wait_until(lambda: len(makers(world.folder)) == 2)
    processes = [psutil.Process(process) for process in makers(world.folder)]
    two.close()
    assert all(one.done() for one in coming) and len(makers(world.folder)) == 2
    assert not any(process.is_running() for process in processes)
    assert not world.visible() and not list(world.store.folder.rglob("*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_where_the_run_is_killed_what_was_begun_becomes_whole_and_processes_end(
    ending: signal.Signals, world: World
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.Popen(
        [sys.executable, "-c", START, str(world.folder)], env=environment, start_new_session=True, stderr=-3
    )
    wait_until(lambda: makers(world.folder))
    process = psutil.Process(makers(world.folder)[0])
    # Ctrl-C goes to all processes of a terminal.
    os.kill(run.pid, ending) if ending == signal.SIGKILL else os.killpg(run.pid, ending)
    if ending == signal.SIGKILL:
        run.wait()
    assert process.is_running() and not world.visible()
    (world.folder / "go").touch()
    wait_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
    run.wait()
    (made,) = world.visible()
    assert made.read_text() == str(process.pid) and not list(world.store.folder.rglob("*.part"))
