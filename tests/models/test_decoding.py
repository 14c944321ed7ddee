"""Clips that are read ahead: in order, in so much memory, and no longer than somebody waits for them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_clips import write_numbered

from lmms_eval_tasks.models.base import Work
from lmms_eval_tasks.models.clip_reading import DECODING, WAITING, OpenClip, ReadAhead, Reading, Stopped
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.work import own_cores
from lmms_eval_tasks.utils.data.clips import PyavFrames
from lmms_eval_tasks.utils.data.release import UnreadableClip

WORKERS = st.integers(1, 5)
LIMIT = 10


@given(sizes=st.lists(st.integers(0, 15), max_size=12), workers=WORKERS, held=st.integers(1, 4))
@settings(max_examples=25)
def test_clips_come_in_order_and_no_more_are_in_memory_than_fit(sizes: list[int], workers: int, held: int) -> None:
    lock, there, wanted = threading.Lock(), dict[int, int](), [0]

    def read(thing: tuple[int, int], room: Reading[Any]) -> int:
        place, size = thing
        room.reserve(size)
        with lock:
            there[place] = size
            # What the model holds or waits for has to be there, whatever its size.
            assert sum(there.values()) <= LIMIT or place <= wanted[0]
        return size

    got, holding = [], []
    for thing, reading in ReadAhead(workers, LIMIT).read(list(enumerate(sizes)), read, Work()):
        wanted[0] = thing[0]
        got.append(reading.result())
        holding.append((thing[0], reading))
        if len(holding) == held:
            place, first = holding.pop(0)
            with lock:
                del there[place]
            first.release()
    assert got == sizes


def test_a_clip_that_cannot_be_read_is_its_own_failure() -> None:
    def read(result: int | None, room: Reading[Any]) -> int:
        if result is None:
            raise UnreadableClip("cut")
        return result

    for results, workers in (([], 2), ([1, None, 2, None, None, 3], 1), ([None, 1, None], 4)):
        work = Work()
        for result, reading in ReadAhead(workers).read(results, read, work):
            if result is None:
                with pytest.raises(UnreadableClip, match="cut"):
                    reading.result()
            else:
                assert reading.result() == result
            reading.release()
        assert set(work.seconds) == ({DECODING, WAITING} if results else set())


def test_workers_end_where_nobody_waits_any_longer() -> None:
    def wait_until_stopped(room: Reading[Any]) -> None:
        while True:
            room.check()

    for wait in (wait_until_stopped, lambda room: room.reserve(2 * LIMIT)):
        begun, ended = threading.Event(), threading.Event()

        def read(place: int, room: Reading[Any], wait: Callable[[Reading[Any]], None] = wait) -> int:
            if place:
                begun.set()  # noqa: B023
                try:
                    wait(room)
                except Stopped:
                    ended.set()  # noqa: B023
                    raise
            return place

        readings = ReadAhead(2, LIMIT).read(range(9), read, Work())
        assert next(readings)[1].result() == 0
        assert begun.wait(30)
        readings.close()
        assert ended.wait(30)


def test_an_open_clip_reads_what_a_clip_by_itself_reads(tmp_path: Path) -> None:
    path = write_numbered(tmp_path / "clip.mp4", 20)
    numbers, sizes = [0, 7, 19], list[int]()

    def read(clip: Path, room: Reading[Any]) -> tuple[np.ndarray, np.ndarray]:
        room.reserve = sizes.append  # type: ignore[method-assign, assignment]
        opened = OpenClip(clip, room, growth=2.0)
        return opened.read(numbers), opened.read([3])

    ((_, reading),) = list(ReadAhead(1).read([path], read, Work()))
    first, second = reading.result()
    assert np.array_equal(first, PyavFrames(path).read(numbers)) and np.array_equal(second, PyavFrames(path).read([3]))
    assert sizes == [2 * first.nbytes, 2 * second.nbytes]
    with pytest.raises(UnreadableClip, match="cannot be opened"):
        OpenClip(tmp_path / "absent.mp4")


def test_cores_are_shared_among_the_ranks_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)))
    for ranks, cores in (("1", 12), ("5", 2), ("64", 1)):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
        assert own_cores() == ReadAhead().workers == cores
    assert ReadAhead(3).workers == 3
    for workers in (0, -1, "many", 1.5, True):
        with pytest.raises(InputError, match="Expected decode_workers to be a whole number from 1 on"):
            ReadAhead(workers)  # type: ignore[arg-type]
