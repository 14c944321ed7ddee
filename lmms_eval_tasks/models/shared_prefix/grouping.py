"""Which requests show the same clip in the same way, so that it has to be read only once for all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval.api.instance import Instance
from lmms_eval.protocol import ChatMessages
from PIL.Image import Image

from lmms_eval_tasks.host.padding import is_padding
from lmms_eval_tasks.utils.data.clips import clip_seconds

Media = tuple[str, ...]
"""What a request shows, in order: the files of its videos, and digests of its pictures."""


@dataclass(frozen=True, eq=False)
class ClipQuestion:
    """One request of lmms-eval.

    Attributes:
        place: Its place among the requests.
        task: Name of its task.
        item: Id of its item; the number of its document where that is somebody else's.
        generation: How an answer is generated.
        read: Builds the chat messages anew, so that pictures are not held while others are answered.
    """

    place: int
    task: str
    item: str
    generation: Mapping[str, Any]
    read: Callable[[], ChatMessages]


@dataclass(frozen=True)
class ClipGroup:
    """Requests that show the same.

    Attributes:
        media: What they show.
        questions: The requests, in lmms-eval's order.
        seconds: Length of the videos together; 0 where there is none, or its header states none.
    """

    media: Media
    questions: tuple[ClipQuestion, ...]
    seconds: float


def group_by_clip(requests: Sequence[Instance], task_dict: Mapping[str, Any]) -> list[ClipGroup]:
    """Put requests that show the same together, in the order in which each clip is first asked about, without padding.

    Args:
        requests: lmms-eval's, each with ``(prompt, doc_to_messages, generation, doc_id, task, split)``.
        task_dict: Task to split to documents.
    """
    groups: dict[Media, list[ClipQuestion]] = {}
    for place, request in enumerate(requests):
        if is_padding(request):
            continue
        _, to_messages, generation, doc_id, task, split = request.args
        doc = task_dict[task][split][doc_id]

        def read(to_messages: Callable[[Any], Any] = to_messages, doc: Any = doc) -> ChatMessages:
            return ChatMessages(messages=to_messages(doc))

        item = doc.get("item_id", doc_id) if isinstance(doc, Mapping) else doc_id
        groups.setdefault(media_of(read()), []).append(ClipQuestion(place, task, str(item), generation, read))
    return [ClipGroup(media, tuple(questions), _seconds(media)) for media, questions in groups.items()]


def media_of(messages: ChatMessages) -> Media:
    """What messages show."""
    images, videos, _ = messages.extract_media()
    return (*map(_name, videos), *map(_name, images))


def _name(shown: Any) -> str:
    if not isinstance(shown, Image):
        return str(shown)
    return f"{shown.mode} {shown.size} {hashlib.sha256(shown.tobytes()).hexdigest()}"


def _seconds(media: Media) -> float:
    files = [path for path in map(Path, media) if path.suffix and path.is_file()]
    return sum(clip_seconds(path) or 0.0 for path in files)
