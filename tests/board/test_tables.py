"""A board's tables: which runs stand in one, their order and ranks, and what is published of the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from board_runs import OFFICIAL, OWN, TASK, part, write_scored

from lmms_eval_tasks.board import BoardRun, BoardTable, build_tables, name_scored
from lmms_eval_tasks.runs.scores import read_scored
from lmms_eval_tasks.utils.core.errors import InputError

HIGH, MIDDLE, LOW = (62.0, 58.5, 65.4), (60.1, 56.7, 63.5), (48.2, 44.7, 51.8)


def tables_of(*folders: Path, only: str = "") -> list[BoardTable]:
    return build_tables(name_scored([read_scored(folder) for folder in folders]), only)


def ranks(table: BoardTable) -> list[tuple[str, int | None]]:
    return [(row.run.title, row.rank) for row in table.rows]


def test_runs_stand_by_rank_then_score_and_those_without_an_interval_last(tmp_path: Path) -> None:
    low, bare, high, middle = (
        write_scored(tmp_path / name, part(span))
        for name, span in (("low", LOW), ("bare", (99.0, None, None)), ("high", HIGH), ("middle", MIDDLE))
    )
    (table,) = tables_of(low, bare, high, middle)
    assert ranks(table) == [("high", 1), ("middle", 1), ("low", 3), ("bare", None)]
    assert [row.alike for row in table.rows] == [("4",), ("3",), (), ()]
    assert "Runs without an interval have no rank." in table.notes


@pytest.mark.parametrize(
    "other",
    [
        {"version": "2-A"},
        {"name": f"{TASK}_blind", "view": "blind"},
        {"data": OWN},
        {"apart": "--limit 3"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_scores_that_cannot_be_compared_stand_in_tables_of_their_own(tmp_path: Path, other: dict[str, object]) -> None:
    first = write_scored(tmp_path / "first", part(HIGH))
    second = write_scored(tmp_path / "second", part(LOW, **other))  # type: ignore[arg-type]
    tables = tables_of(first, second)
    assert sorted(ranks(table) for table in tables) == [[("first", 1)], [("second", 1)]]
    assert len({table.key for table in tables}) == 2


def test_another_interface_of_a_task_is_comparable(tmp_path: Path) -> None:
    runs = [write_scored(tmp_path / name, part(HIGH, version=name)) for name in ("1-A", "1-B")]
    (table,) = tables_of(*runs)
    assert len(table.rows) == 2 and table.version == "1"


def test_of_other_data_only_the_same_is_comparable(tmp_path: Path) -> None:
    one, same, other = (
        write_scored(tmp_path / name, part(HIGH, data=OWN), digest=digest)
        for name, digest in (("one", "aa"), ("same", "aa"), ("other", "bb"))
    )
    assert sorted(len(table.rows) for table in tables_of(one, same, other)) == [1, 2]
    unknown = [write_scored(tmp_path / name, part(HIGH, data=OWN)) for name in ("third", "fourth")]
    (table,) = tables_of(*unknown)
    assert "is not known" in " ".join(table.notes)


def test_published_scores_stand_beside_the_whole_official_release_alone(tmp_path: Path) -> None:
    runs = [
        write_scored(tmp_path / "whole", part(HIGH, data=OFFICIAL)),
        write_scored(tmp_path / "own", part(HIGH, data=OWN)),
        write_scored(tmp_path / "blind", part(HIGH, name=f"{TASK}_blind", view="blind")),
    ]
    published = {table.rows[0].run.title: [row.kind for row in table.published] for table in tables_of(*runs)}
    assert published["own"] == published["blind"] == []
    assert published["whole"][:2] == ["chance", "people"] and set(published["whole"][2:]) == {"published"}


def test_a_card_says_size_and_frames_and_nothing_is_guessed(tmp_path: Path) -> None:
    known = write_scored(tmp_path / "known", part(HIGH), parameters=8_290_000_000, frames={"frames": "16: of the task"})
    by_rate = write_scored(tmp_path / "by-rate-7B", part(HIGH), frames={"frames": "not set", "fps": 2})
    runs: list[BoardRun] = name_scored([read_scored(one) for one in (known, by_rate)])
    assert [(run.size, run.size_range, run.frames) for run in runs] == [
        ("8.3B", "4B to 10B", "16"),
        ("not known", "not known", "2 fps"),
    ]


def test_a_task_that_no_run_holds_is_refused_with_those_there_are(tmp_path: Path) -> None:
    run = write_scored(tmp_path / "run", part(HIGH))
    assert [table.name for table in tables_of(run, only=TASK)] == [TASK]
    with pytest.raises(
        InputError, match=r"Expected a task or group of these runs, any of mvp_mini, but got yocausal\."
    ):
        tables_of(run, only="yocausal")


def test_a_task_of_a_group_is_shown_alone_where_it_is_asked_for(tmp_path: Path) -> None:
    group = part(HIGH)
    member = part(LOW).model_copy(update={"name": group.tasks[0], "tasks": group.tasks[:1]})
    run = write_scored(tmp_path / "run", group, member)
    assert [table.name for table in tables_of(run)] == [TASK]
    assert [table.name for table in tables_of(run, only=member.name)] == [member.name]
