"""Files for leaderboards that cannot be written when a run ends: it keeps all else, and says so."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest
from expected import Expected
from hook_runs import MVP_MINI
from task_states import aggregations, docs_of, task_state

from lmms_eval_tasks.host.tasks import running
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.benchmark.tasks import SUBMISSION_ROWS
from lmms_eval_tasks.utils.core.files import write_file


def test_what_cannot_be_written_ends_no_run(
    world: Path, tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    def end(task: str, out: Path, evaluation: Evaluation, gone: bool = False) -> int | None:
        """End a task; the rows that it reports."""
        state = task_state(task, evaluation)
        rows = [state.process_results(doc, ["(A)"])[SUBMISSION_ROWS] for doc in docs_of(state)]
        if gone:
            monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "empty"))
        return aggregations(state)[SUBMISSION_ROWS](rows, SimpleNamespace(output_path=str(out)))

    def end_all(out: Path) -> list[int | None]:
        evaluation = Evaluation(clips_needed=False)
        return [end(task, out, evaluation) for task in MVP_MINI]

    def write(path: Path, content: str) -> None:
        if path.name == "mvp_mini_submission.jsonl":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_file(path, content)

    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "submissions").write_text("a file")
    assert end_all(blocked) == [None] * 4
    assert (blocked / "mvp_mini_submission.jsonl").read_text("utf-8").count("\n") == 8
    monkeypatch.setattr(running, "write_file", write)
    assert end_all(tmp_path / "full") == [2, 2, 2, 2]
    # The prepared table has gone meanwhile.
    assert end(MVP_MINI[0], tmp_path, Evaluation(clips_needed=False), gone=True) is None
    expected("\n".join(warnings))
