"""The views of our tasks and groups in lmms-eval's task index, which has no file for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.views import CAPTIONS, SOCRATIC, name_view

VIEW = "view"
"""Where an entry of the index, or a pointer, names a view."""


def listed_views(index: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of all views of the tasks and groups in an index; single frames only where the benchmark has them."""
    entries: dict[str, Any] = {}
    for name in index:
        for member in registry().find_members(name)[:1]:
            for view in member.kind.views:
                for listed in (view, CAPTIONS) if view == SOCRATIC else (view,):
                    entries.update(_view_entries(index, name_view(name, listed)))
    return entries


def add_views(manager: Any, names: Iterable[Any]) -> None:
    """Put the views that are named, and not listed, into a task manager's index: single frames at any position."""
    index = manager.task_index
    for name in names:
        if not isinstance(name, str) or name in index:
            continue
        for view, entry in _view_entries(index, name).items():
            if view not in index:
                index[view] = entry
                manager.all_tasks.append(view)
                (manager.all_groups if entry["type"] == "group" else manager.all_subtasks).append(view)


def _view_entries(index: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The entry of a task's view, or those of a group's view and of its tasks; none for a name that is no view."""
    members, parent = registry().find_members(name), registry().find_parent(name)
    names = dict.fromkeys((name, *(task.name for task in members)))
    parents = {view: registry().find_parent(view) for view in names}
    if parent == name or not all(one in index for one in parents.values()):
        return {}
    return {view: {**index[one], VIEW: members[0].view} for view, one in parents.items()}


def view_config(config: Any, entry: Mapping[str, Any]) -> Any:
    """A task's or group's configuration as a view of it, where its entry of the index names one."""
    view = entry.get(VIEW, "")
    if not view or not isinstance(config, Mapping):
        return config
    if isinstance(tasks := config.get("task"), list):
        named = {"group": name_view(config["group"], view), "task": [name_view(task, view) for task in tasks]}
    else:
        named = {"task": name_view(config["task"], view)}
    return {**config, **named}
