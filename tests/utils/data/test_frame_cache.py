"""Decoded frames that are kept: never more than the limit, decoded once, the same as without a cache."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_clips import number_of, write_numbered
from numpy.typing import NDArray

from lmms_eval_tasks.utils.data.frame_cache import FrameCache
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.release import UnreadableClip

LIMIT = 100


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    paths = [tmp_path_factory.mktemp("clips") / f"{name}.mp4" for name in "abcdefgh"]
    for number, path in enumerate(paths):
        path.write_bytes(bytes([number]))
    return paths


def frames_of(path: Path, size: int) -> NDArray[np.uint8]:
    return np.full(size, path.read_bytes()[0], dtype=np.uint8)


STEPS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 130), st.booleans(), st.integers(0, 3)), max_size=60)


@given(STEPS)
@settings(deadline=None)
def test_any_use_stays_within_the_limit_and_gives_what_is_asked_for(
    files: list[Path], steps: list[tuple[int, int, bool, int]]
) -> None:
    """Steps of a clip, its size, whether it stays in use, and how many that are in use are given up."""
    cache, size_of, in_use = FrameCache(LIMIT), {}, []
    decoded = 0
    for asked, (number, size, stays, given_up) in enumerate(steps, 1):
        size = size_of.setdefault(number, size)

        def decode(path: Path = files[number], size: int = size) -> NDArray[np.uint8]:
            nonlocal decoded
            decoded += 1
            return frames_of(path, size)

        use = ExitStack()
        frames = use.enter_context(cache.use(files[number], "all", decode))
        in_use.append((number, size, frames, use))
        if not stays:
            in_use.pop()[3].close()
        for _ in range(min(given_up, len(in_use))):
            in_use.pop(0)[3].close()
        statistics = cache.statistics
        assert statistics.bytes <= LIMIT
        assert (statistics.misses, statistics.hits) == (decoded, asked - decoded)
        for kept_number, kept_size, kept, _ in in_use:
            assert kept.size == kept_size and (kept == kept_number).all()
    for *_, use in in_use:
        use.close()


def test_what_was_used_least_recently_goes_first_and_what_is_in_use_stays(files: list[Path]) -> None:
    cache, decoded = FrameCache(LIMIT), list[int]()

    def use(number: int, size: int = 40) -> ExitStack:
        def decode() -> NDArray[np.uint8]:
            decoded.append(number)
            return frames_of(files[number], size)

        stack = ExitStack()
        stack.enter_context(cache.use(files[number], "all", decode))
        return stack

    for number in (0, 1, 0, 2):
        use(number).close()
    assert decoded == [0, 1, 2] and cache.statistics.bytes == 80
    use(0).close()
    assert decoded == [0, 1, 2]
    use(1).close()
    assert decoded == [0, 1, 2, 1]
    with use(0), use(1):
        assert decoded == [0, 1, 2, 1]
        # There is no room beside them, and nothing of theirs goes for it.
        use(3).close()
        use(3).close()
        assert decoded[4:] == [3, 3] and cache.statistics.bytes == 80
        use(0).close(), use(1).close()
        assert len(decoded) == 6
    use(4, size=101).close()
    assert cache.statistics.bytes == 80
    use(0).close(), use(1).close()
    assert decoded[4:] == [3, 3, 4]
    use(5, size=100).close()
    assert cache.statistics.bytes == 100


def test_threads_that_ask_for_the_same_decode_it_once(files: list[Path]) -> None:
    cache, together, decoded = FrameCache(LIMIT), threading.Barrier(8), Counter[str]()

    def decode() -> NDArray[np.uint8]:
        decoded["a"] += 1
        time.sleep(0.05)
        return frames_of(files[3], 10)

    def ask(_: int) -> int:
        together.wait()
        with cache.use(files[3], "all", decode) as frames:
            return int(frames.sum())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [30] * 8
    statistics = cache.statistics
    assert decoded == {"a": 1} and (statistics.misses, statistics.hits) == (1, 7)
    assert 0.05 <= statistics.seconds < 0.3


@pytest.mark.parametrize("seed", range(3))
def test_eight_threads_and_little_room(files: list[Path], seed: int) -> None:
    cache, lock, decoding, wrong = FrameCache(LIMIT), threading.Lock(), Counter[int](), list[str]()

    def work(thread: int) -> None:
        generator = random.Random(f"{seed}-{thread}")
        for _ in range(150):
            number = generator.randrange(8)
            size = 10 + 13 * number  # the largest has just no room

            def decode(number: int = number, size: int = size) -> NDArray[np.uint8]:
                if number == 5 and generator.random() < 0.5:
                    raise UnreadableClip("now and then")
                with lock:
                    decoding[number] += 1
                if generator.random() < 0.2:
                    time.sleep(0.001)
                return frames_of(files[number], size)

            try:
                with cache.use(files[number], size, decode) as frames:
                    if frames.size != size or not (frames == number).all():
                        wrong.append(f"{number}: {frames.size}")
                    if cache.statistics.bytes > LIMIT:
                        wrong.append("too much is kept")
            except UnreadableClip:
                if number != 5:
                    wrong.append("fails")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    statistics = cache.statistics
    assert not wrong
    assert statistics.hits + statistics.misses == 8 * 150 and statistics.hits > 0
    assert sum(decoding.values()) <= statistics.misses
    assert all(entry.users == 0 for entry in cache._entries.values())
    assert sum(entry.size for entry in cache._entries.values()) == statistics.bytes


def test_a_failure_reaches_all_that_wait_and_is_not_kept(files: list[Path]) -> None:
    cache, together, outcomes = FrameCache(LIMIT), threading.Barrier(4), Counter[str]()

    def fail() -> NDArray[np.uint8]:
        time.sleep(0.05)
        raise UnreadableClip("broken")

    def ask(_: int) -> None:
        together.wait()
        try:
            with cache.use(files[0], "all", fail):
                outcomes["frames"] += 1
        except UnreadableClip as error:
            outcomes[str(error)] += 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    assert outcomes == {"broken": 4} and cache.statistics.misses == 1
    with cache.use(files[0], "all", lambda: frames_of(files[0], 7)) as frames:
        assert frames.size == 7


def test_a_thread_that_is_stopped_while_it_decodes_stops_no_other(files: list[Path]) -> None:
    cache, has_begun = FrameCache(LIMIT), threading.Event()

    def stop() -> NDArray[np.uint8]:
        has_begun.set()
        time.sleep(0.05)
        raise KeyboardInterrupt

    def first() -> None:
        with pytest.raises(KeyboardInterrupt), cache.use(files[0], "all", stop):
            pass

    def second() -> int:
        has_begun.wait()
        with cache.use(files[0], "all", lambda: frames_of(files[0], 7)) as frames:
            return frames.size

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(first), pool.submit(second)
        one.result()
        assert other.result() == 7


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_numbered(tmp_path_factory.mktemp("clip") / "clip.mp4", 20)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """How many clips were opened to be decoded."""
    paths: list[Path] = []

    def count(path: Path) -> object:
        paths.append(path)
        return PyavFrames(path)

    monkeypatch.setattr("lmms_eval_tasks.utils.data.frame_cache.PyavFrames", count)
    return lambda: len(paths)


def test_frames_by_their_number_are_those_of_the_file(clip: Path, opened: Callable[[], int], tmp_path: Path) -> None:
    cache, other_name = FrameCache(10**9), tmp_path / "copy.mp4"
    other_name.write_bytes(clip.read_bytes())
    every = PyavFrames(clip).read(range(20))
    for number, positions in enumerate((None, [3, 7], [7, 3], [0]), 1):
        for path in (clip, other_name, clip):
            with cache.read(path, positions) as frames:
                assert (frames == (every if positions is None else every[positions])).all()
                with pytest.raises(ValueError, match="read-only"):
                    frames[0] = 0
        assert opened() == number
    statistics = cache.statistics
    assert (statistics.misses, statistics.hits) == (4, 8) and statistics.seconds > 0
    assert statistics.bytes == every.nbytes + 5 * every[0].nbytes


def test_eight_threads_read_what_is_in_the_files(tmp_path: Path) -> None:
    clips = [write_numbered(tmp_path / f"{count}.mp4", count) for count in (11, 12, 13)]
    every = {clip: PyavFrames(clip).read(range(11)) for clip in clips}
    cache, wrong = FrameCache(every[clips[0]].nbytes + 1), list[str]()

    def work(thread: int) -> None:
        generator = random.Random(thread)
        for _ in range(12):
            clip = generator.choice(clips)
            positions = generator.choice([range(11), [0, 5, 10], [7]])
            with cache.read(clip, positions) as frames:
                if not np.array_equal(frames, every[clip][list(positions)]):
                    wrong.append(f"{clip.name}: {positions}")
                if cache.statistics.bytes > cache.limit:
                    wrong.append("too much is kept")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    statistics = cache.statistics
    assert not wrong and statistics.hits + statistics.misses == 8 * 12 and statistics.hits > 0


def test_a_file_that_was_replaced_is_decoded_anew(opened: Callable[[], int], tmp_path: Path) -> None:
    cache, path = FrameCache(10**9), write_numbered(tmp_path / "clip.mp4", 12)
    with cache.read(path, [5]) as frames:
        assert number_of(frames[0]) == 5
    other = write_numbered(tmp_path / "other.mp4", 40)
    shorter = cache.statistics.bytes
    other.replace(path)
    with cache.read(path) as frames:
        assert [number_of(frame) for frame in frames] == list(range(40))
    assert opened() == 2 and cache.statistics.bytes > shorter


def test_a_file_that_is_replaced_while_it_is_decoded_is_not_kept(tmp_path: Path) -> None:
    cache, path = FrameCache(LIMIT), tmp_path / "clip.mp4"
    path.write_bytes(b"\1")

    def decode() -> NDArray[np.uint8]:
        path.write_bytes(b"\2\2")
        return frames_of(path, 5)

    with cache.use(path, "all", decode) as frames:
        assert frames.size == 5
    assert cache.statistics.bytes == 0
    path.write_bytes(b"\1")
    with cache.use(path, "all", lambda: frames_of(path, 5)) as frames:
        assert (frames == 1).all()


def test_what_cannot_be_decoded_is_not_kept(tmp_path: Path) -> None:
    cache, path = FrameCache(10**9), tmp_path / "clip.mp4"
    for _ in range(2):
        with pytest.raises(UnreadableClip, match="cannot be read"), cache.read(path):
            pass
    content = write_numbered(path, 30, (160, 96)).read_bytes()
    start, end = content.index(b"mdat") + 4, content.index(b"moov") - 4
    path.write_bytes(content[:start] + bytes(end - start) + content[end:])
    for asked in (1, 2):
        with pytest.raises(UnreadableClip, match="cannot be decoded"), cache.read(path):
            pass
        assert cache.statistics.misses == asked and cache.statistics.bytes == 0
    path.write_bytes(content)
    with cache.read(path) as frames:
        assert len(frames) == 30
