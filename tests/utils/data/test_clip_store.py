"""The store of made clips, and what is known of clips: nothing half-written, and found out once."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from numbered_clips import number_of, pictures_by, write_numbered

from lmms_eval_tasks.utils.data import clip_store
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.made import show_reversed
from lmms_eval_tasks.utils.data.release import UnreadableClip

STOP_AT = """
import sys
from pathlib import Path
from lmms_eval_tasks.utils.data import clip_store, made
def stop():
    print("here", flush=True)
    sys.stdin.read()
if sys.argv[3] == "written":
    clip_store.ClipStore._make_room = lambda self, size: stop()
else:
    original = made.FrameCoder.write
    def write(self, order):
        original(self, (stop() if number == 20 else number for number in order))
    made.FrameCoder.write = write
made.show_reversed(Path(sys.argv[1]), made.ClipStore(Path(sys.argv[2]), 1 << 30))
"""
MAKE_ONE = """
import sys
from pathlib import Path
from lmms_eval_tasks.utils.data import made
original = made.FrameCoder.write
def write(self, order):
    with open(sys.argv[3], "a") as log:
        log.write("made\\n")
    original(self, order)
made.FrameCoder.write = write
print("ready", flush=True)
sys.stdin.readline()
print(made.show_reversed(Path(sys.argv[1]), made.ClipStore(Path(sys.argv[2]), 1 << 30)).path)
"""


def visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("??/*") if not path.name.startswith("."))


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("moment", ["half", "written"])
def test_a_process_that_is_killed_leaves_nothing_half_written(moment: str, tmp_path: Path) -> None:
    clip, folder = write_numbered(tmp_path / "clip.mp4", 40), tmp_path / "made"
    with start(STOP_AT, clip, folder, moment) as process:
        assert process.stdout is not None and process.stdout.readline() == "here\n"
        assert list(folder.glob("??/*.part")) and not visible(folder)
        process.send_signal(signal.SIGKILL)
    assert not visible(folder)
    store = ClipStore(folder, 1 << 30)
    made = show_reversed(clip, store)
    assert visible(folder) == [made.path]
    assert [number_of(picture) for picture in pictures_by("av", made.path)] == list(made.frames)


@pytest.mark.slow
def test_of_several_processes_one_makes_the_clip(tmp_path: Path) -> None:
    clip, folder, log = write_numbered(tmp_path / "clip.mp4", 60), tmp_path / "made", tmp_path / "log"
    processes = [start(MAKE_ONE, clip, folder, log) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    answers = [process.communicate("\n", timeout=60)[0].strip() for process in processes]
    (made,) = visible(folder)
    assert answers == [str(made)] * 4 and all(process.returncode == 0 for process in processes)
    assert log.read_text() == "made\n"
    assert [number_of(picture) for picture in pictures_by("av", made)] == list(reversed(range(60)))
    assert not list(folder.glob("??/*.part"))


class Maker:
    """Makes files of 1,000 bytes and counts them."""

    def __init__(self, tmp_path: Path, limit: int) -> None:
        self.clip = tmp_path / "source.bin"
        self.clip.write_bytes(b"source")
        self.store, self.made = ClipStore(tmp_path / "made", limit), 0

    def ask(self, view: int) -> Path:
        return self.store.find_or_make(self.clip, {"view": view}, ".mp4", "all", self._make)[0]

    def _make(self, path: Path) -> int:
        self.made += 1
        path.write_bytes(bytes(1000))
        return 7


def age(path: Path, seconds: float) -> None:
    at = time.time() - seconds
    os.utime(path, (at, at))


def test_files_that_were_not_asked_for_longest_are_deleted_and_none_of_the_last_hour(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    maker = Maker(tmp_path, limit=10_000)
    files = [maker.ask(view) for view in range(10)]
    for hours, path in enumerate(reversed(files), 1):
        age(path, 3600 * hours + 60)
    assert maker.ask(0) == files[0] and maker.made == 10  # which makes the oldest the latest
    new = maker.ask(10)
    assert visible(maker.store.folder) == sorted([files[0], *files[3:], new])
    assert sum(path.stat().st_size for path in visible(maker.store.folder)) <= 10_000
    for path in files[3:]:
        age(path, 1800)
    with caplog.at_level(logging.WARNING):
        later = [maker.ask(view) for view in range(11, 15)]
    assert all(path.is_file() for path in [files[0], *files[3:], new, *later])
    assert len(caplog.records) == 1 and "all were asked for within the last hour" in caplog.text


def test_another_content_view_or_form_is_another_file_and_one_that_is_gone_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(tmp_path, limit=10_000)
    first = maker.ask(0)
    age(first, 7200)
    changed = first.stat().st_mtime_ns  # by which digests are remembered
    assert maker.ask(0) == first
    assert first.stat().st_mtime_ns == changed and time.time() - first.stat().st_atime < 60
    first.unlink()
    assert maker.ask(0) == first and maker.made == 2
    assert maker.ask(1) != first
    maker.clip.write_bytes(b"other content")
    assert maker.ask(0) != first
    monkeypatch.setattr(clip_store, "FORMAT", clip_store.FORMAT + 1)
    maker.clip.write_bytes(b"source")
    assert maker.ask(0) != first and maker.made == 5


def test_what_fails_to_be_made_leaves_nothing(tmp_path: Path) -> None:
    maker = Maker(tmp_path, limit=10_000)

    def fail(path: Path) -> int:
        path.write_bytes(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        maker.store.find_or_make(maker.clip, {"view": 0}, ".mp4", "all", fail)
    assert not visible(maker.store.folder) and not list(maker.store.folder.rglob("*.part"))


def test_a_process_looks_at_all_files_once_in_a_hundredth_of_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker, looks = Maker(tmp_path, limit=500_000), []
    stored = ClipStore._stored

    def look(self: ClipStore) -> Iterator[tuple[float, int, Path]]:
        looks.append(maker.made)
        return stored(self)

    monkeypatch.setattr(ClipStore, "_stored", look)
    for view in range(16):
        maker.ask(view)
    assert looks == [1, 6, 11, 16]


class World:
    """A clip, a store, and how often the clip was decoded."""

    def __init__(self, folder: Path) -> None:
        self.clip, self.store = folder / "clip.mp4", ClipStore(folder / "made", 1 << 30)
        self.clip.write_bytes(b"clip")
        self.decoded = 0

    def count(self, decode: Callable[[], int], clip: Path | None = None, decoded: str = "all") -> int:
        def counted() -> int:
            self.decoded += 1
            return decode()

        return self.store.count_frames(clip or self.clip, decoded, counted)

    def refuse(self, cause: Exception | None = None) -> Callable[[], int]:
        def decode() -> int:
            raise UnreadableClip(f"Expected {self.clip} to be a video, but it is not.") from cause

        return decode


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_clip_is_decoded_once_wherever_it_lies(world: World, tmp_path: Path) -> None:
    assert world.count(lambda: 12) == world.count(lambda: 13) == 12
    same = tmp_path / "same.mp4"
    same.write_bytes(b"clip")
    assert world.count(lambda: 13, same) == 12 and world.decoded == 1
    assert world.count(lambda: 12, decoded="frame last") == 12 and world.decoded == 2
    same.write_bytes(b"other")
    assert world.count(lambda: 14, same) == 14
    assert not list(world.store.folder.glob("??/[!.]*")), "nothing is made"


def test_why_a_clip_cannot_be_decoded_is_known_too_and_names_the_file_that_is_asked_for(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = tmp_path / "same.mp4"
    same.write_bytes(b"clip")
    for clip in (world.clip, world.clip, same):
        with pytest.raises(UnreadableClip, match=f"Expected {clip} to be a video, but it is not"):
            world.count(world.refuse(ValueError()), clip)
    assert world.decoded == 1
    with pytest.raises(UnreadableClip, match="it is not"):
        world.store.find_or_make(world.clip, {"view": 1}, ".mp4", "all", lambda path: pytest.fail("it is made"))
    monkeypatch.setattr(clip_store, "_decoder", lambda: "of tomorrow")
    assert world.count(lambda: 5) == 5 == world.count(lambda: 6)


def test_a_failure_that_may_pass_is_not_kept(world: World) -> None:
    for cause in (OSError("disk"), MemoryError(), PermissionError()):
        with pytest.raises(UnreadableClip):
            world.count(world.refuse(cause))
    assert world.count(lambda: 7) == 7


def test_a_fact_that_cannot_be_read_is_found_out_again(world: World) -> None:
    world.count(lambda: 7)
    (file,) = world.store.folder.rglob("*.jsonl")
    kept = file.read_text()
    key = kept.partition(",")[0]
    for text in (
        "",
        "{",
        "[]",
        "null",
        f'{key}, "frames": "many"}}',
        f'{key}, "frames": 0}}',
        f'{key}, "problem": 3}}',
    ):
        for path in world.store.folder.rglob("*.jsonl"):
            path.write_text(text + "\n" if path == file else "")
        world.store, world.decoded = ClipStore(world.store.folder, 1 << 30), 0
        assert world.count(lambda: 7) == world.count(lambda: 8) == 7 and world.decoded == 1, text


def test_what_cannot_be_kept_and_a_clip_that_is_not_there_are_no_facts(world: World, tmp_path: Path) -> None:
    world.store.folder.mkdir()
    (world.store.folder / "facts").write_text("a file, so no folder can be made in it")
    assert (world.count(lambda: 7), world.count(lambda: 7)) == (7, 7) and world.decoded == 2
    late = tmp_path / "late.mp4"
    with pytest.raises(UnreadableClip, match="there is no file that can be read"):
        world.count(lambda: 7, late)
    late.write_bytes(b"here now")
    assert world.count(lambda: 7, late) == 7
