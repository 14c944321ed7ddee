"""What reads the answers to a task."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers import EXTRACTOR
from lmms_eval_tasks.utils.benchmark.benchmark import TaskKind
from lmms_eval_tasks.utils.denoising.response import DENOISING_READER


def extractor_of(kind: TaskKind) -> str:
    """Name and version of what reads the answers to a kind of task."""
    return kind.extractor or (DENOISING_READER if kind.takes_losses else EXTRACTOR)
