"""What a benchmark's `build` made, as the command shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.data.manifest import SetAttrition

REPLACE = "Let a smaller set take the place of the one that is there."
"""The help of the option of `build`."""


@dataclass(frozen=True)
class BuiltTable:
    """A table to print."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class BuiltSet:
    """A set of questions that was built, in a form that `prepare` takes."""

    folder: Path | None
    summary: str
    tables: Sequence[BuiltTable] = ()
    warnings: Sequence[str] = ()
    attrition: SetAttrition | None = None
