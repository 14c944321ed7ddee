"""A view beside the whole task, in `report`."""

from __future__ import annotations

import pytest
from expected import Expected
from made_runs import C, W, make_groups, make_run, show

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.score_tables import view_tables
from lmms_eval_tasks.runs.scores import references_of
from lmms_eval_tasks.utils.reporting.references import published_of_view
from lmms_eval_tasks.utils.scoring.compare import compare_records

TASK = "mvp_mini_temporal_reasoning"
WHOLE = make_run({TASK: make_groups([(C, C)] * 30 + [(C, W)] * 10)})
# 12 first members and 6 second ones are right.
BLIND = make_run({f"{TASK}_blind": make_groups([(C, C)] * 6 + [(C, W)] * 6 + [(W, W)] * 28)})


def test_what_is_left_stands_beside_the_whole_with_the_interval_of_the_paired_difference(expected: Expected) -> None:
    (table,) = tables = view_tables([WHOLE, BLIND])
    metrics = [one.metric for one in references_of(TASK, TASK, 80)]
    compared = compare_records({TASK: WHOLE.records[TASK]}, {TASK: BLIND.records[f"{TASK}_blind"]}, metrics).differences
    for row, difference, scores in zip(table.texts(), compared, [(75.0, 15.0), (87.5, 22.5)], strict=False):
        low, high = difference.interval
        assert (difference.first, difference.second) == pytest.approx(scores)
        assert row[5] == f"{difference.change:+.1f} [{low:+.1f}, {high:+.1f}]"
        assert low < difference.change < high < 0
    # Published scores of the view stand below.
    expected(show(tables))


def test_a_view_of_another_model_or_without_its_parent_is_in_no_table() -> None:
    other = make_run({f"{TASK}_blind": BLIND.records[f"{TASK}_blind"]}, name="other")
    assert view_tables([WHOLE, other]) == view_tables([BLIND]) == view_tables([WHOLE]) == []
    assert view_tables([WHOLE, BLIND], only="mvp_mini") == []
    assert all(len(view_tables([WHOLE, BLIND], only=name)) == 1 for name in (TASK, f"{TASK}_blind"))


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
