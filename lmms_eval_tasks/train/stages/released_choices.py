"""A split of a multiple-choice set in a benchmark's release format, as a training takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark


@dataclass(frozen=True)
class ReleasedChoices:
    """A split of a set: questions with lettered options and, where the set has them, keys."""

    split: str
    rows: Sequence[Mapping[str, Any]]
    clips: Mapping[str, Path]
    files: Sequence[Path]


@dataclass(frozen=True)
class ChoiceSets:
    """Multiple-choice sets in a benchmark's form."""

    benchmark: Benchmark
    read: Callable[[Path, Path | None], Sequence[ReleasedChoices]]
