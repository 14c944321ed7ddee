"""Values that are kept as they come, in files that only grow: a process that is killed has lost none of them."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Collection, Iterator, Mapping
from io import FileIO
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from lmms_eval_tasks.utils.core.files import naming_full_disk, open_regular

SUFFIX = ".jsonl"
KEY = "key"
"""The field of a line that has the value's key."""
SYNC_SECONDS = 1.0
"""How much of the last values a loss of power may take. The end of a process takes none."""

logger = logging.getLogger(__name__)


class KeptValues:
    """Values by their keys, in the files of one folder, which processes may share on any file system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: FileIO | None = None
        self._synced = monotonic()

    def read(self, keys: Collection[str] | None = None) -> dict[str, dict[str, Any]]:
        """The values of some keys, or of all; of several values of a key any."""
        found = {}
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            for line in _lines(path):
                if keys is None or line[KEY] in keys:
                    found[line.pop(KEY)] = line
        return found

    def keep(self, key: str, value: Mapping[str, Any]) -> None:
        """Keep a value, of JSON values by name."""
        with naming_full_disk(self.folder):
            self._keep(json.dumps({KEY: key, **value}).encode() + b"\n")

    def _keep(self, line: bytes) -> None:
        if self._file is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file = (self.folder / f"{uuid4().hex}{SUFFIX}").open("xb", buffering=0)
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, "Only a part of a line was written", self._file.name)
        except OSError:
            # Nothing may follow a line that is torn.
            with self._file as file:
                self._file = None
                if not file.tell():
                    Path(os.fsdecode(file.name)).unlink()
            raise
        if monotonic() - self._synced >= SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = monotonic()

    def close(self) -> None:
        """Put what was kept on the disk."""
        if self._file is not None:
            with naming_full_disk(self.folder), self._file as file:
                self._file = None
                os.fsync(file.fileno())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The values in a file, each with its key."""
    damaged = 0
    try:
        with open_regular(path) as file:
            for line in file:
                try:
                    value = json.loads(line)
                    if not isinstance(value[KEY], str):
                        raise TypeError
                    yield value
                except (ValueError, TypeError, KeyError, RecursionError):
                    damaged += line.endswith(b"\n")  # one without an end was cut off
    except OSError as error:
        logger.warning("What is kept in %s cannot be read (%s).", path, error)
    if damaged:
        logger.warning("%d %s kept in %s cannot be read.", damaged, "line" if damaged == 1 else "lines", path)
