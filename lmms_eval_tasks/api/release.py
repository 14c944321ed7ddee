"""Read raw releases, with all problems reported at once."""

from __future__ import annotations

import warnings
from typing import Any

from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import Problems as Problems  # its former place
from lmms_eval_tasks.utils.core.errors import needs_package
from lmms_eval_tasks.utils.core.files import is_safe, write_file
from lmms_eval_tasks.utils.core.forms import WholeText, as_lines, read_csv, read_object, read_released_json
from lmms_eval_tasks.utils.core.text import clock, describe, quote, summarize_names
from lmms_eval_tasks.utils.data.card import PublishedStatistics
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.data.release import (
    DamagedSource,
    UnreadableClip,
    download_dataset,
    open_release,
    read_metadata,
)

__all__ = [
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


def __getattr__(name: str) -> Any:
    """Return what has gone into `forms`."""
    if name != "CsvTable":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"{__name__}.CsvTable goes: read by lmms_eval_tasks.api.forms.read_csv_form.", FutureWarning, stacklevel=2
    )
    from lmms_eval_tasks.utils.core.forms import CsvTable

    return CsvTable
