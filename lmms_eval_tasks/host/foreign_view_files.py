"""Files that give views of tasks that are not ours, for ``lmms-eval --include_path``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_tasks.host.foreign_view_hooks import KEY, find_offered
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError, Problems

Member = str | Mapping[str, Any]
"""What a group holds: the name of a task or group, one with settings of its own, or a group within it."""
GROUPS = ("group", "tag")
"""Types of the index's entries that hold others."""


@dataclass(frozen=True)
class WrittenViews:
    """Names of what was written."""

    tasks: tuple[str, ...]
    groups: tuple[str, ...]


def write_views(names: Sequence[str], views: Sequence[str], out: Path, include_path: str | None = None) -> WrittenViews:
    """Write a file for each view of each task, and for each view of the groups that they are named by."""
    from lmms_eval.tasks import TaskManager

    # lmms-eval takes no notice of a folder that is not there.
    if include_path is not None and not Path(include_path).is_dir():
        raise InputError(f"Expected a folder with further tasks, but there is no folder {include_path}.")
    for view in views:
        find_offered(view)
    index = TaskManager(include_path=include_path).task_index
    problems, tasks, groups = Problems(), dict[str, str](), dict[str, str]()
    for name in _find_members(index, names, problems):
        path = index[name]["yaml_path"]
        config = _read(path) if isinstance(path, str) else {}
        if index[name]["type"] in GROUPS:
            for view in views:
                groups[name_view(name, view)] = _group_file(name, view, path, _members(index, name))
        elif registry().find_task(name):
            problems.add(name, f"Expected somebody else's task, but its views are there already: {name}_{views[0]}.")
        elif "doc_to_visual" not in config:
            problems.add(name, "Expected a task that shows videos by doc_to_visual, but it has none.")
        else:
            for view in views:
                tasks[name_view(name, view)] = _task_file(name, view, path, config)
    problems.raise_if_any("Views cannot be written", "nothing was written")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in {**tasks, **groups}.items():
        write_file(out / f"{name}.yaml", text)
    return WrittenViews(tuple(tasks), tuple(groups))


def _task_file(task: str, view: str, path: str, config: Mapping[str, Any]) -> str:
    metadata = config.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    return _as_yaml(path, {"task": name_view(task, view), "metadata": {**known, KEY: view}})


def _group_file(group: str, view: str, path: object, members: Sequence[Member]) -> str:
    viewed = [_view_member(one, view) for one in members]
    return _as_yaml(path, {"group": name_view(group, view), "group_alias": None, "task": viewed})


def _view_member(member: Member, view: str) -> Member:
    if isinstance(member, str):
        return name_view(member, view)
    named: dict[str, Any] = {
        key: name_view(member[key], view) for key in ("group", "task") if isinstance(member.get(key), str)
    }
    if isinstance(member["task"], list):
        named["task"] = [_view_member(one, view) for one in member["task"]]
    return {**member, **named}


def _names(member: Member) -> Iterator[str]:
    """The names of tasks and groups that a member of a group has, or is."""
    if isinstance(member, str):
        yield member
    else:
        inner = member["task"]
        yield from [inner] if isinstance(inner, str) else (name for one in inner for name in _names(one))


def _as_yaml(path: object, values: Mapping[str, Any]) -> str:
    """A file's text; that of a tag includes no other, for a tag has none."""
    included = {"include": str(Path(path).resolve())} if isinstance(path, str) else {}
    return yaml.safe_dump({**included, **values}, allow_unicode=True, sort_keys=False)


def _find_members(index: Mapping[str, Any], names: Sequence[str], problems: Problems) -> Iterator[str]:
    """The tasks, groups and tags of names and patterns, and all of those within them, each once."""
    from lmms_eval.utils import pattern_match

    seen, waiting = set[str](), list[str]()
    for name in names:
        matches = pattern_match([name], list(index))
        if not matches:
            problems.add(
                name, "Expected a task, group or tag of lmms-eval, or a pattern of such names, but there is none."
            )
        waiting += matches
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in index:
            continue
        seen.add(name)
        yield name
        if index[name]["type"] in GROUPS:
            waiting += [task for one in _members(index, name) for task in _names(one)]


def _members(index: Mapping[str, Any], name: str) -> list[Member]:
    """What a group or tag holds."""
    entry = index[name]
    members: list[Member] = entry["task"] if entry["type"] == "tag" else _read(entry["yaml_path"]).get("task", [])
    return members


def _read(path: str) -> dict[str, Any]:
    from lmms_eval.utils import load_yaml_config

    config: dict[str, Any] = load_yaml_config(path, mode="simple")
    return config
