"""Values kept by key, in files that only grow: a process that is killed has lost none, and others see them at once."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from lmms_eval_tasks.utils.core.files import naming_full_disk, open_regular

SUFFIX = ".jsonl"
KEY = "key"
"""The field of a line that has the value's key; the first one."""
_BEGINNING = re.compile(rb'\{"key": "([^"\\]*)"')
SYNC_SECONDS = 1.0
"""How much of the last values a loss of power may take. The end of a process takes none."""

logger = logging.getLogger(__name__)


class KeptValues:
    """Values by their keys, in the files of one folder, which threads and processes may share on any file system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own: Path | None = None
        self._synced = monotonic()
        self._places: dict[str, tuple[Path, int]] = {}
        self._seen: dict[Path, int] = {}
        self._lock = threading.Lock()

    def read(self, keys: Collection[str] | None = None) -> dict[str, dict[str, Any]]:
        """Return the values of some keys, or of all; of several values of a key any."""
        found = {}
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            damaged = 0
            for _, line in _lines(path):
                value = _parse(line)
                if value is None:
                    damaged += line.endswith(b"\n")  # one without an end was cut off
                elif keys is None or value[KEY] in keys:
                    found[value.pop(KEY)] = value
            if damaged:
                logger.warning("%d %s kept in %s cannot be read.", damaged, "line" if damaged == 1 else "lines", path)
        return found

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the last value of a key, also of another process just now; None where there is none.

        A key is of characters that JSON does not escape.
        """
        with self._lock:
            if key not in self._places:
                self._look()
            place = self._places.get(key)
        if place is None:
            return None
        value = next((_parse(line) for _, line in _lines(*place)), None)
        return None if value is None else {name: one for name, one in value.items() if name != KEY}

    def _look(self) -> None:
        """Note where the values lie that were kept since the last look, the last of a key last."""
        for path in sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns):
            for start, line in _lines(path, self._seen.get(path, 0)):
                if line.endswith(b"\n"):  # else it is being written
                    self._seen[path] = start + len(line)
                    if found := _BEGINNING.match(line):
                        self._places[found[1].decode("ascii", "replace")] = path, start

    def keep(self, key: str, value: Mapping[str, Any]) -> None:
        line = json.dumps({KEY: key, **value}).encode() + b"\n"
        with self._lock, naming_full_disk(self.folder):
            if self._own is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._own = self.folder / f"{uuid4().hex}{SUFFIX}"
            path = self._own
            self._places.pop(key, None)
            try:
                self._append(path, line)
            except OSError:
                # Nothing may follow a line that is torn.
                self._own = None
                if path.is_file() and not path.stat().st_size:
                    path.unlink()
                raise

    def _append(self, path: Path, line: bytes) -> None:
        with path.open("ab", buffering=0) as file:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, "Only a part of a line was written", str(path))
            if monotonic() - self._synced >= SYNC_SECONDS:
                os.fsync(file.fileno())
                self._synced = monotonic()

    def close(self) -> None:
        with self._lock, naming_full_disk(self.folder):
            if self._own is not None and self._own.is_file():
                with self._own.open("ab") as file:
                    os.fsync(file.fileno())


def _lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    try:
        with open_regular(path) as file:
            file.seek(start)
            for line in file:
                yield start, line
                start += len(line)
    except OSError as error:
        logger.warning("The values kept in %s cannot be read (%s).", path, error)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
        return value if isinstance(value[KEY], str) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
