"""Views by the names of their tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.views import VIEWS, Masked, SingleFrame, find_view, name_view, split_name

POSITIONS = ("first", "centre", "last", "random0", "random7", "random123456")
NAMES = (*VIEWS, Masked.ending, "captions", *(f"single_frame_{position}" for position in POSITIONS))


@given(st.text(alphabet="ab_", max_size=12))
def test_a_task_and_its_view_can_be_taken_apart_again(task: str) -> None:
    for name in NAMES:
        view = find_view(name)
        assert view is not None and view.name == name
        assert split_name(name_view("some_task_blind_alley", name)) == ("some_task_blind_alley", view)
        assert split_name(name_view(task, name)) == ((task, view) if task else None)
    for name in ("Blind", "single_frame_middle", "single_frame_random", "random3", "single_frame_random03", "x"):
        assert find_view(name) is None and split_name(f"task_{name}") is None


def test_single_frames_are_one_family_and_both_passes_with_captions_are() -> None:
    views = {name: find_view(name) for name in NAMES}
    assert {view.family for name, view in views.items() if view and name.startswith("single_frame")} == {"single_frame"}
    assert views["captions"] and views["captions"].family == "socratic"
    assert {name for name, view in views.items() if view and not view.needs_clip} == {"blind", "socratic"}
    assert views["single_frame"] == SingleFrame() != views["single_frame_first"]
    kind = next(task.kind for task in registry().tasks.values() if "video_only" in task.kind.views)
    for wrong in ({"views": ("blindly",)}, {"frame": "middle"}, {"views": (Masked.ending,)}):
        with pytest.raises(ValueError, match="Expected"):
            replace(kind, **wrong)


LISTED = [(name, view) for name, task in registry().tasks.items() for view in task.kind.views]


def test_every_listed_view_of_every_task_is_a_task_of_the_same_benchmark() -> None:
    for name, view in LISTED:
        parent, task = registry().tasks[name], registry().find_task(f"{name}_{view}")
        assert task is not None and task.name == f"{name}_{view}" and task.view == view
        assert task.pointer == {**parent.pointer, "view": view}
        assert (task.benchmark, task.version, task.metrics) == (parent.benchmark, parent.version, parent.metrics)
        assert registry().find_parent(task.name) == name
        assert registry().find_version(task.name) == parent.version
        assert registry().find_task(f"{task.name}_{view}") is None, "there are no views of views"
        assert task.no_submission
    assert {registry().tasks[name].benchmark.name for name, _ in LISTED} == set(registry().benchmarks)
    without = [task for task in registry().tasks.values() if not task.kind.views]
    assert all(registry().find_task(f"{task.name}_{view}") is None for task in without for view in VIEWS)


def test_a_groups_view_is_the_view_of_its_tasks() -> None:
    for group, (members, version) in registry().groups.items():
        if registry().tasks[members[0]].kind.views:
            seen = registry().find_members(f"{group}_blind")
            assert [task.name for task in seen] == [f"{member}_blind" for member in members]
            assert registry().find_parent(f"{group}_blind") == group
            assert registry().find_version(f"{group}_blind") == version
            assert registry().find_members(f"{group}_single_frame_random3")
