"""Many clips in processes: what is there is kept, what is there is whole, and what ends badly is a clear message.

Most of it is shown with processes that act as if they rendered, so that it holds where there is no renderer.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import psutil
import pytest
from commands import refusal
from expected import Expected
from small_worlds import LONGEST, Here, made, plain_clip, rolling

from lmms_eval_tasks.api import InputError
from lmms_eval_worlds.physics import filming, processes
from lmms_eval_worlds.physics.filming import SceneClip, comment_of, encode_frames, film, make_clip, see
from lmms_eval_worlds.physics.processes import find_backend
from lmms_eval_worlds.physics.rollout import FPS, roll_out
from lmms_eval_worlds.scenes.scene import Scene, Violation

VANISHES = Violation(principle="permanence", body="red ball", time=0.2)


def clips(*names: str) -> list[SceneClip]:
    return [SceneClip(rolling(name)) for name in names]


def names(folder: Path) -> list[str]:
    """What lies in a folder, beside the log."""
    return sorted(path.name for path in folder.iterdir() if path.name not in ("log", "go"))


def begun(folder: Path) -> list[str]:
    return [name for _, name in made(folder)]


@pytest.fixture
def acting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes act as if they rendered."""
    monkeypatch.setattr(processes, "find_backend", lambda: None)
    monkeypatch.setattr(filming, "make_clip", plain_clip)


def test_a_clip_is_named_after_its_scene_and_its_digest_changes_with_its_frames(expected: Expected) -> None:
    shown, other = rolling("chain_7"), rolling("chain_7", velocity=1.6)
    made_of = [SceneClip(shown), SceneClip(shown, backwards=True), SceneClip(shown, violation=VANISHES)]
    assert [clip.name for clip in made_of] == ["chain_7.mp4", "chain_7_backwards.mp4", "chain_7_breaks_permanence.mp4"]
    later = SceneClip(shown, violation=VANISHES.model_copy(update={"time": 0.3}))
    assert len({clip.digest for clip in (*made_of, SceneClip(other), later)}) == 5
    expected.digests({clip.name: clip.digest for clip in made_of})
    assert SceneClip(Scene.model_validate_json(shown.model_dump_json())).digest == made_of[0].digest
    with pytest.raises(ValueError, match="backwards or breaks a principle"):
        SceneClip(shown, backwards=True, violation=VANISHES)


def gradient(count: int) -> list[Any]:
    """Frames over which a bright patch moves."""
    frames = []
    for number in range(count):
        frame = np.full((96, 128, 3), (60, 90, 120), np.uint8)
        frame[40:64, 8 * number : 8 * number + 24] = (200, 40, 40)
        frames.append(frame)
    return frames


def decoded(content: bytes) -> list[Any]:
    with av.open(io.BytesIO(content)) as container:
        return [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(video=0)]


def test_a_clip_has_the_frames_of_its_scene_in_its_direction_or_of_what_it_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Filmer:
        """Its frames are the numbers of the poses."""

        def __init__(self, shown: Scene) -> None:
            self.name = shown.id

        def __enter__(self) -> Filmer:
            return self

        def __exit__(self, *error: object) -> None: ...

        def frames(self, poses: Sequence[Any]) -> list[int]:
            return list(range(len(poses)))

        def sights(self, poses: Sequence[Any]) -> list[str]:
            return [f"{len(poses)} of {self.name}"]

    monkeypatch.setattr("lmms_eval_worlds.physics.pictures.Filmer", Filmer)
    monkeypatch.setattr("lmms_eval_worlds.physics.violations.broken_poses", lambda shown, violation: [violation] * 3)
    monkeypatch.setattr(filming, "encode_frames", lambda *written: repr(written).encode())
    shown, path = rolling("one", seconds=0.5), tmp_path / "clip"
    number = len(roll_out(shown).poses)
    for clip, frames in (
        (SceneClip(shown), list(range(number))),
        (SceneClip(shown, backwards=True), list(range(number))[::-1]),
        (SceneClip(shown, violation=VANISHES), [0, 1, 2]),
    ):
        make_clip((clip, path))
        assert path.read_text() == repr((frames, FPS, clip.digest))
    assert list(map(str, filming.find_sights(shown))) == [f"{number} of one"]


def test_the_same_frames_give_the_same_bytes_and_are_hardly_changed(tmp_path: Path) -> None:
    frames = gradient(8)
    content = encode_frames(frames, 12, "0123")
    assert encode_frames(frames, 12, "0123") == content == encode_frames(frames, 12, "0123", 20)
    assert len(decoded(encode_frames(frames[:1], 12, ""))) == 1
    smaller = [len(encode_frames(frames, 12, "0123", quality)) for quality in (10, 20, 30)]
    assert smaller == sorted(set(smaller), reverse=True)
    assert max(np.abs(one - other).mean() for one, other in zip(decoded(content), frames, strict=True)) < 4
    with av.open(io.BytesIO(content)) as container:
        (stream,) = container.streams.video
        assert (stream.codec_context.name, stream.average_rate, stream.pix_fmt) == ("h264", 12, "yuv420p")
    for name, part, comment in (("whole.mp4", content, "0123"), ("half.mp4", content[:200], None)):
        (tmp_path / name).write_bytes(part)
        assert comment_of(tmp_path / name) == comment
    assert comment_of(tmp_path / "none.mp4") is None
    # What comes later leaves no trace in the first picture, nor the direction in the coding.
    first, other = (decoded(encode_frames(frames, 12, "")) for frames in (gradient(12), gradient(1) * 12))
    assert np.array_equal(first[0], other[0]) and not np.array_equal(first[-1], other[-1])
    palindrome = [*frames, *frames[::-1]]
    assert encode_frames(palindrome[::-1], 12, "") == encode_frames(palindrome, 12, "")


def test_what_is_there_is_kept_and_what_is_damaged_or_of_another_scene_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.setattr(filming, "Workers", lambda processes, renders: nullcontext(Here()))
    monkeypatch.setattr(filming, "make_clip", plain_clip)
    steps: list[tuple[str, int, int]] = []
    assert film(clips("a", "b"), tmp_path) == [tmp_path / "a.mp4", tmp_path / "b.mp4"]
    film(clips("a", "b", "c", "c"), tmp_path, lambda *step: steps.append(step))
    assert steps == [("rendering clips", 2, 3), ("rendering clips", 3, 3)]
    other = SceneClip(rolling("a", velocity=0.5))
    film([other], tmp_path)
    (tmp_path / "b.mp4").write_bytes((tmp_path / "b.mp4").read_bytes()[:99])
    film([other, *clips("b")], tmp_path)
    assert begun(tmp_path) == ["a.mp4", "b.mp4", "c.mp4", "a.mp4", "b.mp4"]
    assert [comment_of(tmp_path / clip.name) for clip in (other, *clips("b"))] == [other.digest, clips("b")[0].digest]
    # Those that cannot be rendered are one message and harm no other; a full disk ends it at once.
    expected(refusal(film, clips("wrong_1", "d", "wrong_2"), tmp_path))
    assert names(tmp_path) == ["a.mp4", "b.mp4", "c.mp4", "d.mp4"]
    with pytest.raises(OSError, match="No space left"):
        film(clips("full"), tmp_path)


def test_what_cannot_be_filmed_is_refused_and_nothing_is_started_where_there_is_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_start", None)
    assert film([], tmp_path) == [] and see([]) == []
    with pytest.raises(ValueError, match=r"two are called a\.mp4"):
        film([*clips("a"), SceneClip(rolling("a", velocity=0.5))], tmp_path)
    with pytest.raises(InputError, match="at least one process, but got 0"):
        film(clips("a"), tmp_path, processes=0)
    monkeypatch.setattr(processes, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install mujoco"):
        film(clips("a"), tmp_path)


def test_sights_are_looked_for_by_no_more_processes_than_scenes_and_each_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def open_workers(processes: int, renders: bool) -> Any:
        opened.append((processes, renders))
        return nullcontext(Here())

    opened: list[tuple[int, bool]] = []
    steps: list[tuple[str, int, int]] = []
    monkeypatch.setattr(filming, "Workers", open_workers)
    monkeypatch.setattr(filming, "count_cores", lambda: 5)
    monkeypatch.setattr(filming, "find_sights", lambda shown: [f"sight of {shown.id}"])
    shown = [rolling("b"), rolling("a")]
    found = see(shown, lambda *step: steps.append(step))
    assert list(map(str, found)) == ["['sight of b']", "['sight of a']"]
    assert steps == [("looking at scenes", 1, 2), ("looking at scenes", 2, 2)]
    see(shown, processes=1)
    assert opened == [(2, True), (1, True)]


@pytest.mark.slow
@pytest.mark.usefixtures("acting")
def test_a_process_that_is_killed_is_replaced_once_for_a_clip_and_all_end_where_it_is_interrupted(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=r"deadly\.mp4: Its process ended twice"):
        film(clips("once", "deadly", "a"), tmp_path, processes=1)
    assert names(tmp_path) == ["a.mp4", "once.mp4"]
    assert begun(tmp_path) == ["once.mp4", "once.mp4", "deadly.mp4", "deadly.mp4", "a.mp4"]

    def interrupt(what: str, done: int, total: int) -> None:
        if done:
            (tmp_path / "go").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        film(clips("b", "slow_1", "slow_2", "slow_3"), tmp_path, interrupt, processes=2)
    # What was begun has become whole, and no more was begun.
    assert names(tmp_path) == ["a.mp4", "b.mp4", "once.mp4", "slow_1.mp4"]


@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them() -> None:
    script = "from lmms_eval_worlds.physics.processes import _start; import os, time\n"
    script += "if __name__ == '__main__': print(_start(1).submit(os.getpid).result(), flush=True); time.sleep(60)"
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    child.wait(LONGEST)


def test_egl_is_tried_first_then_osmesa_and_what_the_user_or_the_system_has_chosen_is_left(
    monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    tried: list[str | None] = []

    def find(*works: str | None, chosen: str = "", platform: str = "linux") -> object:
        """The renderer that is found where only some work, or the message."""

        def attempt(backend: str | None) -> str:
            tried.append(backend)
            return "" if backend in works else f"ImportError: no {backend}"

        tried.clear()
        monkeypatch.setattr(processes, "_try", attempt)
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setenv("MUJOCO_GL", chosen)
        try:
            return find_backend()
        except InputError as error:
            return str(error)

    monkeypatch.setattr(processes, "find_spec", lambda name: name)
    assert (find("osmesa", "egl"), tried) == ("egl", ["egl"])
    assert (find("osmesa"), tried) == ("osmesa", ["egl", "osmesa"])
    messages = [find()]
    for platform, chosen in (("linux", "glx"), ("darwin", ""), ("win32", "")):
        assert (find(None, chosen=chosen, platform=platform), tried) == (None, [None])
        messages.append(find(chosen=chosen, platform=platform))
    expected("\n".join(map(str, messages)))


@pytest.mark.parametrize(
    ("raised", "why"),
    [
        (None, ""),
        (BrokenProcessPool("a child process terminated"), "the process ended"),
        (ValueError("no display\nand what led to it"), "no display"),
        (OSError("no library"), "no library"),
    ],
)
def test_a_renderer_works_or_the_first_line_says_why_not(
    raised: Exception | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: Future[None] = Future()
    done.set_exception(raised) if raised else done.set_result(None)
    started: list[tuple[int, str | None]] = []

    def start(*given: Any) -> Any:
        started.append(given)
        return nullcontext(SimpleNamespace(submit=lambda *work: done))

    monkeypatch.setattr(processes, "_start", start)
    assert processes._try("egl") == why and started == [(1, "egl")]


@pytest.mark.parametrize("backend", [None, "egl"])
def test_a_process_draws_with_one_thread_and_leaves_an_interruption_to_the_one_that_started_it(
    backend: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(signal, "signal", lambda *given: begun.append(given))
    monkeypatch.setattr(
        processes, "Thread", lambda target, daemon: SimpleNamespace(start=lambda: begun.append((target, daemon)))
    )
    processes._begin(backend)
    assert begun == [(signal.SIGINT, signal.SIG_IGN), (processes._end_with_parent, True)]
    named = {} if backend is None else {"MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend}
    assert os.environ == {"LP_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **named}


@pytest.mark.slow
@pytest.mark.usefixtures("one_renderer")
def test_real_clips_are_the_same_each_time_and_sights_come_in_the_order_of_scenes(tmp_path: Path) -> None:
    shown = rolling("real")
    wanted = [SceneClip(shown), SceneClip(shown, backwards=True), SceneClip(shown, violation=VANISHES)]
    paths = film(wanted, tmp_path / "one", processes=1)
    forward, backward, broken = (decoded(path.read_bytes()) for path in paths)
    assert len(forward) == len(backward) == len(broken) == 6 and forward[0].shape == (288, 384, 3)
    assert all(np.abs(one - other).mean() < 2.0 for one, other in zip(forward, backward[::-1], strict=True))
    assert np.abs(forward[2] - broken[2]).mean() < 1.0 and np.abs(forward[4] - broken[4]).max() > 100
    again = film(wanted[:1], tmp_path / "two", processes=1)
    assert again[0].read_bytes() == paths[0].read_bytes()
    first, second = see([rolling("a"), rolling("b", seconds=0.25)], processes=2)
    assert {sight.time for sight in first} == {0.0, 0.25} and {sight.time for sight in second} == {0.0}
    assert {sight.body for sight in first} == {"red ball", "green ball", "white ball"}
    flat = shown.model_copy(update={"bodies": [shown.bodies[0].model_copy(update={"size": [-1.0]})]})
    with pytest.raises(InputError, match="real: "):
        see([flat], processes=1)


def test_there_are_as_many_processes_as_cores_for_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set() if process else {1, 2, 5}, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    assert processes.count_cores() == 3
    monkeypatch.delattr("os.sched_getaffinity")
    assert processes.count_cores() == 64
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert processes.count_cores() == 1
    with processes.Workers(1) as workers:
        assert list(workers.map(abs, [-1, 2])) == [1, 2]
