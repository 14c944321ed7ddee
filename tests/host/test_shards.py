"""Which part of a run has which items, and what lmms-eval is left to ask."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.host.asking.dealing import PartOfRun, deal_rows, without_tasks
from lmms_eval_tasks.host.checks import describe_unsplit
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.runs.run_files import Shard
from lmms_eval_tasks.utils.core.text import SHARD
from lmms_eval_tasks.utils.data.prepare import CLIP_SECONDS, make_table

PAIRED, TWO_CLIPS = read_card("causalvqa"), read_card("yocausal")
ROWS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.none() | st.floats(0.1, 300)), max_size=40
)
Rows = list[tuple[int, int, int, float | None]]


def table_of(rows: Rows, measured: bool = True) -> pa.Table:
    """A table of rows of a group, two clips and their seconds."""
    made = make_table(
        [
            {"item_id": str(place), "group_id": f"g{group}", "clip": f"{one}.mp4", "clip_backward": f"{other}.mp4"}
            for place, (group, one, other, _) in enumerate(rows)
        ],
        dict.fromkeys(("clip_backward", *PAIRED.strata_columns, *TWO_CLIPS.strata_columns), pa.string()),
    )
    seconds = pa.array([length for *_, length in rows], pa.float64())
    return made.append_column(CLIP_SECONDS, seconds) if measured else made


@given(ROWS, st.integers(1, 7), st.booleans())
def test_clips_and_groups_are_whole_and_every_row_is_in_one_part(rows: Rows, parts: int, measured: bool) -> None:
    dealt = deal_rows(TWO_CLIPS, table_of(rows, measured), parts)
    assert len(dealt) == len(rows) and set(dealt) <= set(range(1, parts + 1))
    holders: dict[object, set[int]] = defaultdict(set)
    for (group, one, other, _), part in zip(rows, dealt, strict=True):
        for thing in (("group", group), one, other):
            holders[thing].add(part)
    assert all(len(its) == 1 for its in holders.values())
    assert dealt == deal_rows(TWO_CLIPS, table_of(rows, measured), parts)


@given(st.lists(st.floats(20, 300), min_size=1, max_size=60), st.integers(1, 7))
def test_parts_differ_by_no_more_than_the_longest_clip(lengths: list[float], parts: int) -> None:
    # Two questions about each clip.
    rows: Rows = [(place, place, place, length) for place, length in enumerate(lengths) for _ in range(2)]
    seconds = [0.0] * parts
    for length, part in zip(lengths, deal_rows(PAIRED, table_of(rows), parts)[::2], strict=True):
        seconds[part - 1] += length
    assert max(seconds) - min(seconds) <= max(lengths) + 1e-6


def test_without_seconds_parts_have_as_many_clips() -> None:
    rows: Rows = [(clip, clip, clip, None) for clip in range(6) for _ in range(clip + 1)]
    for table in (table_of(rows), table_of(rows, measured=False)):
        dealt = dict(zip([clip for clip, *_ in rows], deal_rows(PAIRED, table, 3), strict=True))
        assert sorted(dealt.values()) == [1, 1, 2, 2, 3, 3]


def test_a_clip_of_unknown_length_is_a_mean_one() -> None:
    rows: Rows = [(clip, clip, clip, length) for clip, length in enumerate((30.0, 10.0, None))]
    assert deal_rows(PAIRED, table_of(rows), 2) == [1, 2, 2]


@pytest.mark.parametrize(
    ("shard", "others", "message"),
    [
        ("", ["mmmu"], None),
        ("1/2", [], None),
        ("3/2", [], (
            "Expected LMMS_EVAL_TASKS_SHARD to be i/N, one of N parts counted from 1, such as 3/7, but got '3/2'."
        )),
        ("1/2", ["mmmu", "mme"], (
            "Expected only tasks of lmms-eval-tasks where LMMS_EVAL_TASKS_SHARD is set, but got mmmu, mme: what "
            "others' items show, and which of them belong together, is not known. Run these tasks apart, without it."
        )),
    ],
)  # fmt: skip
def test_what_cannot_be_cut_into_parts(
    shard: str, others: list[str], message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SHARD, shard)
    assert describe_unsplit(others) == message
    assert describe_unsplit(others, splits=False) is None


def test_tasks_without_items_and_groups_without_tasks_are_left_out() -> None:
    tasks = {"group": {"a": 1, "inner": {"b": 2}}, "other": {"c": 3}, "d": 4, "e": 5}
    assert without_tasks(tasks, ["b", "c", "e"]) == {"group": {"a": 1}, "d": 4}
    assert without_tasks(tasks, ["a", "b", "c", "d", "e"]) == {}


class Task:
    """As lmms-eval's task, which has two requests for each document."""

    _instances: list[Any]

    def build_all_requests(self, *, limit: int) -> None:
        self._instances = [SimpleNamespace(doc_id=number // 2) for number in range(2 * limit)]


def test_only_the_documents_of_a_part_are_asked_as_long_as_it_lasts() -> None:
    one, other = Task(), Task()
    part = PartOfRun(
        Shard(1, 2),
        {"one": frozenset({0, 3}), "other": frozenset()},
        {name: {"original": 9, "effective": 4} for name in ("one", "other")},
        {"one": one, "other": other},
    )
    with part.during():
        for task in (one, other):
            task.build_all_requests(limit=4)
    assert [request.doc_id for request in one._instances] == [0, 0, 3, 3] and other._instances == []
    one.build_all_requests(limit=1)
    assert len(one._instances) == 2
    results: dict[str, Any] = {"n-samples": {"one": {"original": 9, "effective": 4}}}
    part.label(results)
    assert results == {
        "n-samples": {"one": {"original": 9, "effective": 2}},
        "shard": {"part": 1, "of": 2, "n-samples": dict(part.whole)},
    }
