"""Replies of judges kept on disk, so that a run that is resumed pays for each only once."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.home import home

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reply:
    """A judge's reply."""

    text: str
    model: str


class ReplyCache:
    """Accepted replies by key; threads and processes may share a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or home() / "judge_cache"

    def find(self, key: str) -> Reply | None:
        """The reply kept under a key; None where there is none that can be read."""
        try:
            value = json.loads(self._path(key).read_text(encoding="utf-8"))
            text, model = value["text"], value["model"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            logger.warning("judge cache: %s cannot be read and is asked for again (%s)", self._path(key), error)
            return None
        return Reply(text, model) if isinstance(text, str) and isinstance(model, str) else None

    def store(self, key: str, reply: Reply) -> None:
        """Keep a reply."""
        path = self._path(key)
        try:
            write_file(path, json.dumps(asdict(reply)))
        except OSError as error:
            logger.warning("judge cache: %s cannot be kept and may be paid for again (%s)", path, error)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"
