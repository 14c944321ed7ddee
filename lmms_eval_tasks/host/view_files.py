"""Task files that give views of tasks that are not ours, for ``lmms-eval --include_path``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_tasks.host.other_views import KEY, find_offered
from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import Problems


def write_views(names: Sequence[str], views: Sequence[str], out: Path, include_path: str | None = None) -> list[str]:
    """Write a file for each view of each task.

    A file includes that of its task by its path, so that it stays what it is when lmms-eval changes.

    Args:
        names: Tasks, groups and tags of lmms-eval, or patterns of such names.
        views: Names of views.
        out: The folder; it need not exist.
        include_path: A folder with further tasks.

    Returns:
        The names of the tasks that were written.

    Raises:
        InputError: where a name is of no task or of one of ours, whose views are there already, a view is none, or a
            task shows no videos by ``doc_to_visual``; all of them at once, and nothing is written.
        OSError: where a file cannot be written.
    """
    from lmms_eval.tasks import TaskManager

    for view in views:
        find_offered(view)
    index = TaskManager(include_path=include_path).task_index
    problems, files = Problems(), dict[str, str]()
    for task in _find_tasks(index, names, problems):
        config = _read(index[task]["yaml_path"])
        if registry().find_task(task):
            problems.add(task, f"Expected somebody else's task, but its views are there already: {task}_{views[0]}.")
        elif "doc_to_visual" not in config:
            problems.add(task, "Expected a task that shows videos by doc_to_visual, but it has none.")
        else:
            for view in views:
                files[name_view(task, view)] = _file(task, view, index[task]["yaml_path"], config)
    problems.raise_if_any("Views cannot be written", "nothing was written")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_file(out / f"{name}.yaml", text)
    return list(files)


def _file(task: str, view: str, path: str, config: Mapping[str, Any]) -> str:
    metadata = config.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    value = {"include": str(Path(path).resolve()), "task": name_view(task, view), "metadata": {**known, KEY: view}}
    return yaml.safe_dump(value, allow_unicode=True, sort_keys=False)


def _find_tasks(index: Mapping[str, Any], names: Sequence[str], problems: Problems) -> Iterator[str]:
    """The tasks of names and patterns, those of groups and tags among them, each once."""
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
        entry = index.get(name)
        if entry is None or name in seen:
            continue
        seen.add(name)
        if entry["type"] == "task":
            yield name
            continue
        members = entry["task"] if entry["type"] == "tag" else _read(entry["yaml_path"]).get("task", [])
        waiting += [one if isinstance(one, str) else one["task"] for one in members]


def _read(path: str) -> dict[str, Any]:
    from lmms_eval.utils import load_yaml_config

    config: dict[str, Any] = load_yaml_config(path, mode="simple")
    return config
