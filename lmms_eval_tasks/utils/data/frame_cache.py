"""Decoded frames that are kept in memory, so that the same clip in the same sampling is decoded once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from lmms_eval_tasks.utils.data.content import content_digest
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.release import UnreadableClip

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray


class HasBytes(Protocol):
    """What can be kept: an array of numpy, a tensor of torch, or what says its size as they do."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes."""


T = TypeVar("T", bound=HasBytes)
_Key = tuple[str, Hashable]


@dataclass(frozen=True)
class CacheStatistics:
    """What a cache has done so far.

    Attributes:
        hits: How often frames were asked for that were there, or that another thread was decoding.
        misses: How often they were decoded, or could not be.
        seconds: Spent decoding, in all threads together.
        bytes: Kept now.
    """

    hits: int
    misses: int
    seconds: float
    bytes: int


@dataclass
class _Entry:
    frames: Future[HasBytes] = field(default_factory=Future)
    users: int = 0
    size: int = 0


class FrameCache:
    """Keeps decoded frames, by what a clip holds and how it is sampled, and drops what was used least recently.

    Threads may share it. Two that ask for the same at once decode it once. A clip that cannot be decoded is not kept,
    and one that was replaced under its path is decoded anew.

    Args:
        limit: Bytes that are kept at most. Frames for which there is no room, for they are larger or all that is kept
            is in use, are used and not kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = Lock()
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        """Kept or being decoded; what was used least recently is first."""
        self._bytes = self._hits = self._misses = 0
        self._seconds = 0.0

    @property
    def statistics(self) -> CacheStatistics:
        """What was done so far."""
        with self._lock:
            return CacheStatistics(self._hits, self._misses, self._seconds, self._bytes)

    def read(self, path: Path, positions: Sequence[int] | None = None) -> AbstractContextManager[NDArray[np.uint8]]:
        """Frames by their number, (T, H, W, 3) RGB, to be used in a `with` block and not to be written to.

        Args:
            path: The clip.
            positions: Their numbers from 0 on; all frames by default.

        Raises:
            UnreadableClip: one cannot be decoded.
        """

        def decode() -> NDArray[np.uint8]:
            reader = PyavFrames(path)
            pictures = reader.read(range(reader.count) if positions is None else positions)
            pictures.flags.writeable = False
            return pictures

        return self.use(path, ("frames", None if positions is None else tuple(positions)), decode)

    @contextmanager
    def use(self, path: Path, sampling: Hashable, decode: Callable[[], T]) -> Iterator[T]:
        """Frames to be used in a `with` block; while it lasts they are not dropped.

        Args:
            path: The clip.
            sampling: What tells these frames from any others of the clip.
            decode: Decodes them, where they are not there; it does not ask this cache for the same.

        Raises:
            UnreadableClip: there is no such file, or no longer.
            Exception: what `decode` raises, in all threads that wait for it.
        """
        key = _digest(path), sampling
        entry, frames = self._get(key, path, decode)
        try:
            yield cast(T, frames)
        finally:
            self._leave(entry)

    def _get(self, key: _Key, path: Path, decode: Callable[[], HasBytes]) -> tuple[_Entry, HasBytes]:
        """The frames, and their entry with this user counted."""
        while True:
            entry, is_first = self._join(key)
            try:
                if is_first:
                    return entry, self._decode(key, entry, path, decode)
                return entry, entry.frames.result()
            except BaseException as error:
                self._leave(entry)
                # Where the thread that decoded was stopped, that says nothing about the clip.
                if is_first or not isinstance(error, CancelledError):
                    raise

    def _join(self, key: _Key) -> tuple[_Entry, bool]:
        """An entry, and whether this user is to decode it."""
        with self._lock:
            entry = self._entries.get(key)
            is_first = entry is None
            if entry is None:
                entry = self._entries[key] = _Entry()
                self._misses += 1
            else:
                self._entries.move_to_end(key)
                self._hits += 1
            entry.users += 1
        return entry, is_first

    def _leave(self, entry: _Entry) -> None:
        with self._lock:
            entry.users -= 1

    def _decode(self, key: _Key, entry: _Entry, path: Path, decode: Callable[[], HasBytes]) -> HasBytes:
        start = time.perf_counter()
        try:
            frames = decode()
            seconds = time.perf_counter() - start
            # A file that was replaced meanwhile may not be what its digest says.
            size = frames.nbytes if _digest(path) == key[0] else None
        except BaseException as error:
            with self._lock:
                self._seconds += time.perf_counter() - start
                del self._entries[key]
            if isinstance(error, Exception):
                entry.frames.set_exception(error)
            else:
                entry.frames.cancel()
            raise
        with self._lock:
            self._seconds += seconds
            if size is not None and self._make_room(size):
                entry.size = size
                self._bytes += size
            else:
                del self._entries[key]
        entry.frames.set_result(frames)
        return frames

    def _make_room(self, size: int) -> bool:
        """Drop what was used least recently and is not in use, where that makes room enough, and whether it does."""
        idle = {key: entry for key, entry in self._entries.items() if not entry.users}
        if self._bytes - sum(entry.size for entry in idle.values()) + size > self.limit:
            return False
        for key, entry in idle.items():
            if self._bytes + size <= self.limit:
                break
            del self._entries[key]
            self._bytes -= entry.size
        return True


def _digest(path: Path) -> str:
    try:
        return content_digest(path)
    except OSError as error:
        raise UnreadableClip(f"Expected a clip at {path}, but it cannot be read.") from error
