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
    """Steps and files from which a benchmark's set is made."""

    benchmark: str
    config: type[C]
    read: Callable[[C], Sequence[PipelineRow]]
    source_files: Callable[[C], Sequence[Path]]
    steps: Callable[[C], Sequence[AnyStep]]
    write: Callable[[Sequence[Any], Path, C], Sequence[str]]
    first: str
    paper: PaperCount = field(default_factory=PaperCount)
