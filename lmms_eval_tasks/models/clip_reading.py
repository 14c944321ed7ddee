"""Reading clips ahead of the model, within a limit of memory, and grouping requests that show the same clips."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Condition, main_thread
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from lmms_eval.api.instance import Instance
from lmms_eval.protocol import ChatMessages, ChatVideoContent
from numpy.typing import NDArray
from PIL.Image import Image

from lmms_eval_tasks.host.asking.samples import seed_of
from lmms_eval_tasks.host.asking.stages import is_padding
from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.models.base import Work
from lmms_eval_tasks.utils.core.work import own_cores
from lmms_eval_tasks.utils.data.clips import PyavFrames

DECODING, WAITING = "decoding", "waiting for clips"
"""Stages of a model's work: of the workers, and of the model."""
WORKER_BYTES = 1_000_000_000
"""Of clips in memory, for each worker; at least twice as many."""
AHEAD = 4
"""Most clips that are read ahead, for each worker."""
POLL = 0.2
"""Seconds after which a worker that waits for room looks whether the run is over."""

Thing = TypeVar("Thing")
Clip = TypeVar("Clip")


class Stopped(Exception):
    """Nobody waits for a clip any longer."""


class ReadAhead:
    """Reader of clips ahead of the model, in a pool of workers."""

    def __init__(self, workers: int | None = None, limit: int | None = None) -> None:
        problem = f"Expected decode_workers to be a whole number from 1 on, but got {workers!r}."
        stop_if_any(None if workers is None or (type(workers) is int and workers >= 1) else problem)
        self.workers = workers or own_cores()
        self.limit = limit or WORKER_BYTES * max(2, self.workers)

    def read(
        self, things: Iterable[Thing], read: Callable[[Thing, Reading[Clip]], Clip], work: Work
    ) -> Generator[tuple[Thing, Reading[Clip]]]:
        """Things with what is read of them, in order."""
        memory = _Memory(self.limit)

        def begin(place: int, thing: Thing) -> tuple[Thing, Reading[Clip]]:
            reading: Reading[Clip] = Reading(place, memory, work)

            def measured() -> Clip:
                reading.check()
                with work.measure(DECODING):
                    return read(thing, reading)

            reading.future = pool.submit(measured)
            return thing, reading

        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="clips")
        try:
            coming = (begin(place, thing) for place, thing in enumerate(things))
            ahead = deque(islice(coming, self.workers * AHEAD))
            while ahead:
                thing, reading = ahead.popleft()
                memory.change(wanted=reading.place)
                yield thing, reading
                ahead.extend(islice(coming, 1))
        except BaseException:  # also where it is closed
            memory.change(is_closed=True)
            raise
        finally:
            pool.shutdown(wait=False)


@dataclass
class _Memory:
    limit: int
    sizes: dict[int, int] = field(default_factory=dict)
    """Of clips, by their places."""
    wanted: int = 0
    """The place of the clip that is waited for."""
    is_closed: bool = False
    changed: Condition = field(default_factory=Condition)

    def change(self, **values: Any) -> None:
        with self.changed:
            vars(self).update(values)
            self.changed.notify_all()


class Reading(Generic[Clip]):
    """A clip that is read ahead of the model, and its room among the others."""

    future: Future[Clip]

    def __init__(self, place: int, memory: _Memory, work: Work) -> None:
        self.place, self._memory, self._work = place, memory, work

    def check(self) -> None:
        """Raise `Stopped` where nobody waits for it any longer: also where the interpreter ends, interrupted."""
        if self._memory.is_closed or not main_thread().is_alive():
            raise Stopped

    def reserve(self, size: int) -> None:
        """Wait until some more bytes fit; a clip that is waited for is read whatever its size."""
        memory = self._memory
        with memory.changed:
            while self.place > memory.wanted and sum(memory.sizes.values()) + size > memory.limit:
                self.check()
                memory.changed.wait(POLL)
            memory.sizes[self.place] = memory.sizes.get(self.place, 0) + size

    def settle(self, size: int) -> None:
        """Say how many bytes it has taken in the end, instead of what was reserved."""
        memory = self._memory
        with memory.changed:
            memory.sizes[self.place] = size
            if not size:
                del memory.sizes[self.place]
            memory.changed.notify_all()

    def result(self) -> Clip:
        with self._work.measure(WAITING):
            return self.future.result()

    def release(self) -> None:
        """Let go of what was read, so that others have its room."""
        self.future = Future()
        self.settle(0)


class OpenClip(PyavFrames):
    """A clip that is opened once, and whose frames are decoded as soon as there is room for them."""

    def __init__(self, path: str | Path, room: Reading[Any] | None = None, growth: float = 2.0) -> None:
        self._room, self._growth = room, growth
        super().__init__(path, threads=1)

    def read(self, positions: Sequence[int]) -> NDArray[np.uint8]:
        if self._room is not None:
            self._room.reserve(int(len(positions) * self._frame_bytes * self._growth))
        return super().read(positions)

    def frame(self, position: int) -> object:
        if self._room is not None:
            self._room.check()
        return super().frame(position)


class ShownVideo(NamedTuple):
    path: str
    start: float | None
    end: float | None


@dataclass(frozen=True, eq=False)
class ClipQuestion:
    place: int
    task: str
    item: str
    generation: Mapping[str, Any]
    read: Callable[[], ChatMessages]
    videos: tuple[ShownVideo, ...]
    seed: int | None = None
    """By which one of several samples is drawn."""


def group_by_clip(requests: Sequence[Instance], task_dict: Mapping[str, Any]) -> list[list[ClipQuestion]]:
    """Questions that show the same together, in the order in which each clip is first asked about, without padding."""
    groups: dict[object, list[ClipQuestion]] = {}
    for place, request in enumerate(requests):
        if is_padding(request):
            continue
        _, to_messages, generation, doc_id, task, split = request.args
        doc = task_dict[task][split][doc_id]
        item = doc.get("item_id", doc_id) if isinstance(doc, Mapping) else doc_id
        read = partial(_read_messages, to_messages, doc)
        videos, pictures = _media_of(read())
        question = ClipQuestion(place, task, str(item), generation, read, videos, seed_of(request))
        groups.setdefault((videos, pictures), []).append(question)
    return list(groups.values())


def _read_messages(to_messages: Callable[[Any], Any], doc: Any) -> ChatMessages:
    return ChatMessages(messages=to_messages(doc))


def _media_of(messages: ChatMessages) -> tuple[tuple[ShownVideo, ...], tuple[str, ...]]:
    parts = [part for message in messages.messages for part in message.content]
    videos = (
        ShownVideo(one.url if isinstance(one.url, str) else str(one.url), one.start_time, one.end_time)
        for one in parts
        if isinstance(one, ChatVideoContent)
    )
    images, _, _ = messages.extract_media()
    return tuple(videos), tuple(map(_digest, images))


def _digest(picture: Any) -> str:
    if not isinstance(picture, Image):
        return str(picture)
    return f"{picture.mode} {picture.size} {hashlib.sha256(picture.tobytes()).hexdigest()}"
