"""The store of made clips, and what is known of clips: nothing half-written, and found out once."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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
from lmms_eval_tasks.utils.data import made
def stop():
    print("here", flush=True)
    sys.stdin.read()
original = made.FrameCoder.write
made.FrameCoder.write = lambda self, order: original(self, (stop() if number == 20 else number for number in order))
made.show_reversed(Path(sys.argv[1]), made.ClipStore(Path(sys.argv[2]), 1 << 30))
"""


def visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("??/*") if not path.name.startswith("."))


def test_a_process_that_is_killed_leaves_nothing_half_written(tmp_path: Path) -> None:
    clip, folder = write_numbered(tmp_path / "clip.mp4", 40), tmp_path / "made"
    command = [sys.executable, "-c", STOP_AT, str(clip), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "here\n"
        assert list(folder.glob("??/*.part")) and not visible(folder)
        process.send_signal(signal.SIGKILL)
    assert not visible(folder)
    made = show_reversed(clip, ClipStore(folder, 1 << 30))
    assert visible(folder) == [made.path]
    assert [number_of(picture) for picture in pictures_by("av", made.path)] == list(made.frames)


class Maker:
    """Makes files of 1,000 bytes of one source, and counts how often and how often the source is decoded."""

    def __init__(self, tmp_path: Path, limit: int = 10_000) -> None:
        self.clip, self.store = tmp_path / "source.mp4", ClipStore(tmp_path / "made", limit)
        self.clip.write_bytes(b"source")
        self.made = self.decoded = 0

    def ask(self, view: int) -> Path:
        return self.store.find_or_make(self.clip, {"view": view}, ".mp4", "all", self._make)[0]

    def _make(self, path: Path) -> int:
        self.made += 1
        time.sleep(0.01)
        path.write_bytes(bytes(1000))
        return 7

    def count(self, found: int | Exception | None, clip: Path | None = None, decoded: str = "all") -> int:
        """Count the frames of a clip of which decoding finds so many, or which cannot be decoded for this cause."""

        def decode() -> int:
            self.decoded += 1
            if isinstance(found, int):
                return found
            raise UnreadableClip(f"Expected {self.clip} to be a video, but it is not.") from found

        return self.store.count_frames(clip or self.clip, decoded, decode)


def test_of_several_at_once_one_makes_the_clip(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    with ThreadPoolExecutor(4) as threads:
        files = set(threads.map(lambda _: maker.ask(0), range(4)))
    assert maker.made == 1 and visible(maker.store.folder) == [*files]
    assert not list(maker.store.folder.rglob("*.part"))


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
    # What was not asked for in the last hour may go.
    for path in visible(maker.store.folder):
        age(path, 3660)
    latest = maker.ask(15)
    left = visible(maker.store.folder)
    assert latest in left and sum(path.stat().st_size for path in left) <= 9_000


def test_a_store_may_be_full_to_its_last_byte(tmp_path: Path) -> None:
    maker = Maker(tmp_path, limit=3_000)
    files = [maker.ask(view) for view in range(2)]
    for path in files:
        age(path, 7200)
    third = maker.ask(2)
    assert visible(maker.store.folder) == sorted([*files, third])
    fourth = maker.ask(3)
    assert visible(maker.store.folder) == sorted([third, fourth])


def test_another_content_view_or_form_is_another_file_and_one_that_is_gone_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(tmp_path)

    def fail(path: Path) -> int:
        path.write_bytes(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        maker.store.find_or_make(maker.clip, {"view": 0}, ".mp4", "all", fail)
    assert not visible(maker.store.folder) and not list(maker.store.folder.rglob("*.part"))
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


def test_a_clip_is_decoded_once_wherever_it_lies(tmp_path: Path) -> None:
    maker, same = Maker(tmp_path), tmp_path / "same.mp4"
    same.write_bytes(b"source")
    assert maker.count(12) == maker.count(13) == maker.count(13, same) == 12 and maker.decoded == 1
    assert maker.count(12, decoded="frame last") == 12 and maker.decoded == 2
    same.write_bytes(b"other")
    assert maker.count(14, same) == 14
    assert not list(maker.store.folder.glob("??/[!.]*")), "nothing is made"
    late = tmp_path / "late.mp4"
    with pytest.raises(UnreadableClip, match="there is no file that can be read"):
        maker.count(7, late)
    late.write_bytes(b"here now")
    assert maker.count(7, late) == 7


def test_why_a_clip_cannot_be_decoded_is_known_too_and_names_the_file_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker, same = Maker(tmp_path), tmp_path / "same.mp4"
    same.write_bytes(b"source")
    for number, cause in enumerate((OSError("disk"), MemoryError(), PermissionError()), 1):  # these may pass
        with pytest.raises(UnreadableClip):
            maker.count(cause)
        assert maker.decoded == number
    for clip in (maker.clip, maker.clip, same):
        with pytest.raises(UnreadableClip, match=f"Expected {clip} to be a video, but it is not"):
            maker.count(ValueError(), clip)
    assert maker.decoded == 4
    with pytest.raises(UnreadableClip, match="it is not"):
        maker.ask(1)
    monkeypatch.setattr(clip_store, "_decoder", lambda: "of tomorrow")
    assert maker.count(5) == 5 == maker.count(6)


def test_a_fact_that_cannot_be_read_or_kept_is_found_out_again(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    maker.count(7)
    (file,) = maker.store.folder.rglob("*.jsonl")
    key = file.read_text().partition(",")[0]
    wrong = [f"{key}, {fact}}}" for fact in ('"frames": "many"', '"frames": 0', '"problem": 3')]
    for text in ("", "{", "[]", "null", *wrong):
        for path in maker.store.folder.rglob("*.jsonl"):
            path.write_text(text + "\n" if path == file else "")
        maker.store, maker.decoded = ClipStore(maker.store.folder, 1 << 30), 0
        assert maker.count(7) == maker.count(8) == 7 and maker.decoded == 1, text
    maker.store, maker.decoded = ClipStore(tmp_path / "full", 1 << 30), 0
    maker.store.folder.mkdir()
    (maker.store.folder / "facts").write_text("a file, so no folder can be made in it")
    assert (maker.count(7), maker.count(7)) == (7, 7) and maker.decoded == 2
