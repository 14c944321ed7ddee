"""Reading clips ahead of the model, within a limit of memory, and grouping requests that show the same clips."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Condition, main_thread
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lmms_eval.api.instance import Instance
from lmms_eval.protocol import ChatMessages, ChatVideoContent
from PIL.Image import Image

from lmms_eval_tasks.host.asking.samples import seed_of
from lmms_eval_tasks.host.asking.stages import is_padding
from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.models.base import Work
from lmms_eval_tasks.utils.core.work import own_cores
from lmms_eval_tasks.utils.data.frames import PyavFrames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
        is_number = isinstance(workers, int) and not isinstance(workers, bool) and workers >= 1
        is_right = workers is None or is_number
        stop_if_any(
            None if is_right else f"Expected decode_workers to be a whole number from 1 on, but got {workers!r}."
        )
        self.workers = workers or own_cores()
        self.limit = limit or WORKER_BYTES * max(2, self.workers)

    def read(
        self, things: Iterable[Thing], read: Callable[[Thing, ClipRoom], Clip], work: Work
    ) -> Generator[tuple[Thing, Reading[Clip]]]:
        """Things with what is read of them, in order."""
        memory = _Memory(self.limit)

        def begin(place: int, thing: Thing) -> tuple[Thing, Reading[Clip]]:
            room = ClipRoom(memory, place)

            def measured() -> Clip:
                room.check()
                with work.measure(DECODING):
                    return read(thing, room)

            return thing, Reading(pool.submit(measured), room, work)

        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="clips")
        try:
            coming = (begin(place, thing) for place, thing in enumerate(things))
            ahead = deque(islice(coming, self.workers * AHEAD))
            while ahead:
                thing, reading = ahead.popleft()
                memory.wait_for(reading.room.place)
                yield thing, reading
                ahead.extend(islice(coming, 1))
        except BaseException:  # also where it is closed
            memory.close()
            raise
        finally:
            pool.shutdown(wait=False)


class Reading(Generic[Clip]):
    def __init__(self, future: Future[Clip], room: ClipRoom, work: Work) -> None:
        self._future, self.room, self._work = future, room, work

    def result(self) -> Clip:
        with self._work.measure(WAITING):
            return self._future.result()

    def release(self) -> None:
        """Let go of what was read, so that others have its room."""
        self._future = Future()
        self.room.release()


class ClipRoom:
    """The room of one clip among those that are read ahead."""

    def __init__(self, memory: _Memory, place: int) -> None:
        self._memory, self.place = memory, place

    def check(self) -> None:
        """Raise `Stopped` where nobody waits for it any longer."""
        if self._memory.is_over:
            raise Stopped

    def reserve(self, size: int) -> None:
        """Wait until some more bytes fit."""
        self._memory.reserve(self.place, size)

    def settle(self, size: int) -> None:
        """Say how many bytes it has taken in the end, instead of what was reserved."""
        self._memory.settle(self.place, size)

    def release(self) -> None:
        self._memory.settle(self.place, 0)


class OpenClip(PyavFrames):
    """A clip that is opened once, and whose frames are decoded as soon as there is room for them."""

    def __init__(self, path: str | Path, room: ClipRoom | None = None, growth: float = 2.0) -> None:
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


class _Memory:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._changed = Condition()
        self._sizes: dict[int, int] = {}
        self._wanted = 0
        self._is_closed = False

    @property
    def is_over(self) -> bool:
        """Whether nobody reads any longer: also where the interpreter ends, after an interrupt."""
        return self._is_closed or not main_thread().is_alive()

    def wait_for(self, place: int) -> None:
        """Let a clip be read whatever its size, because it is waited for."""
        with self._changed:
            self._wanted = place
            self._changed.notify_all()

    def reserve(self, place: int, size: int) -> None:
        with self._changed:
            while not self._fits(place, size):
                if self.is_over:
                    raise Stopped
                self._changed.wait(POLL)
            self._sizes[place] = self._sizes.get(place, 0) + size

    def _fits(self, place: int, size: int) -> bool:
        return place <= self._wanted or sum(self._sizes.values()) + size <= self._limit

    def settle(self, place: int, size: int) -> None:
        with self._changed:
            self._sizes[place] = size
            if not size:
                del self._sizes[place]
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


class ShownVideo(NamedTuple):
    path: str
    start: float | None
    end: float | None


class ShownMedia(NamedTuple):
    videos: tuple[ShownVideo, ...]
    pictures: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ClipQuestion:
    place: int
    task: str
    item: str
    generation: Mapping[str, Any]
    read: Callable[[], ChatMessages]
    seed: int | None = None
    """By which one of several samples is drawn."""


@dataclass(frozen=True)
class ClipGroup:
    """Requests that show the same."""

    media: ShownMedia
    questions: tuple[ClipQuestion, ...]


def group_by_clip(requests: Sequence[Instance], task_dict: Mapping[str, Any]) -> list[ClipGroup]:
    """Put requests that show the same together, in the order in which each clip is first asked about, without
    padding."""
    groups: dict[ShownMedia, list[ClipQuestion]] = {}
    for place, request in enumerate(requests):
        if is_padding(request):
            continue
        _, to_messages, generation, doc_id, task, split = request.args
        doc = task_dict[task][split][doc_id]
        item = doc.get("item_id", doc_id) if isinstance(doc, Mapping) else doc_id
        read = partial(_read_messages, to_messages, doc)
        question = ClipQuestion(place, task, str(item), generation, read, seed_of(request))
        groups.setdefault(media_of(read()), []).append(question)
    return [ClipGroup(media, tuple(questions)) for media, questions in groups.items()]


def media_of(messages: ChatMessages) -> ShownMedia:
    parts = [part for message in messages.messages for part in message.content]
    videos = (
        ShownVideo(one.url if isinstance(one.url, str) else str(one.url), one.start_time, one.end_time)
        for one in parts
        if isinstance(one, ChatVideoContent)
    )
    images, _, _ = messages.extract_media()
    return ShownMedia(tuple(videos), tuple(map(_digest, images)))


def _read_messages(to_messages: Callable[[Any], Any], doc: Any) -> ChatMessages:
    return ChatMessages(messages=to_messages(doc))


def _digest(picture: Any) -> str:
    if not isinstance(picture, Image):
        return str(picture)
    return f"{picture.mode} {picture.size} {hashlib.sha256(picture.tobytes()).hexdigest()}"
