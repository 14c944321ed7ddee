from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_runs import POINTERS, prepare_sample, sometimes, write_sample_run


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The sample world, prepared in a data home that the whole session of tests uses."""
    root = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        patch.delenv("LMMS_EVAL_TASKS_MISSING", raising=False)
        prepare_sample(root / "sample")
        yield root / "home"


@pytest.fixture(scope="session")
def sample_runs(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of every task on the sample, one better than the other."""
    root = tmp_path_factory.mktemp("runs")
    tasks = list(POINTERS)
    return (
        write_sample_run(root / "careful-7b", tasks, sometimes(1, 0.75)),
        write_sample_run(root / "hasty-2b", tasks, sometimes(2, 0.45)),
    )
