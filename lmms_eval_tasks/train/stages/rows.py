"""Rows of a training set, in the form that ms-swift reads: messages, videos, and columns for rewards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.errors import GroupedIssues
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.text import describe

VIDEO_TAG = "<video>"
"""Where ms-swift puts the clip into a message."""
MEDIA_TAGS = (VIDEO_TAG, "<image>", "<audio>")
OWN_COLUMNS = ("messages", "videos")


@dataclass(frozen=True)
class TrainingItem:
    """A question to train on."""

    item_id: str
    clip: Path
    prompt: str
    response: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""

    def row(self) -> dict[str, Any]:
        """The row for ms-swift."""
        messages = [{"role": "user", "content": f"{VIDEO_TAG}{self.prompt}"}]
        if self.response is not None:
            messages.append({"role": "assistant", "content": self.response})
        return {"messages": messages, "videos": [str(self.clip.absolute())], **self.columns}


def check_items(items: Iterable[TrainingItem], issues: GroupedIssues) -> None:
    """Note items that ms-swift could not train on: clips that are not there, texts with its marks for media."""
    present: dict[Path, bool] = {}
    for item in items:
        if item.clip not in present:
            present[item.clip] = item.clip.is_file()
            if not present[item.clip]:
                issues.add("clips", "Expected each to be there, but there is no", str(item.clip))
        for tag in MEDIA_TAGS:
            if tag in item.prompt or tag in (item.response or ""):
                issues.add("texts", f"Expected none with {tag}, which ms-swift takes for a clip, but got", item.item_id)
        if clash := [name for name in OWN_COLUMNS if name in item.columns]:
            issues.add("columns", "Expected other names, but got", f"{describe(clash[0])} ({item.item_id})")


def write_items(path: Path, items: Sequence[TrainingItem]) -> None:
    """Write the rows as JSON lines, whole or not at all."""
    write_file(path, as_lines(item.row() for item in items))
