from __future__ import annotations

from pathlib import Path

import pytest
from hook_runs import write_hook_run
from submission_world import EVERY


@pytest.fixture(scope="session")
def run(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run on the small world."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(prepared))
        return write_hook_run(tmp_path_factory.mktemp("run") / "out", EVERY)
