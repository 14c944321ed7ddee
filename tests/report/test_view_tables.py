"""A view beside the whole task, in `report`."""

from __future__ import annotations

from pathlib import Path

import pytest
from logged_runs import write_run

from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.report.score_tables import view_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.runs.scores import references_of
from lmms_eval_tasks.utils.core.table import FittingTable
from lmms_eval_tasks.utils.reporting.references import published_of_view
from lmms_eval_tasks.utils.scoring.compare import compare_records

TASK = "mvp_mini_temporal_reasoning"
WHOLE = {str(number): (True, number < 30) for number in range(40)}
BLIND = {str(number): (number < 12, number < 6) for number in range(40)}


def cells(table: FittingTable) -> list[tuple[str, ...]]:
    return table.texts()


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Run, Run]:
    """The whole task and its blind view, of one model, in two folders."""
    whole = read_run(write_run(tmp_path / "a" / "model", WHOLE, (TASK,)))
    view = read_run(write_run(tmp_path / "b" / "model", BLIND, (f"{TASK}_blind",), view="blind"))
    return whole, view


def test_what_is_left_stands_beside_the_whole_with_the_interval_of_the_paired_difference(runs: tuple[Run, Run]) -> None:
    (table,) = view_tables(runs)
    metrics = [one.metric for one in references_of(TASK, TASK, 80)]
    compared = compare_records(
        {TASK: runs[0].records[TASK]}, {TASK: runs[1].records[f"{TASK}_blind"]}, metrics
    ).differences
    rows = cells(table)
    assert rows[0][:5] == ("blind", runs[0].name, "pair accuracy", "75.0", "15.0")
    assert rows[1][2:5] == ("single accuracy", f"{100 * 70 / 80:.1f}", f"{100 * 18 / 80:.1f}")
    for row, difference in zip(rows, compared, strict=False):
        low, high = difference.interval
        assert row[5:] == (f"{difference.change:+.1f} [{low:+.1f}, {high:+.1f}]", "40")
        assert low < difference.change < high < 0


def test_published_scores_of_the_view_stand_below(runs: tuple[Run, Run]) -> None:
    (table,) = view_tables(runs)
    published = published_of_view(find_benchmark("mvp").folder, TASK, "blind")
    assert published and [row[1] for row in cells(table)[2:]] == [f"{one.model} (published)" for one in published]
    assert "published, blind: MVP paper Table 4" in str(table.caption)


def test_a_view_of_another_model_or_without_its_parent_is_in_no_table(runs: tuple[Run, Run], tmp_path: Path) -> None:
    other = read_run(write_run(tmp_path / "c" / "other", BLIND, (f"{TASK}_blind",), view="blind"))
    assert view_tables([runs[0], other]) == view_tables([runs[1]]) == view_tables([runs[0]]) == []
    assert view_tables(runs, only="mvp_mini") == []
    assert len(view_tables(runs, only=TASK)) == len(view_tables(runs, only=f"{TASK}_blind")) == 1


def test_every_published_score_of_a_view_is_one_of_its_task() -> None:
    scores = [
        (task.kind, entry.score)
        for name in (*registry().tasks, *registry().groups)
        if (task := registry().find_task(name))
        for view in (*task.kind.views, "single_frame_last", "single_frame_centre")
        for entry in published_of_view(task.benchmark.folder, name, view)
    ]
    assert len(scores) > 50
    assert all(kind.metric(score).name == score for kind, score in scores)
