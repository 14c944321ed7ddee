import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmms_eval_tasks.utils.core.forms import read_parquet

READERS = """
import os, sys
from pathlib import Path
import pyarrow.parquet
from lmms_eval_tasks.utils.core.forms import read_parquet

for _ in range(60):
    child = os.fork()
    if child == 0:
        read_parquet(Path(sys.argv[1]))
        sys.exit(7)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended != 7:
        sys.exit(f"a reader ended with {ended}")
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "split=test" / "table.parquet"
    path.parent.mkdir()
    columns = {f"column {number}": [f"{row}" for row in range(300)] for number in range(12)}
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.slow
def test_a_process_that_ends_after_reading_is_not_aborted(table: Path) -> None:
    # Where Arrow was given a file that Python had opened, about one reader in fifteen was.
    ended = subprocess.run([sys.executable, "-c", READERS, table], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_names_of_folders_give_no_columns(table: Path) -> None:
    assert read_parquet(table).column_names == [f"column {number}" for number in range(12)]


def test_a_folder_is_no_table(table: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_parquet(table.parent)
