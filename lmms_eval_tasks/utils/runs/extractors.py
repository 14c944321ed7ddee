"""What reads the answers to a task."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.reader import EXTRACTOR
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, TaskKind
from lmms_eval_tasks.utils.denoising.clip_losses import CLIP_LOSSES_READER
from lmms_eval_tasks.utils.denoising.response import DENOISING_READER

READERS = {
    AnswerForm.WORDS: EXTRACTOR,
    AnswerForm.LOSSES: DENOISING_READER,
    AnswerForm.CLIP_LOSSES: CLIP_LOSSES_READER,
}


def extractor_of(kind: TaskKind) -> str:
    """Name and version of what reads the answers to a kind of task."""
    return kind.extractor or READERS[kind.answer_form]
