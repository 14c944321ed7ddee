"""A split of a multiple-choice set in a benchmark's release format, as a training takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark


@dataclass(frozen=True)
class ReleasedChoices:
    """A split of a set: questions with lettered options and, where the set has them, keys.

    Attributes:
        split: Its name, one of the release's.
        rows: As in a prepared table, without `clip_present`: `item_id`, `question`, `options`, `answer`, `clip` ….
        clips: Each clip of the rows to its file, which need not be there.
        files: The files that the questions were read from.
    """

    split: str
    rows: Sequence[Mapping[str, Any]]
    clips: Mapping[str, Path]
    files: Sequence[Path]


@dataclass(frozen=True)
class ChoiceSets:
    """Multiple-choice sets in a benchmark's form.

    Attributes:
        benchmark: Whose form they have.
        read: Reads the splits of a set in the benchmark's release format, from the set and the folder of its clips,
            None for the set's own; raises InputError.
    """

    benchmark: Benchmark
    read: Callable[[Path, Path | None], Sequence[ReleasedChoices]]
