"""Clips that are made from others, written once and found by the content of their source and by what was made of it.

Runs and ranks may share a store: a file in it is whole, one process writes it while others wait, and it is not changed
again. It is deleted where the store would grow beyond its limit and nobody has asked for it for an hour.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from lmms_eval_tasks.utils.core.files import new_part, put_part, write_file
from lmms_eval_tasks.utils.data.content import content_digest
from lmms_eval_tasks.utils.data.release import UnreadableClip

FORMAT = 1
"""Grows when the same view of the same clip is to be made in another way."""
PROTECTED = 3600.0
"""Seconds for which a file that was asked for is not deleted: a model may not have opened it yet."""
FILLED = 0.9
"""Share of the limit down to which files are deleted, so that not each new file deletes one."""
_NAME = re.compile(r"[0-9a-f]{64}-(\d+)\.\w+")
_LOCK, _TOTAL = ".lock", "bytes"

logger = logging.getLogger(__name__)


class ClipStore:
    """A folder of made clips.

    Args:
        folder: The folder; it need not exist.
        limit: Bytes that it may hold. Files that were asked for within the last hour stay beyond it, with a warning.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder.absolute(), limit
        self._has_warned = False

    def find_or_make(
        self, clip: Path, view: Mapping[str, Any], suffix: str, make: Callable[[Path], int]
    ) -> tuple[Path, int]:
        """The file of a view of a clip, made where the store lacks it.

        Args:
            clip: The source; only its bytes matter, not where it lies.
            view: What tells the view from any other, as JSON values.
            suffix: Of the file, such as ``.mp4``.
            make: Writes the file to a path and returns how many frames the source has.

        Returns:
            The file, and how many frames the source has.

        Raises:
            UnreadableClip: the source cannot be read, or `make` cannot decode it.
            OSError: the store cannot be written.
        """
        key = self._key(clip, view)
        stored = self._find(key, suffix)
        if stored is not None:
            return stored
        shelf = self.folder / key[:2]
        shelf.mkdir(parents=True, exist_ok=True)
        with FileLock(shelf / _LOCK):
            return self._find(key, suffix) or self._make(shelf, key, suffix, make)

    def _key(self, clip: Path, view: Mapping[str, Any]) -> str:
        try:
            source = content_digest(clip)
        except OSError as error:
            raise UnreadableClip(f"Expected a clip at {clip}, but there is no file that can be read.") from error
        text = json.dumps({"source": source, "view": view, "format": FORMAT}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _find(self, key: str, suffix: str) -> tuple[Path, int] | None:
        for path in (self.folder / key[:2]).glob(f"{key}-*{suffix}"):
            name = _NAME.fullmatch(path.name)
            if name and self._use(path):
                return path, int(name[1])
        return None

    def _use(self, path: Path) -> bool:
        """Note that a file is asked for now; False where it is no longer there."""
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

    def _make(self, shelf: Path, key: str, suffix: str, make: Callable[[Path], int]) -> tuple[Path, int]:
        with new_part(shelf) as scratch:
            count = make(scratch)
            path = shelf / f"{key}-{count}{suffix}"
            self._make_room(scratch.stat().st_size)
            put_part(scratch, path)
        return path, count

    def _make_room(self, size: int) -> None:
        """Count a new file, and delete the files that were not asked for longest where it would not fit."""
        with FileLock(self.folder / _LOCK):
            total = self._read_total()
            if total is None or total + size > self.limit:
                total = self._delete_unused(size)
            write_file(self.folder / _TOTAL, str(total + size))
        if total + size > self.limit and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s holds %.1f GB of made clips. Its limit is %.1f GB, but all were asked for within the last hour.",
                self.folder,
                (total + size) / 1e9,
                self.limit / 1e9,
            )

    def _read_total(self) -> int | None:
        """Bytes of all files as they were last counted; None where that cannot be read."""
        try:
            return int((self.folder / _TOTAL).read_text())
        except (OSError, ValueError):
            return None

    def _delete_unused(self, size: int) -> int:
        """Delete files until `size` bytes fit; bytes of those that stay."""
        stored: list[tuple[float, int, Path]] = []
        oldest = time.time() - PROTECTED
        for path in self.folder.glob("??/*"):
            try:
                facts = path.stat()
                if _NAME.fullmatch(path.name):
                    stored.append((_last_use(facts), facts.st_size, path))
            except FileNotFoundError:
                continue
        total = sum(bytes_ for _, bytes_, _ in stored)
        if total + size <= self.limit:
            return total
        for used, bytes_, path in sorted(stored):
            if used >= oldest or total + size <= FILLED * self.limit:
                break
            path.unlink(missing_ok=True)
            total -= bytes_
        return total


def _last_use(facts: os.stat_result) -> float:
    return max(facts.st_atime, facts.st_mtime)


def _note_use(path: Path) -> None:
    """Set the time of a file's last use; that of its change stays, by which digests of it are remembered."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
