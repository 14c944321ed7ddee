"""Read raw releases, with all problems reported at once."""

from __future__ import annotations

from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import needs_package
from lmms_eval_tasks.utils.core.files import is_safe, write_file
from lmms_eval_tasks.utils.core.forms import WholeText, as_lines, read_csv, read_object, read_released_json
from lmms_eval_tasks.utils.core.text import clock, describe, quote, summarize_names
from lmms_eval_tasks.utils.data.card import PublishedStatistics
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.data.prepare import ClipOptions
from lmms_eval_tasks.utils.data.release import (
    DamagedSource,
    UnreadableClip,
    download_dataset,
    open_release,
    read_metadata,
)

__all__ = [
    "ClipOptions",
    "DamagedSource",
    "PublishedStatistics",
    "UnreadableClip",
    "WholeText",
    "as_lines",
    "clip_path",
    "clock",
    "describe",
    "download_dataset",
    "is_safe",
    "load_table",
    "needs_package",
    "open_release",
    "quote",
    "read_csv",
    "read_metadata",
    "read_object",
    "read_released_json",
    "summarize_names",
    "write_file",
]
