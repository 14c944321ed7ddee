"""Files for leaderboards that cannot be written when a run ends: it keeps all else, and says so."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from expected import Expected
from hook_runs import MVP_MINI
from loguru import logger
from task_states import aggregations, docs_of, task_state

from lmms_eval_tasks.host.tasks import running as submissions
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.core.files import write_file


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    messages: list[str] = []
    sink = logger.add(lambda message: messages.append(message.record["message"]), level="WARNING")
    yield messages
    logger.remove(sink)


def end_tasks(out: Path) -> list[int | None]:
    """End the four tasks of MVP in one evaluation; the rows that each reports."""
    evaluation, args = Evaluation(clips_needed=False), SimpleNamespace(output_path=str(out))
    rows = []
    for task in MVP_MINI:
        state = task_state(task, evaluation)
        items: list[dict[str, Any]] = [state.process_results(doc, ["(A)"]) for doc in docs_of(state)]
        rows.append(aggregations(state)[SUBMISSION_ROWS]([item[SUBMISSION_ROWS] for item in items], args))
    return rows


@pytest.mark.usefixtures("world_home")
def test_what_cannot_be_written_ends_no_run(
    tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    def write(path: Path, content: str) -> None:
        if path.name == "mvp_mini_submission.jsonl":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_file(path, content)

    blocked, full = tmp_path / "blocked", tmp_path / "full"
    blocked.mkdir()
    (blocked / "submissions").write_text("a file")
    assert end_tasks(blocked) == [None] * 4
    assert (blocked / "mvp_mini_submission.jsonl").read_text("utf-8").count("\n") == 8
    monkeypatch.setattr(submissions, "write_file", write)
    assert end_tasks(full) == [2, 2, 2, 2]
    # The prepared table has gone meanwhile.
    state = task_state(MVP_MINI[0], Evaluation(clips_needed=False))
    items = [state.process_results(doc, ["A"])[SUBMISSION_ROWS] for doc in docs_of(state)]
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "empty"))
    assert aggregations(state)[SUBMISSION_ROWS](items, SimpleNamespace(output_path=str(tmp_path))) is None
    expected("\n".join(warnings))
