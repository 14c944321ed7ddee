"""Many clips in processes: what is there is kept, what is there is whole, and what ends badly is a clear message.

Most of it is shown with processes that act as if they rendered, so that it holds where there is no renderer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import psutil
import pytest
from small_worlds import made, plain_clip, rolling, wait_until

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.worlds.physics import filming
from lmms_eval_tasks.worlds.physics import processes as renderers
from lmms_eval_tasks.worlds.physics.filming import SceneClip, comment_of, film, see
from lmms_eval_tasks.worlds.physics.processes import RenderAnswer, find_backend
from lmms_eval_tasks.worlds.scenes.scene import Violation

SCRIPT = """
import sys
from pathlib import Path
from small_worlds import plain_clip, rolling
from lmms_eval_tasks.worlds.physics import filming, processes as renderers
from lmms_eval_tasks.worlds.physics.filming import SceneClip
if __name__ == "__main__":
    renderers._PROGRAM, renderers.find_backend, filming.make_clip = "acts_as_if_rendering", lambda: None, plain_clip
    filming.film([SceneClip(rolling(name)) for name in sys.argv[2:]], Path(sys.argv[1]), processes=1)
"""
"""A run as a user's, with a process that acts as if it rendered."""


def clips(*names: str) -> list[SceneClip]:
    return [SceneClip(rolling(name)) for name in names]


@pytest.fixture
def acting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes act as if they rendered."""
    monkeypatch.setattr(renderers, "_PROGRAM", "acts_as_if_rendering")
    monkeypatch.setattr(renderers, "find_backend", lambda: None)
    monkeypatch.setattr(filming, "make_clip", plain_clip)
    yield
    assert not [child for child in psutil.Process().children() if "acts_as_if" in " ".join(child.cmdline())]


def names(folder: Path) -> list[str]:
    """What lies in a folder, beside the log."""
    return sorted(path.name for path in folder.iterdir() if path.name not in ("log", "go"))


@pytest.mark.usefixtures("acting")
def test_clips_that_are_there_are_kept_and_others_are_made(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    paths = film(clips("a", "b"), tmp_path, processes=2)
    assert paths == [tmp_path / "a.mp4", tmp_path / "b.mp4"] and names(tmp_path) == ["a.mp4", "b.mp4"]
    film(clips("a", "b", "c", "c"), tmp_path, lambda *step: steps.append(step), processes=2)
    assert [name for _, name in made(tmp_path)[2:]] == ["c.mp4"]
    assert steps == [("rendering clips", 2, 3), ("rendering clips", 3, 3)]


@pytest.mark.usefixtures("acting")
def test_a_clip_of_another_scene_of_that_name_or_that_is_damaged_is_made_again(tmp_path: Path) -> None:
    (clip,) = clips("a")
    film([clip], tmp_path)
    film([other := SceneClip(rolling("a", velocity=0.5))], tmp_path)
    assert comment_of(tmp_path / "a.mp4") == other.digest
    (tmp_path / "a.mp4").write_bytes((tmp_path / "a.mp4").read_bytes()[:99])
    film([other], tmp_path)
    assert comment_of(tmp_path / "a.mp4") == other.digest and len(made(tmp_path)) == 3


def test_two_clips_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"two are called a\.mp4"):
        film([*clips("a"), SceneClip(rolling("a", velocity=0.5))], tmp_path)


def test_nothing_is_started_where_there_is_nothing_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderers, "_start", None)
    assert film([], tmp_path) == [] and see([]) == []


def test_fewer_than_one_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one process, but got 0"):
        film(clips("a"), tmp_path, processes=0)


@pytest.mark.usefixtures("acting")
def test_scenes_that_cannot_be_rendered_are_one_message_and_harm_no_other(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        film(clips("wrong_1", "a", "wrong_2", "b"), tmp_path, processes=2)
    lines = str(refused.value).splitlines()
    assert lines[0] == "Not all scenes can be rendered: 2 problems, the other clips were written."
    assert sorted(lines[1:]) == [f"  wrong_{n}.mp4: Expected a wheel, but it is square." for n in (1, 2)]
    assert names(tmp_path) == ["a.mp4", "b.mp4"]


@pytest.mark.usefixtures("acting")
def test_a_full_disk_ends_it_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        film(clips("full", *"abcdefgh"), tmp_path, processes=1)
    assert len(made(tmp_path)) < 8


@pytest.mark.usefixtures("acting")
def test_a_process_that_is_killed_is_replaced_and_its_clip_is_made(tmp_path: Path) -> None:
    film(clips("once", "a"), tmp_path, processes=1)
    assert names(tmp_path) == ["a.mp4", "once.mp4"]
    assert [name for _, name in made(tmp_path)] == ["once.mp4", "once.mp4", "a.mp4"]


@pytest.mark.usefixtures("acting")
def test_a_clip_over_which_every_process_dies_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"deadly\.mp4: .* ended twice \(signal 9\)"):
        film(clips("deadly", "a"), tmp_path, processes=1)
    assert names(tmp_path) == ["a.mp4"]


@pytest.mark.usefixtures("acting")
def test_where_it_is_interrupted_processes_end_and_nothing_half_made_stays(tmp_path: Path) -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        film(clips("a", "slow_1", "slow_2", "slow_3"), tmp_path, interrupt, processes=2)
    assert names(tmp_path) == ["a.mp4"]


def run(folder: Path, *names: str) -> subprocess.Popen[bytes]:
    script = folder.parent / "run.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen([sys.executable, str(script), str(folder), *names], env=environment)


@pytest.mark.slow
def test_where_the_run_is_killed_its_process_ends_and_the_next_run_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    killed = run(folder, "a", "slow", "b")
    wait_until(lambda: len(made(folder)) == 2)
    process = psutil.Process(made(folder)[1][0])
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    (folder / "go").touch()
    wait_until(lambda: not process.is_running())
    assert names(folder) == ["a.mp4", "slow.mp4"]  # what was begun has become whole, and no more was begun
    assert run(folder, "a", "slow", "b").wait() == 0
    assert names(folder) == ["a.mp4", "b.mp4", "slow.mp4"]
    assert [name for _, name in made(folder)] == ["a.mp4", "slow.mp4", "b.mp4"]


@pytest.mark.slow
def test_what_a_killed_process_leaves_half_written_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    folder.mkdir()
    (folder / ".0123.part").write_bytes(b"half")
    os.utime(folder / ".0123.part", (1, 1))
    assert run(folder, "a").wait() == 0
    assert names(folder) == ["a.mp4"]


def test_without_mujoco_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderers, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'lmms-eval-tasks\[worlds\]'"):
        film(clips("a"), tmp_path)


class Started:
    """Stands for processes that are started: which work, and with which renderers they were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *works: str | None) -> None:
        self.backends: list[str | None] = []

        def answer(backend: Any) -> RenderAnswer:
            return RenderAnswer(refused="" if backend in works else f"ImportError: no {backend}")

        def start(backend: str | None) -> Any:
            self.backends.append(backend)
            return backend

        monkeypatch.setattr(renderers, "find_spec", lambda name: name)
        monkeypatch.setattr(renderers, "_start", start)
        monkeypatch.setattr(renderers, "_answer", answer)
        monkeypatch.setattr(renderers, "_end", lambda process: None)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.delenv("MUJOCO_GL", raising=False)


def test_egl_is_tried_first_then_osmesa(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Started(monkeypatch, "osmesa", "egl")
    assert find_backend() == "egl" and started.backends == ["egl"]
    started = Started(monkeypatch, "osmesa")
    assert find_backend() == "osmesa" and started.backends == ["egl", "osmesa"]


def test_without_a_renderer_one_message_says_what_was_tried_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Started(monkeypatch)
    with pytest.raises(InputError) as refused:
        find_backend()
    lines = str(refused.value).splitlines()
    assert lines[0] == "Scenes cannot be rendered: neither EGL nor OSMesa works."
    assert lines[1:3] == ["  egl: ImportError: no egl", "  osmesa: ImportError: no osmesa"]
    assert "apt-get install libegl1 libgl1-mesa-dri (or libosmesa6)" in lines[3]


@pytest.mark.parametrize(("platform", "chosen"), [("linux", "glx"), ("darwin", ""), ("win32", "")])
def test_what_the_user_or_the_system_has_chosen_is_left(
    platform: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(monkeypatch, None)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("MUJOCO_GL", chosen)
    assert find_backend() is None and started.backends == [None]
    Started(monkeypatch)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("MUJOCO_GL", chosen)
    with pytest.raises(InputError, match=rf"{chosen or 'own'}: ImportError[\s\S]*MUJOCO_GL may name another"):
        find_backend()


@pytest.mark.slow
def test_a_renderer_that_is_none_is_refused_by_mujoco_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco", reason="the extra worlds is not installed")
    monkeypatch.setenv("MUJOCO_GL", "crayons")
    with pytest.raises(InputError, match="crayons: RuntimeError: invalid value for environment variable MUJOCO_GL"):
        find_backend()


@pytest.mark.slow
@pytest.mark.usefixtures("one_renderer")
def test_real_clips_are_the_same_each_time_and_backwards_in_reverse(tmp_path: Path) -> None:
    shown = rolling("real")
    breaks = Violation(principle="permanence", body="red ball", time=0.2)
    wanted = [SceneClip(shown), SceneClip(shown, backwards=True), SceneClip(shown, violation=breaks)]
    paths = film(wanted, tmp_path / "one", processes=1)
    frames = []
    for path in paths:
        with av.open(str(path)) as container:
            (stream,) = container.streams.video
            assert (stream.width, stream.height, stream.average_rate) == (384, 288, 12)
            frames.append([frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(stream)])
    forward, backward, broken = frames
    assert len(forward) == len(backward) == len(broken) == 6
    for one, other in zip(forward, backward[::-1], strict=True):
        assert np.abs(one - other).mean() < 2.0
    assert np.abs(forward[2] - broken[2]).mean() < 1.0 and np.abs(forward[4] - broken[4]).max() > 100
    again = film(wanted[:1], tmp_path / "two", processes=1)
    assert again[0].read_bytes() == paths[0].read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("one_renderer")
def test_sights_come_in_the_order_of_scenes_and_what_fails_is_named() -> None:
    first, second = see([rolling("a"), rolling("b", seconds=0.25)], processes=2)
    assert {sight.time for sight in first} == {0.0, 0.25} and {sight.time for sight in second} == {0.0}
    assert {sight.body for sight in first} == {"red ball", "green ball", "white ball"}
    flat = rolling("flat")
    flat = flat.model_copy(update={"bodies": [flat.bodies[0].model_copy(update={"size": [-1.0]})]})
    with pytest.raises(InputError, match="flat: "):
        see([flat], processes=1)
