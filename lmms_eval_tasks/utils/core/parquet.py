"""Reading Parquet tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.files import open_regular

if TYPE_CHECKING:
    import pyarrow


def read_parquet(path: Path) -> pyarrow.Table:
    """The table of one Parquet file.

    Arrow opens the file itself. One that Python has opened is let go of by a thread of Arrow's some time after the
    table was read, which needs the interpreter: where that ends meanwhile, the process is aborted with status 134
    (apache/arrow issues 34314 and 50482).

    Raises:
        OSError: it cannot be read, or is no regular file.
        pyarrow.lib.ArrowException: it is no such table.
    """
    import pyarrow.parquet

    open_regular(path).close()
    # `read_table` would take the names of folders for columns of the table; a name need not be UTF-8.
    with pyarrow.OSFile(os.fsencode(path)) as source, pyarrow.parquet.ParquetFile(source) as file:
        return file.read()
