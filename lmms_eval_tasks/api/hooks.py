"""The hooks that every benchmark shares: a task's YAML names them as ``lmms_eval_tasks.api.hooks.…``."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.hooks import (
    aggregate,
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    process_docs,
    process_results,
    write_submission,
)

__all__ = [
    "aggregate",
    "doc_to_target",
    "doc_to_text",
    "doc_to_visual",
    "process_docs",
    "process_results",
    "write_submission",
]
