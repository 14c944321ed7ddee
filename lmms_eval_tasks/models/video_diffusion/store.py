"""Answers on disk, one file per pair, so that a run that was killed goes on where it stopped."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from pathlib import Path

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.denoising.response import read_denoising

logger = logging.getLogger(__name__)


class AnswerStore:
    """Keeps answers below a folder of their settings; several processes may share it.

    Args:
        root: The cache's folder; None keeps nothing.
        digest: Digest of the settings, the folder's name.
    """

    def __init__(self, root: Path | None, digest: str) -> None:
        self.folder = None if root is None else root / digest

    def _path(self, item_id: str, caption: str, clips: Iterable[Path]) -> Path | None:
        """The file of a pair, named by its id, its caption and what is in its clips; None where nothing is kept."""
        if self.folder is None or not all(clip.is_file() for clip in clips):
            return None
        key = "\0".join([item_id, caption, *(file_sha256(clip) for clip in clips)])
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def get(self, item_id: str, caption: str, clips: tuple[Path, ...]) -> str | None:
        """The answer kept for a pair; None where there is none, or it is not whole or cannot be read."""
        try:
            path = self._path(item_id, caption, clips)
            if path is None or not path.is_file():
                return None
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            logger.warning(f"the kept answer about {item_id} cannot be looked for: {error}")
            return None
        answer = read_denoising(text)
        return text if answer is not None and answer.item_id == item_id else None

    def put(self, item_id: str, caption: str, clips: tuple[Path, ...], text: str) -> None:
        """Keep an answer; the file appears whole or not at all.

        Where it cannot be kept (a full disk), the run goes on, with a warning that the pair would be measured again.
        """
        try:
            path = self._path(item_id, caption, clips)
            if path is not None:
                write_file(path, text)
        except OSError as error:
            logger.warning(f"the answer about {item_id} cannot be kept and would be measured again: {error}")
