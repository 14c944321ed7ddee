"""Views of tasks that are not ours: their files for ``--include_path``, wrapped hooks, and prompts without the
question.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.tasks.task_view import CAPTIONED, read_captions, see
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.benchmark import VIEWS, View, find_view, name_view
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import write_file

QUESTION = "question"
"""The column of a task's rows that is left out."""
NOTICE = "hidden_question"
"""The prompt that stands in its place."""
LEAST_OPTIONS = 2


def hide_question(doc: Mapping[str, Any]) -> dict[str, Any]:
    """A row with our notice in place of its question."""
    question = doc.get(QUESTION)
    if not isinstance(question, str) or not question.strip():
        names = ", ".join(map(str, doc))
        raise RunStopped(f"Expected rows with a column {QUESTION}, which is to be left out, but one has {names}.")
    return {**doc, QUESTION: read_prompt(NOTICE).text}


def check_hidden(doc: Mapping[str, Any], text: str) -> None:
    """See that a prompt shows a row's options and not its question."""
    if read_prompt(NOTICE).text not in text or doc[QUESTION].strip() in text:
        raise RunStopped(
            f"Expected a prompt in which the column {QUESTION} has the whole question, so that it can be left out, but "
            f"got {text[:200]!r}."
        )
    if not any(_are_shown(value, text) for value in doc.values()):
        raise RunStopped(
            f"Expected a prompt that shows options, a list in a column of the row, for they are asked about alone, but "
            f"got {text[:200]!r}."
        )


def _are_shown(value: object, text: str) -> bool:
    options = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(options, (list, tuple)) or len(options) < LEAST_OPTIONS:
        return False
    return all(isinstance(option, str) and option in text for option in options)


KEY = "lmms_eval_tasks_view"
"""The entry of a configuration's metadata that names a view."""
POSITION = "centre"
"""Which frame a single one is where the view does not say."""


def bind_view(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A task's configuration with its hooks wrapped, where its metadata names a view; else the same."""
    metadata = config.get("metadata")
    name = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    if name is None:
        return config
    try:
        view = find_offered(str(name))
        if view.captioned:
            read_captions()
    except InputError as error:
        raise RunStopped(f"{config.get('task')}: {error}") from None
    show = config.get("doc_to_visual")
    if not callable(show):
        raise RunStopped(f"{config.get('task')}: Expected a task that shows videos by doc_to_visual, but it does not.")
    wrapped: dict[str, Any] = {"doc_to_visual": _wrap_visuals(show, view)}
    if callable(put := config.get("doc_to_messages")):
        wrapped["doc_to_messages"] = _wrap_messages(put, view)
    if (view.captioned or view.options_alone) and (ask := _find_ask(config)):
        wrapped["doc_to_text"] = _wrap_text(ask, show) if view.captioned else _wrap_question(ask)
    return {**config, **wrapped}


def find_offered(name: str) -> View:
    """A view of a task that is not ours."""
    view = find_view(name)
    if view is None or view.family not in VIEWS or view.describes:
        raise InputError(f"Expected a view, any of {', '.join(VIEWS)}, but got {name!r}.")
    return view


def _find_ask(config: Mapping[str, Any]) -> Callable[..., str] | None:
    """Return the function that makes a row's prompt: a hook, or as in lmms-eval a template or a column's name; None
    without any."""
    ask = config.get("doc_to_text")
    if not isinstance(ask, str):
        return ask if callable(ask) else None
    template = ask

    def render(doc: Mapping[str, Any], settings: object = None) -> str:
        from lmms_eval.utils import apply_template

        return str(doc[template] if template in doc else apply_template(template, doc))

    return render


def _wrap_visuals(doc_to_visual: Callable[..., Any], view: View) -> Callable[..., list[Any]]:
    @functools.wraps(doc_to_visual)
    def show(*arguments: Any, **named: Any) -> list[Any]:
        visuals = doc_to_visual(*arguments, **named) or ()
        return [_see(view, visual) for visual in visuals] if view.needs_clip else []

    return show


def _wrap_messages(doc_to_messages: Callable[..., Any], view: View) -> Callable[..., Any]:
    @functools.wraps(doc_to_messages)
    def put(doc: Any, *arguments: Any, **named: Any) -> Any:
        messages = doc_to_messages(hide_question(doc) if view.options_alone else doc, *arguments, **named)
        if view.options_alone:
            check_hidden(doc, "\n".join(_texts(messages)))
        return [{**message, "content": _change_content(message.get("content"), view)} for message in messages]

    return put


def _wrap_text(doc_to_text: Callable[..., Any], doc_to_visual: Callable[..., Any]) -> Callable[..., str]:
    @functools.wraps(doc_to_text)
    def ask(doc: Any, *arguments: Any, **named: Any) -> str:
        settings = arguments or tuple(named.values())
        takes_settings = len(inspect.signature(doc_to_visual).parameters) > 1
        visuals = doc_to_visual(doc, *settings[:1]) if takes_settings else doc_to_visual(doc)
        caption = "\n\n".join(map(_caption, visuals))
        return read_prompt(CAPTIONED).render(caption=caption, prompt=doc_to_text(doc, *arguments, **named))

    return ask


def _wrap_question(doc_to_text: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(doc_to_text)
    def ask(doc: Any, *arguments: Any, **named: Any) -> str:
        text = doc_to_text(hide_question(doc), *arguments, **named)
        check_hidden(doc, text)
        return text

    return ask


def _texts(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The texts of messages, one after another."""
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        yield from (str(part.get("text", "")) for part in parts if part.get("type") == "text")


def _change_content(content: Any, view: View) -> Any:
    """The content of a message, with what a view shows in place of each video or picture."""
    if not isinstance(content, list):
        return content
    parts: list[Mapping[str, Any]] = []
    for part in content:
        if part.get("type") not in ("video", "image"):
            parts.append(part)
        elif view.captioned:
            parts.append({"type": "text", "text": _caption(part.get("url"))})
        elif view.needs_clip:
            seen = _see(view, part.get("url"))
            parts.append({"type": "video" if isinstance(seen, str) else "image", "url": seen})
    return parts


def _see(view: View, visual: Any) -> Any:
    """Return one of a task's visuals as a view shows it."""
    return see(view, _clip(visual), POSITION)


def _caption(visual: Any) -> str:
    """The caption of a video, by its file's name."""
    name = _clip(visual).name
    caption = read_captions().find(name)
    if caption is None:
        raise RunStopped(f"Expected a caption of every clip, but there is none of {name}.")
    return caption


def _clip(visual: Any) -> Path:
    if isinstance(visual, (str, Path)):
        return Path(visual)
    raise RunStopped(f"Expected a video by its path, for only those have views, but got {type(visual).__name__}.")


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
    """Return the members of a group or tag."""
    entry = index[name]
    members: list[Member] = entry["task"] if entry["type"] == "tag" else _read(entry["yaml_path"]).get("task", [])
    return members


def _read(path: str) -> dict[str, Any]:
    from lmms_eval.utils import load_yaml_config

    config: dict[str, Any] = load_yaml_config(path, mode="simple")
    return config
