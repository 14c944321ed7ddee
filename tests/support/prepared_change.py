"""A prepared table that holds something else than it did, as after another set was prepared in its place."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from lmms_eval_tasks.utils.core.files import file_sha256
from lmms_eval_tasks.utils.data.home import benchmark_dir, table_path


def copied_home(home: Path, folder: Path) -> Path:
    """A copy of a data home, whose clips are hard links; gives the folder."""
    shutil.copytree(home, folder, symlinks=True, copy_function=os.link)
    return folder


def change_column(benchmark: str, split: str, column: str, change: Callable[[Any], Any]) -> None:
    """Change every value of a column of a prepared table, and its digest in the manifest."""
    path = table_path(benchmark, split)
    table = pyarrow.parquet.read_table(path)
    place = table.column_names.index(column)
    values = pyarrow.array(
        [change(value) for value in table.column(column).to_pylist()], table.schema.field(place).type
    )
    path.unlink()
    pyarrow.parquet.write_table(table.set_column(place, table.schema.field(place), values), path)
    manifest = benchmark_dir(benchmark) / "manifest.json"
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    facts["splits"][split]["table_sha256"] = file_sha256(path)
    manifest.unlink()
    manifest.write_text(json.dumps(facts), encoding="utf-8")
