"""Files of the sample that more than one benchmark has: tables, JSON, and what a set is built from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.sample.drawn_clips import DrawnScene
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import csv_text

Rows = list[dict[str, Any]]
Scenes = dict[str, DrawnScene]
"""A clip's file to what is drawn in it."""
BUILD, BUILT_FROM = "build", "`build/`, from which a set can be built"
ROLES = """\
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, plays all roles.
roles:
  default: {model: stub, provider: local}
"""
"""The end of a build's configuration."""


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table; what rows have beyond its columns is left out."""
    write_file(path, csv_text(columns, ({column: row[column] for column in columns} for row in rows)))


def write_json(path: Path, value: object) -> None:
    write_file(path, json.dumps(value, indent=1) + "\n")
