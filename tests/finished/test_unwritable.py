"""Files for leaderboards that cannot be written when a run ends."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hook_runs import MVP_MINI
from loguru import logger
from submission_world import choose
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


def finish(out: Path) -> list[int | None]:
    """End the four tasks of MVP in one evaluation; the rows that each reports."""
    evaluation, args = Evaluation(clips_needed=False), SimpleNamespace(output_path=str(out))
    rows = []
    for task in MVP_MINI:
        state = task_state(task, evaluation)
        items: list[dict[str, Any]] = [state.process_results(doc, [choose("A")(doc)]) for doc in docs_of(state)]
        rows.append(aggregations(state)[SUBMISSION_ROWS]([item[SUBMISSION_ROWS] for item in items], args))
    return rows


def test_what_cannot_be_written_is_named_and_the_rest_is_written(
    world_home: Path, tmp_path: Path, warnings: list[str]
) -> None:
    (tmp_path / "submissions").write_text("a file")
    assert finish(tmp_path) == [None] * 4
    assert (tmp_path / "mvp_mini_submission.jsonl").read_text("utf-8").count("\n") == 8
    first = tmp_path / "submissions" / f"{MVP_MINI[0]}_valid.jsonl"
    assert next(warning for warning in warnings if "was not written" in warning) == (
        f"{first} was not written (FileExistsError: [Errno 17] File exists: '{tmp_path / 'submissions'}'). The run "
        f"keeps all else; with --log_samples, `lmms-eval-tasks submit mvp {tmp_path} --out FILE` writes the file later."
    )
    assert sum("was not written" in warning for warning in warnings) == 4


def test_a_full_disk_ends_no_run(
    world_home: Path, tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(path: Path, content: str) -> None:
        if path.name == "mvp_mini_submission.jsonl":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_file(path, content)

    monkeypatch.setattr(submissions, "write_file", write)
    assert finish(tmp_path) == [2, 2, 2, 2]
    (warning,) = [warning for warning in warnings if "was not written" in warning]
    assert "No space left on device" in warning


def test_a_table_that_has_gone_meanwhile_ends_no_run(
    world_home: Path, tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = Evaluation(clips_needed=False)
    state = task_state(MVP_MINI[0], evaluation)
    items = [state.process_results(doc, ["A"])[SUBMISSION_ROWS] for doc in docs_of(state)]
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "empty"))
    assert aggregations(state)[SUBMISSION_ROWS](items, SimpleNamespace(output_path=str(tmp_path))) is None
    (warning,) = warnings
    assert "was not written (InputError: MVP is not prepared" in warning
