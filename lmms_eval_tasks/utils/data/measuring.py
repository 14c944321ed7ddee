"""Numbers of clips that a build measures: kept one by one, so that an interrupted build goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.progress import Progress
from lmms_eval_tasks.utils.data.clips import in_parallel

Measure = Callable[[Path], Mapping[str, Any]]
"""From a clip's file to numbers of it, as JSON values by name; several threads call it."""


def measure_clips(
    videos: Path, names: Collection[str], measure: Measure, kept: Path, progress: Progress, what: str
) -> dict[str, Mapping[str, Any]]:
    """The numbers of clips."""
    before = _read(kept)
    marks = {name: _mark(videos / name) for name in names}
    found = {name: before[mark] for name, mark in marks.items() if mark in before}
    with kept.open("a", encoding="utf-8") as file:
        # The last line may have been cut off.
        if file.tell():
            file.write("\n")
        missing = [name for name in names if name not in found]
        for name, numbers in in_parallel(missing, lambda name: measure(videos / name), progress, what):
            found[name] = numbers
            file.write(json.dumps([marks[name], numbers]) + "\n")
            file.flush()
    return found


def _mark(clip: Path) -> str:
    """What tells a clip from another at its place."""
    facts = clip.stat()
    return f"{clip.name} {facts.st_size} {facts.st_mtime_ns}"


def _read(kept: Path) -> dict[str, Mapping[str, Any]]:
    """What was measured before, by mark; a line that was cut off is left out."""
    found = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else ():
        try:
            mark, numbers = json.loads(line)
        except (ValueError, TypeError):
            continue
        found[mark] = numbers
    return found
