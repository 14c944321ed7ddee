"""Views of tasks that are not ours: their files for ``--include_path``, wrapped hooks, and prompts without the
question.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.tasks.task_view import read_captions, see
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.benchmark import TaskKind
from lmms_eval_tasks.utils.benchmark.views import VIEWS, Item, Suits, Texts, View, find_view, name_view
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import write_file

KEY = "lmms_eval_tasks_view"
"""The entry of a configuration's metadata that names a view."""
OTHERS = TaskKind(())
"""What views ask of a kind of task of ours, for those of others: a single frame is the centre."""


def bind_view(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a task's configuration with its hooks wrapped, where its metadata names a view; else the same."""
    metadata = config.get("metadata")
    name = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    if name is None:
        return config
    try:
        view = _find_offered(str(name))
        view.check(TEXTS)
    except InputError as error:
        raise RunStopped(f"{config.get('task')}: {error}") from None
    show = config.get("doc_to_visual")
    if not callable(show):
        raise RunStopped(f"{config.get('task')}: Expected a task that shows videos by doc_to_visual, but it does not.")

    @functools.wraps(show)
    def show_view(*arguments: Any, **named: Any) -> list[Any]:
        visuals = show(*arguments, **named) or ()
        return [_see(view, visual) for visual in visuals] if view.needs_clip else []

    wrapped: dict[str, Any] = {"doc_to_visual": show_view}
    if callable(put := config.get("doc_to_messages")):
        wrapped["doc_to_messages"] = _wrap_messages(put, view)
    if view.suits is not Suits.CLIPS and (ask := _find_ask(config)):
        wrapped["doc_to_text"] = _wrap_text(ask, show, view)
    return {**config, **wrapped}


def _find_offered(name: str) -> View:
    view = find_view(name)
    if view is None or view.suits not in (Suits.CLIPS, Suits.WORDS):
        raise InputError(f"Expected a view, any of {', '.join(VIEWS)}, but got {name!r}.")
    return view


def _find_ask(config: Mapping[str, Any]) -> Callable[..., str] | None:
    """Return the function that makes a row's prompt, which may be a template or a column's name; None without any."""
    ask = config.get("doc_to_text")
    if not isinstance(ask, str):
        return ask if callable(ask) else None
    template = ask

    def render(doc: Mapping[str, Any], settings: object = None) -> str:
        from lmms_eval.utils import apply_template

        return str(doc[template] if template in doc else apply_template(template, doc))

    return render


def _wrap_messages(doc_to_messages: Callable[..., Any], view: View) -> Callable[..., Any]:
    def see_part(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        if part.get("type") not in ("video", "image"):
            return [part]
        clip = part.get("url")
        if (text := view.in_place_of(clip, TEXTS)) is not None:
            return [{"type": "text", "text": text}]
        if not view.needs_clip:
            return []
        seen = _see(view, clip)
        return [{"type": "video" if isinstance(seen, str) else "image", "url": seen}]

    def change(content: Any) -> Any:
        return [seen for part in content for seen in see_part(part)] if isinstance(content, list) else content

    @functools.wraps(doc_to_messages)
    def put(doc: Any, *arguments: Any, **named: Any) -> Any:
        with _stopping():
            messages = doc_to_messages(view.rewrite(doc, TEXTS), *arguments, **named)
            view.check_prompt(doc, "\n".join(_texts(messages)), TEXTS)
        return [{**message, "content": change(message.get("content"))} for message in messages]

    return put


def _wrap_text(doc_to_text: Callable[..., Any], doc_to_visual: Callable[..., Any], view: View) -> Callable[..., str]:
    @functools.wraps(doc_to_text)
    def ask(doc: Any, *arguments: Any, **named: Any) -> str:
        def find_clips() -> Sequence[Any]:
            settings = arguments or tuple(named.values())
            takes_settings = len(inspect.signature(doc_to_visual).parameters) > 1
            visuals: Sequence[Any] = doc_to_visual(doc, *settings[:1]) if takes_settings else doc_to_visual(doc)
            return visuals

        with _stopping():
            text = str(doc_to_text(view.rewrite(doc, TEXTS), *arguments, **named))
            view.check_prompt(doc, text, TEXTS)
            return view.put(Item(doc, find_clips), lambda: text, TEXTS)

    return ask


@contextmanager
def _stopping() -> Iterator[None]:
    """End the run where a row or its prompt does not fit the view."""
    try:
        yield
    except InputError as error:
        raise RunStopped(str(error)) from None


def _texts(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        yield from (str(part.get("text", "")) for part in parts if part.get("type") == "text")


def _see(view: View, visual: Any) -> Any:
    return see(view, _clip(visual), {}, OTHERS)


def _caption(visual: Any) -> str:
    name = _clip(visual).name
    caption = read_captions().get(name)
    if caption is None:
        raise RunStopped(f"Expected a caption of every clip, but there is none of {name}.")
    return caption


TEXTS = Texts(read_prompt, _caption, read_captions)


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
    tasks: tuple[str, ...]
    groups: tuple[str, ...]


def write_views(names: Sequence[str], views: Sequence[str], out: Path, include_path: str | None = None) -> WrittenViews:
    """Write a file for each view of each task, and for each view of the groups that they are named by."""
    from lmms_eval.tasks import TaskManager

    # lmms-eval takes no notice of a folder that is not there.
    if include_path is not None and not Path(include_path).is_dir():
        raise InputError(f"Expected a folder with further tasks, but there is no folder {include_path}.")
    for view in views:
        _find_offered(view)
    index = TaskManager(include_path=include_path).task_index
    problems, tasks, groups = Problems(), dict[str, str](), dict[str, str]()
    for name in _find_members(index, names, problems):
        path = index[name]["yaml_path"]
        config = _read(path) if isinstance(path, str) else {}
        if index[name]["type"] in GROUPS:
            for view in views:
                members = [_view_member(one, view) for one in _members(index, name)]
                viewed = {"group": name_view(name, view), "group_alias": None, "task": members}
                groups[name_view(name, view)] = _as_yaml(path, viewed)
        elif registry().find_task(name):
            problems.add(name, f"Expected somebody else's task, but its views are there already: {name}_{views[0]}.")
        elif "doc_to_visual" not in config:
            problems.add(name, "Expected a task that shows videos by doc_to_visual, but it has none.")
        else:
            metadata = config.get("metadata")
            known = metadata if isinstance(metadata, Mapping) else {}
            for view in views:
                task_view = {"task": name_view(name, view), "metadata": {**known, KEY: view}}
                tasks[name_view(name, view)] = _as_yaml(path, task_view)
    problems.raise_if_any("Views cannot be written", "nothing was written")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in {**tasks, **groups}.items():
        write_file(out / f"{name}.yaml", text)
    return WrittenViews(tuple(tasks), tuple(groups))


def _view_member(member: Member, view: str) -> Member:
    if isinstance(member, str):
        return name_view(member, view)
    named: dict[str, Any] = {
        key: name_view(member[key], view) for key in ("group", "task") if isinstance(member.get(key), str)
    }
    if isinstance(member["task"], list):
        named["task"] = [_view_member(one, view) for one in member["task"]]
    return {**member, **named}


def _as_yaml(path: object, values: Mapping[str, Any]) -> str:
    included = {"include": str(Path(path).resolve())} if isinstance(path, str) else {}
    return yaml.safe_dump({**included, **values}, allow_unicode=True, sort_keys=False)


def _find_members(index: Mapping[str, Any], names: Sequence[str], problems: Problems) -> Iterator[str]:
    """Yield the tasks, groups and tags of names and patterns, and all of those within them, each once."""
    from lmms_eval.utils import pattern_match

    def names_of(member: Member) -> Iterator[str]:
        if isinstance(member, str):
            yield member
        else:
            inner = member["task"]
            yield from [inner] if isinstance(inner, str) else (name for one in inner for name in names_of(one))

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
            waiting += [task for one in _members(index, name) for task in names_of(one)]


def _members(index: Mapping[str, Any], name: str) -> list[Member]:
    entry = index[name]
    members: list[Member] = entry["task"] if entry["type"] == "tag" else _read(entry["yaml_path"]).get("task", [])
    return members


def _read(path: str) -> dict[str, Any]:
    from lmms_eval.utils import load_yaml_config

    config: dict[str, Any] = load_yaml_config(path, mode="simple")
    return config
