"""Reading raw releases: files of any origin, each problem noted with its place and all reported at once."""

from __future__ import annotations

from lmms_eval_tasks.utils.benchmark.card import PublishedStatistics
from lmms_eval_tasks.utils.core.csv_rows import CsvTable, read_csv
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.json_rows import WholeText, as_lines, read_object
from lmms_eval_tasks.utils.core.problems import Problems
from lmms_eval_tasks.utils.core.strict_json import read_released_json
from lmms_eval_tasks.utils.core.wording import describe, quote, summarize_names
from lmms_eval_tasks.utils.data.home import clip_path, load_table
from lmms_eval_tasks.utils.data.release import (
    DamagedSource,
    UnreadableClip,
    download_dataset,
    is_safe,
    open_release,
    read_metadata,
)

__all__ = [
    "CsvTable",
    "DamagedSource",
    "Problems",
    "PublishedStatistics",
    "UnreadableClip",
    "WholeText",
    "as_lines",
    "clip_path",
    "describe",
    "download_dataset",
    "is_safe",
    "load_table",
    "open_release",
    "quote",
    "read_csv",
    "read_metadata",
    "read_object",
    "read_released_json",
    "summarize_names",
    "write_file",
]
