"""Clips that are made from others, written once and found by the content of their source and by what was made of it."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from lmms_eval_tasks.utils.core.files import new_part, put_part
from lmms_eval_tasks.utils.data.clips import ClipFacts, digest_clip

FORMAT = 1
"""Grows when the same view of the same clip is to be made in another way."""
PROTECTED = 3600.0
"""Seconds for which a file that was asked for is not deleted: a model may not have opened it yet."""
FILLED = 0.9
"""Share of the limit down to which files are deleted, so that not each new file deletes one."""
_LOCK, _TOTAL, _FACTS = ".lock", "bytes", "facts"

logger = logging.getLogger(__name__)


class ClipStore:
    """A folder of made clips, and of what is known of the clips that they are made of."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder.absolute(), limit
        self._facts = ClipFacts(self.folder / _FACTS)
        self._has_warned = False

    def count_frames(self, clip: Path, decoded: str, decode: Callable[[], int]) -> int:
        """Return the number of frames of a clip, which one process decodes once if the number is not known."""
        known = self._facts.find(clip, decoded)
        if known is not None:
            return known
        with self._lock(_key(clip, {"decoded": decoded})):
            known = self._facts.find(clip, decoded)
            return self._facts.find_out(clip, decoded, decode) if known is None else known

    def find_or_make(
        self, clip: Path, view: Mapping[str, Any], suffix: str, decoded: str, make: Callable[[Path], int]
    ) -> tuple[Path, int]:
        """The file of a view of a clip, made where the store lacks it."""
        key = _key(clip, view)
        path = self.folder / key[:2] / f"{key}{suffix}"
        if (stored := self._find(clip, path, decoded)) is not None:
            return path, stored
        with self._lock(key):
            stored = self._find(clip, path, decoded)
            if stored is None:
                stored = self._facts.find_out(clip, decoded, lambda: self._make(path, make))
            return path, stored

    def _lock(self, key: str) -> FileLock:
        """Return the lock, one of 4,096, that keeps two processes from working on the same key, and seldom on different
        ones."""
        shelf = self.folder / key[:2]
        shelf.mkdir(parents=True, exist_ok=True)
        return FileLock(shelf / f"{_LOCK}{key[2]}")

    def _find(self, clip: Path, path: Path, decoded: str) -> int | None:
        """Return the number of frames of a file's source; None if the file does not exist or the number is not
        known."""
        count = self._facts.find(clip, decoded)
        return count if count is not None and self._use(path) else None

    def _use(self, path: Path) -> bool:
        """Note that a file is asked for now; False where it is not there."""
        try:
            if time.time() - _last_use(path.stat()) < PROTECTED / 2:
                _note_use(path)
            else:  # it might be deleted just now
                with FileLock(self.folder / _LOCK):
                    _note_use(path)
        except FileNotFoundError:
            return False
        except OSError:  # a store that can only be read
            return path.is_file()
        return True

    def _make(self, path: Path, make: Callable[[Path], int]) -> int:
        with new_part(path.parent) as scratch:
            count = make(scratch)
            self._make_room(scratch.stat().st_size)
            put_part(scratch, path)
        return count

    def _make_room(self, size: int) -> None:
        """Count a new file, and delete the files that were not asked for longest where it would not fit."""
        with FileLock(self.folder / _LOCK):
            total, wait_until = self._read_total()
            waits = time.time() < wait_until <= time.time() + PROTECTED
            if total is None or (total + size > self.limit and not waits):
                total, wait_until = self._delete_unused(size)
            # Not to the disk, for which all would wait: what is lost is counted again.
            counted = {"bytes": total + size, "wait_until": wait_until}
            (self.folder / _TOTAL).write_text(json.dumps(counted), encoding="utf-8")
        if total + size > self.limit and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s holds %.1f GB of made clips. Its limit is %.1f GB, but all were asked for within the last hour.",
                self.folder,
                (total + size) / 1e9,
                self.limit / 1e9,
            )

    def _read_total(self) -> tuple[int | None, float]:
        """Bytes of all files as they were last counted, None where that cannot be read; and until when none is
        deleted."""
        try:
            counted = json.loads((self.folder / _TOTAL).read_text(encoding="utf-8"))
            return int(counted["bytes"]), float(counted["wait_until"])
        except (OSError, ValueError, TypeError, KeyError):
            return None, 0.0

    def _delete_unused(self, size: int) -> tuple[int, float]:
        """Delete files until `size` bytes fit."""
        stored = sorted(self._stored())
        total, now = sum(bytes_ for _, bytes_, _ in stored), time.time()
        if total + size <= self.limit:
            return total, 0.0
        freed, can_free_at = 0.0, 0.0
        for used, bytes_, path in stored:
            if freed >= (1 - FILLED) * self.limit or total + size <= FILLED * self.limit:
                break
            if used < now - PROTECTED:
                path.unlink(missing_ok=True)
                total -= bytes_
            else:
                freed += bytes_
                can_free_at = min(used, now) + PROTECTED
        return total, can_free_at

    def _stored(self) -> Iterator[tuple[float, int, Path]]:
        """Yield the time of last use, the size in bytes and the path of each file."""
        for path in self.folder.glob("??/[!.]*"):
            try:
                facts = path.stat()
            except FileNotFoundError:
                continue
            yield _last_use(facts), facts.st_size, path


def _key(clip: Path, view: Mapping[str, Any]) -> str:
    text = json.dumps({"source": digest_clip(clip), "view": view, "format": FORMAT}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _last_use(facts: os.stat_result) -> float:
    return max(facts.st_atime, facts.st_mtime)


def _note_use(path: Path) -> None:
    """Set the time of a file's last use; that of its change stays, by which digests of it are remembered."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
