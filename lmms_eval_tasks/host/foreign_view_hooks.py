"""Views of tasks that are not ours: their hooks are wrapped when lmms-eval reads a configuration that names a view."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lmms_eval_tasks.host.captions import CAPTIONED, read_captions
from lmms_eval_tasks.host.hidden_questions import check_hidden, hide_question
from lmms_eval_tasks.host.ranks import RunStopped
from lmms_eval_tasks.host.view_media import see
from lmms_eval_tasks.installed.prompts import read_prompt
from lmms_eval_tasks.utils.benchmark.views import VIEWS, View, find_view
from lmms_eval_tasks.utils.core.problems import InputError

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
    """What makes a row's prompt: a hook, or as lmms-eval has it a template or a column's name; None without any."""
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
    """What a view shows of one of a task's visuals."""
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
