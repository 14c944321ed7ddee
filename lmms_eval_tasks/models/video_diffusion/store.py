"""Pairs of clips, and answers about them on disk, so that a run that was killed goes on where it stopped."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.denoising.response import read_denoising

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClipPair:
    """A clip, its reversal and the forward clip's caption."""

    item_id: str
    forward: Path
    backward: Path
    caption: str


class AnswerStore:
    """Keeps answers below a folder of their settings; several processes may share it.

    Args:
        root: The cache's folder; None keeps nothing.
        digest: Digest of the settings, the folder's name.
    """

    def __init__(self, root: Path | None, digest: str) -> None:
        self.folder = None if root is None else root / digest

    def _path(self, pair: ClipPair) -> Path | None:
        """The file of a pair, named by its id, its caption and what is in its clips; None where nothing is kept."""
        clips = (pair.forward, pair.backward)
        if self.folder is None or not all(clip.is_file() for clip in clips):
            return None
        key = "\0".join([pair.item_id, pair.caption, *map(file_sha256, clips)])
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def get(self, pair: ClipPair) -> str | None:
        """The answer kept for a pair; None where there is none, or it is not whole or cannot be read."""
        try:
            path = self._path(pair)
            if path is None or not path.is_file():
                return None
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            logger.warning(f"the kept answer about {pair.item_id} cannot be looked for: {error}")
            return None
        answer = read_denoising(text)
        return text if answer is not None and answer.item_id == pair.item_id else None

    def put(self, pair: ClipPair, text: str) -> None:
        """Keep an answer; the file appears whole or not at all.

        Where it cannot be kept (a full disk), the run goes on, with a warning that the pair would be measured again.
        """
        try:
            if path := self._path(pair):
                write_file(path, text)
        except OSError as error:
            logger.warning(f"the answer about {pair.item_id} cannot be kept and would be measured again: {error}")
