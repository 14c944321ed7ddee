"""Answers of a model in a folder that runs and ranks may share, each by what was asked of which model."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_tasks.host.failed_requests import is_answer
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.kept_values import KeptValues
from lmms_eval_tasks.utils.core.redaction import hide_secrets
from lmms_eval_tasks.utils.core.variables import ANSWERS
from lmms_eval_tasks.utils.data.content import content_digest
from lmms_eval_tasks.utils.data.home import home

_CANONICAL = json.JSONEncoder(sort_keys=True, default=str)
FOLDER = "answers"
MODEL = "model.json"


def answers_folder(output_path: str | None) -> Path | None:
    """Where a run keeps answers: $LMMS_EVAL_TASKS_ANSWERS, else in its output path, else in the data home."""
    chosen = os.environ.get(ANSWERS)
    if chosen:
        return None if chosen.lower() == "none" else Path(chosen).expanduser().absolute()
    return (Path(output_path).expanduser().absolute() if output_path else home()) / FOLDER


def log_kept(count: int, folder: Path) -> None:
    """Say how many answers are not asked for again, on all ranks together."""
    if count:
        logger.info("{:,} {} kept from before ({}).", count, "answer" if count == 1 else "answers", folder)


@dataclass(frozen=True)
class ItemRequest:
    """One request about an item."""

    key: str
    task: str
    item_id: str
    repeat: int
    clips: tuple[Path, ...]


class AnswerFiles:
    """The answers of one model."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self._identity, self._model = identity, digest(identity)
        self.folder = folder / self._model[:16]
        self._values = KeptValues(self.folder)
        self._can_write = True

    def find(self, items: Sequence[ItemRequest | None]) -> list[Any]:
        """The answer to each item with the same clips, as a model returns it; None where there is none."""
        keys = [item and self._key(item) for item in items]
        kept = self._values.read({key for key in keys if key})
        return [self._read(kept[key]) if key in kept else None for key in keys]

    def _read(self, value: Mapping[str, Any]) -> Any:
        from lmms_eval.api.instance import GenerationResult, TokenCounts

        try:
            text, tokens = value["text"], value["tokens"]
            if not isinstance(text, str):
                raise TypeError(f"Expected a text, but got {text!r}.")
            if not is_answer(text):  # kept by an earlier version
                return None
            return text if tokens is None else GenerationResult(text, TokenCounts(**tokens))
        except (TypeError, KeyError) as error:
            logger.warning("An answer kept in {} cannot be read and is asked again ({}).", self.folder, error)
            return None

    def keep(self, item: ItemRequest, response: Any) -> None:
        """Keep an answer; an empty one and what stands in place of one are not kept, and the next run asks again."""
        from lmms_eval.api.instance import unwrap_generation_output

        text, counts = unwrap_generation_output(response)
        if not self._can_write or not is_answer(text):
            return
        key = self._key(item)
        if key is None:  # the clip has gone: nobody could say what the answer is about
            return
        value = {"task": item.task, "item": item.item_id, "repeat": item.repeat, "text": text}
        value["tokens"] = None if counts is None else asdict(counts)
        self._write(lambda: self._values.keep(key, value))

    def close(self) -> None:
        """Put the answers that were kept on the disk; where that fails, as for `keep`."""
        if self._can_write:
            self._write(self._values.close)

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self._can_write = False
            logger.warning("Answers cannot be kept: if this run is interrupted, it starts again ({}).", error)

    def write_identity(self) -> None:
        """Write down, for people, which model the answers are of."""
        path = self.folder / MODEL
        try:
            if not path.is_file():
                if any(path.parent.parent.glob(f"*/{MODEL}")):
                    logger.info(
                        "The answers kept in {} are of other models, arguments or software; each {} says which.",
                        path.parent.parent,
                        MODEL,
                    )
                text = json.dumps(self._identity, ensure_ascii=False, indent=2, default=str)
                write_file(path, hide_secrets(text, os.environ).encode("utf-8", "replace"))
        except OSError as error:
            logger.debug("{} cannot be written ({}).", path, error)

    def _key(self, item: ItemRequest) -> str | None:
        """What an answer to an item is kept by; None where one of its clips cannot be read."""
        try:
            clips = [content_digest(clip) for clip in item.clips]
        except OSError:
            return None
        return hashlib.sha256("\0".join((self._model, item.key, *clips)).encode()).hexdigest()


def digest(value: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, in hexadecimal."""
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()
