"""Which requests show the same clips in the same way, so that these have to be read only once for all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lmms_eval.api.instance import Instance
from lmms_eval.protocol import ChatMessages, ChatVideoContent
from PIL.Image import Image

from lmms_eval_tasks.host.asking.throughput import is_padding


class ShownVideo(NamedTuple):
    """A video as messages show it."""

    path: str
    start: float | None
    end: float | None


class ShownMedia(NamedTuple):
    """Media shown by messages."""

    videos: tuple[ShownVideo, ...]
    pictures: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ClipQuestion:
    """One request of lmms-eval."""

    place: int
    task: str
    item: str
    generation: Mapping[str, Any]
    read: Callable[[], ChatMessages]


@dataclass(frozen=True)
class ClipGroup:
    """Requests that show the same."""

    media: ShownMedia
    questions: tuple[ClipQuestion, ...]


def group_by_clip(requests: Sequence[Instance], task_dict: Mapping[str, Any]) -> list[ClipGroup]:
    """Put requests that show the same together, in the order in which each clip is first asked about, without
    padding."""
    groups: dict[ShownMedia, list[ClipQuestion]] = {}
    for place, request in enumerate(requests):
        if is_padding(request):
            continue
        _, to_messages, generation, doc_id, task, split = request.args
        doc = task_dict[task][split][doc_id]
        item = doc.get("item_id", doc_id) if isinstance(doc, Mapping) else doc_id
        read = partial(_read_messages, to_messages, doc)
        groups.setdefault(media_of(read()), []).append(ClipQuestion(place, task, str(item), generation, read))
    return [ClipGroup(media, tuple(questions)) for media, questions in groups.items()]


def media_of(messages: ChatMessages) -> ShownMedia:
    """Media shown by messages."""
    parts = [part for message in messages.messages for part in message.content]
    videos = (
        ShownVideo(one.url if isinstance(one.url, str) else str(one.url), one.start_time, one.end_time)
        for one in parts
        if isinstance(one, ChatVideoContent)
    )
    images, _, _ = messages.extract_media()
    return ShownMedia(tuple(videos), tuple(map(_digest, images)))


def _read_messages(to_messages: Callable[[Any], Any], doc: Any) -> ChatMessages:
    return ChatMessages(messages=to_messages(doc))


def _digest(picture: Any) -> str:
    if not isinstance(picture, Image):
        return str(picture)
    return f"{picture.mode} {picture.size} {hashlib.sha256(picture.tobytes()).hexdigest()}"
