"""The last lines of a run."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logged_runs import TASK, weak, write_records, write_run

from lmms_eval_tasks.host import saving
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.scores import scores_of
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

GROUPED = ("mvp_mini_intuitive_physics", "mvp_mini_temporal_reasoning")

STRATUM = {"type": "descriptive", "difficulty": "easy", "source": "clevrer"}


def test_a_line_for_each_task_and_group_and_how_to_look_at_the_run(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "weak", weak(), (TASK, *GROUPED), kind=SetKind.SAMPLE, stratum=STRATUM))
    run.groups["both"] = GROUPED  # type: ignore[index]
    lines = list(saving.closing_lines(scores_of(run), "my out/first"))
    apart = "SAMPLE DATA, not the benchmark"
    assert lines[0] == "" and lines[-1] == "lmms-eval-tasks report 'my out/first'"
    assert lines[1].startswith("both: pair accuracy 33.3% [") and lines[1].endswith(f"], 120 groups; {apart}")
    assert [line.partition(":")[0] for line in lines[2:-1]] == [*(f"  {task}" for task in GROUPED), TASK]
    assert lines[4] == f"{TASK}: pair accuracy 33.3% [22.7, 45.9], 60 groups; {apart}"
    assert list(saving.closing_lines(scores_of(run), "out", logged=False)) == [*lines[:-1], saving.UNLOGGED]


def test_a_task_whose_answers_are_withheld_says_how_to_submit(tmp_path: Path) -> None:
    reason = UnscoredReason.NO_KEY
    records = [Record(f"1_{member}", "1", STRATUM, None, "A", Outcome.UNSCORED, reason) for member in range(2)]
    records = [one.with_fields(official_correct=None) for one in records]
    run = read_run(write_records(tmp_path / "withheld", {"causalvqa_paired": records}))
    line = list(saving.closing_lines(scores_of(run), "my out"))[1]
    assert line == "causalvqa_paired: answers withheld; lmms-eval-tasks submit causalvqa 'my out' --out FILE"


def test_they_are_printed_at_the_end_of_the_command_line_where_the_run_has_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registered: list[tuple[Any, ...]] = []

    def register(function: Callable[..., Any], *arguments: Any) -> None:
        registered.append((function, *arguments))

    monkeypatch.setattr(atexit, "register", register)
    run = read_run(write_run(tmp_path / "weak", weak(), stratum=STRATUM))
    saving.announce(scores_of(run), run.path, "out")
    assert not registered, "a Python program prints what it wants"
    monkeypatch.setattr(saving, "on_command_line", lambda: True)
    saving.announce(scores_of(run), run.path, "out")
    ((function, *arguments),) = registered
    assert capsys.readouterr().out == ""
    function(*arguments)
    assert capsys.readouterr().out.endswith("\nlmms-eval-tasks report out\n")
    (log,) = (tmp_path / "weak").rglob("*_samples_*.jsonl")
    log.unlink()
    function(*arguments)
    assert capsys.readouterr().out == ""
