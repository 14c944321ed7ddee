"""The folder of a set that is built: its parts replace those of the earlier set together, or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import clear_parts, held, old_place, remove, swap, write_file

FAILED = "failed"
"""Where a build that made no set leaves what it wrote, until the next build."""
NEXT = ".next"
ENTRIES = ".entries"
"""In `NEXT`: the names of its parts, of which some may have been moved."""


@contextmanager
def replacing_set(out: Path, names: Sequence[str]) -> Iterator[Path]:
    """Give a folder to write a set into, whose parts replace those of the earlier set when the block ends well."""
    with held(FileLock(out / ".set.lock"), out):
        clear_parts(out, age=0)
        _move(out, names)
        for remains in out.glob(".new-*"):
            shutil.rmtree(remains)
        folder = out / f".new-{uuid4().hex}"
        folder.mkdir()
        try:
            yield folder
        except InputError:
            remove(out / FAILED)
            folder.replace(out / FAILED)
            raise
        except BaseException:
            shutil.rmtree(folder)
            raise
        write_file(folder / ENTRIES, json.dumps([path.name for path in folder.iterdir()]))
        folder.replace(out / NEXT)
        _move(out, names)
        remove(out / FAILED)


def refuse_smaller(out: Path, file: str, find: Callable[[Any], Any], now: int, hint: str) -> None:
    """Refuse a set of fewer rows than the one that is there has by a number of its JSON file."""
    try:
        before = find(json.loads((out / file).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, LookupError, AttributeError, StopIteration):
        before = None
    if not isinstance(before, int) or now < before:
        known = f"a set of {before:,} rows" if isinstance(before, int) else "a set that does not say its size"
        raise InputError(
            f"{out} holds {known}, and this build made {now:,}; the set there was not replaced.\n{hint}\n"
            "Remedy: where a server failed, give the same command again; --replace takes the new set all the same."
        )


def _move(out: Path, names: Sequence[str]) -> None:
    """Put the parts of `NEXT`, where there is one, into their places."""
    new = out / NEXT
    if not new.is_dir():
        return
    entries = json.loads((new / ENTRIES).read_text(encoding="utf-8"))
    for name in names:
        if name not in entries or (new / name).exists():
            swap(new / name, out / name)
        remove(old_place(out / name))
    shutil.rmtree(new)
