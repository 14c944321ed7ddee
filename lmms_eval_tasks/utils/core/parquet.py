"""Reading Parquet tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.files import open_regular

if TYPE_CHECKING:
    import pyarrow


def read_parquet(path: Path) -> pyarrow.Table:
    """The table of one Parquet file."""
    import pyarrow.parquet

    open_regular(path).close()
    # `read_table` would take the names of folders for columns of the table; a name need not be UTF-8.
    with pyarrow.OSFile(os.fsencode(path)) as source, pyarrow.parquet.ParquetFile(source) as file:
        return file.read()
