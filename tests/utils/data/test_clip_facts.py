"""What is known of clips: found out once, by what a clip holds, and never from a failure that passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lmms_eval_tasks.utils.data import clip_store
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.release import UnreadableClip


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
