"""Forms of a release's tables: typed fields, and readers that list every value that is wrong, with its row."""

from __future__ import annotations

from lmms_eval_tasks.utils.core.forms import (
    Cell,
    ClipName,
    Key,
    NumberedOptions,
    OneOf,
    RawText,
    ReleaseRow,
    Text,
    mismatch,
    read_csv_form,
    read_json_form,
)

__all__ = [
    "Cell",
    "ClipName",
    "Key",
    "NumberedOptions",
    "OneOf",
    "RawText",
    "ReleaseRow",
    "Text",
    "mismatch",
    "read_csv_form",
    "read_json_form",
]
