"""A benchmark's pipeline, as an object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from lmms_eval_tasks.build.engine.config import C
from lmms_eval_tasks.build.engine.rows import PipelineRow
from lmms_eval_tasks.build.engine.steps import AnyStep, PaperCount


@dataclass(frozen=True)
class Pipeline(Generic[C]):
    """How a benchmark's set is made.

    Attributes:
        benchmark: The benchmark's name.
        config: The form of the configuration.
        read: The rows at the start; raises InputError with every problem of the files.
        source_files: The files that the rows were read from, whose digests are kept.
        steps: The steps that a configuration asks for, in order.
        write: Writes the release into a new folder, given the rows that are left, and returns warnings.
        first: What the rows at the start are, such as "questions by annotators".
        paper: How many the paper had of them.
    """

    benchmark: str
    config: type[C]
    read: Callable[[C], Sequence[PipelineRow]]
    source_files: Callable[[C], Sequence[Path]]
    steps: Callable[[C], Sequence[AnyStep]]
    write: Callable[[Sequence[Any], Path, C], Sequence[str]]
    first: str
    paper: PaperCount = field(default_factory=PaperCount)
