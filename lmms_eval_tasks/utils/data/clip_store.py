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

from lmms_eval_tasks.utils.core.files import key_lock, new_part, put_part
from lmms_eval_tasks.utils.core.store import KeptValues
from lmms_eval_tasks.utils.data.clips import digest_clip
from lmms_eval_tasks.utils.data.release import UnreadableClip

FORMAT = 1
"""Grows when the same view of the same clip is to be made in another way."""
FACT_FORMAT = 1
"""Grows when what is kept of a clip changes its meaning."""
CLIP = "{clip}"
"""Stands in a kept reason for the path of the clip, of which there may be several."""
PROTECTED = 3600.0
"""Seconds for which a file that was asked for is not deleted: a model may not have opened it yet."""
FILLED = 0.9
"""Share of the limit down to which files are deleted, so that not each new file deletes one."""
LOOK = 0.01
"""Share of the limit that a process adds between two looks at all files."""
_LOCK, _FACTS = ".lock", "facts"

logger = logging.getLogger(__name__)


class ClipStore:
    """A folder of made clips, and of what is known of the clips that they are made of."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder.absolute(), limit
        self._facts = KeptValues(self.folder / _FACTS)
        self._added, self._has_warned = limit, False

    def count_frames(self, clip: Path, decoded: str, decode: Callable[[], int]) -> int:
        return self._find_out_once(clip, decoded, {"decoded": decoded}, lambda: True, decode)

    def find_or_make(
        self, clip: Path, view: Mapping[str, Any], suffix: str, decoded: str, make: Callable[[Path], int]
    ) -> tuple[Path, int]:
        """Return the file of a view of a clip, made where the store lacks it, and the number of the clip's frames."""
        key = _key(clip, view)
        path = self.folder / key[:2] / f"{key}{suffix}"
        return path, self._find_out_once(clip, decoded, view, lambda: self._use(path), lambda: self._make(path, make))

    def _find_out_once(
        self, clip: Path, decoded: str, view: Mapping[str, Any], is_made: Callable[[], bool], decode: Callable[[], int]
    ) -> int:
        """Return the number of a clip's frames where it is known and the view is made; else one process decodes it."""
        fact = hashlib.sha256(f"{FACT_FORMAT}\0{decoded}\0{digest_clip(clip)}".encode()).hexdigest()

        def find() -> int | None:
            frames = (self._facts.find(fact) or {}).get("frames")
            if isinstance(frames, int) and frames > 0:
                return frames if is_made() else None
            problem = (self._facts.find(f"{fact} {_decoder()}") or {}).get("problem")
            if isinstance(problem, str):
                raise UnreadableClip(problem.replace(CLIP, str(clip)))
            return None

        if (known := find()) is not None:
            return known
        with key_lock(self.folder, _key(clip, view)):
            if (known := find()) is not None:
                return known
            try:
                frames = decode()
            except UnreadableClip as error:
                # A disk that fails or memory that runs out says nothing about the clip, and another version may decode
                # what this one cannot.
                if not isinstance(error.__cause__, (OSError, MemoryError)):
                    self._keep(f"{fact} {_decoder()}", {"problem": str(error).replace(str(clip), CLIP)})
                raise
            self._keep(fact, {"frames": frames})
            return frames

    def _keep(self, key: str, fact: Mapping[str, Any]) -> None:
        try:
            self._facts.keep(key, fact)
        except OSError as error:  # it is found out again
            logger.debug("Facts about a clip cannot be kept in %s (%s).", self._facts.folder, error)

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
        """Delete the files that were not asked for longest where a new one does not fit.

        All files are looked at once in `LOOK` of the limit, so that the store may grow by this for each process.
        """
        self._added += size
        if self._added < LOOK * self.limit:
            return
        with FileLock(self.folder / _LOCK):
            stored = sorted(self._stored())
            total = size + sum(bytes_ for _, bytes_, _ in stored)
            most = FILLED * self.limit if total > self.limit else total
            for used, bytes_, path in stored:
                if total <= most or used >= time.time() - PROTECTED:
                    break
                path.unlink(missing_ok=True)
                total -= bytes_
            self._added = 0
        if total > self.limit and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s holds %.1f GB of made clips. Its limit is %.1f GB, but all were asked for within the last hour.",
                self.folder,
                total / 1e9,
                self.limit / 1e9,
            )

    def _stored(self) -> Iterator[tuple[float, int, Path]]:
        for path in self.folder.glob("??/[!.]*"):
            try:
                facts = path.stat()
            except FileNotFoundError:
                continue
            yield _last_use(facts), facts.st_size, path


def _key(clip: Path, view: Mapping[str, Any]) -> str:
    text = json.dumps({"source": digest_clip(clip), "view": view, "format": FORMAT}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _decoder() -> str:
    import av

    return str(av.__version__)


def _last_use(facts: os.stat_result) -> float:
    return max(facts.st_atime, facts.st_mtime)


def _note_use(path: Path) -> None:
    """Set the time of a file's last use; that of its change stays, by which digests of it are remembered."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
