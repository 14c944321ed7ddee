"""How a benchmark's folder changes places with a new one, and how it is read while that may happen."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

T = TypeVar("T")

PAUSE = 0.005
"""Seconds between two looks at a swap that is under way."""

logger = logging.getLogger(__name__)


def _old(current: Path) -> Path:
    return current.with_name(f".{current.name}.old")


def _lock(current: Path) -> FileLock:
    return FileLock(current.with_name(f".{current.name}.lock"))


@contextmanager
def held(lock: FileLock, what: Path) -> Iterator[None]:
    """A lock, which is waited for with a warning that says what another process is writing."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.warning("another process is writing %s; waiting for it to end", what)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def locked(current: Path) -> Iterator[None]:
    """The lock of a benchmark's folder, held for a build; a swap that was cut short is undone or finished first."""
    with held(_lock(current), current):
        _recover(current)
        yield


def swap(folder: Path, current: Path) -> None:
    """Put a new folder in the place of the current one, which is deleted; the caller holds the lock."""
    old = _old(current)
    if current.exists():
        current.replace(old)
    folder.replace(current)
    if old.exists():
        shutil.rmtree(old)


def _recover(current: Path) -> None:
    """Undo or finish the swap of a build that was killed in it; the caller holds the lock."""
    old = _old(current)
    if not old.exists():
        return
    if current.exists():
        shutil.rmtree(old)
    else:
        old.replace(current)


def read_steadily(current: Path, read: Callable[[], T]) -> T:
    """What a function reads from a folder that does not change places meanwhile; it is called again where it did."""
    while True:
        is_settled = _settle(current)
        before = _identity(current)
        try:
            value = read()
        except Exception:
            if _identity(current) == before and not (is_settled and _is_between_renames(current)):
                raise
        else:
            if _identity(current) == before:
                return value


def _settle(current: Path) -> bool:
    """Wait for a swap that is under way; where its build is dead, undo it."""
    while _is_between_renames(current):
        try:
            with _lock(current).acquire(timeout=0):
                _recover(current)
        except Timeout:
            time.sleep(PAUSE)
        except OSError:
            return False
    return True


def _is_between_renames(current: Path) -> bool:
    return not current.exists() and _old(current).exists()


def _identity(current: Path) -> tuple[int, int, int] | None:
    """What tells a folder from one that took its place; None where there is none."""
    try:
        facts = current.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns
