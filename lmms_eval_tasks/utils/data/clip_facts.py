"""How many frames clips have, or why they cannot be decoded: found out once, and kept by what a clip holds."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.content import content_digest
from lmms_eval_tasks.utils.data.release import UnreadableClip

FORMAT = 1
"""Grows when what is kept changes its meaning."""
CLIP = "{clip}"
"""Stands in a kept reason for the path of the clip, of which there may be several."""

logger = logging.getLogger(__name__)


class ClipFacts:
    """What is known of clips, a small file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, clip: Path, decoded: str) -> int | None:
        """How many frames a clip has; None where that is not known."""
        try:
            fact = json.loads(self._path(clip, decoded).read_text(encoding="utf-8"))
            frames, problem, decoder = fact.get("frames"), fact.get("problem"), fact.get("decoder")
        except (OSError, ValueError, AttributeError):
            return None
        # Another version may decode what this one cannot.
        if isinstance(problem, str) and decoder == _decoder():
            raise UnreadableClip(problem.replace(CLIP, str(clip)))
        return frames if isinstance(frames, int) and frames > 0 else None

    def find_out(self, clip: Path, decoded: str, decode: Callable[[], int]) -> int:
        """Decode a clip, and keep how many frames it has or why it cannot be done; arguments and errors as for
        `find`."""
        path = self._path(clip, decoded)
        try:
            frames = decode()
        except UnreadableClip as error:
            # A disk that fails or memory that runs out says nothing about the clip.
            if not isinstance(error.__cause__, (OSError, MemoryError)):
                self._keep(path, {"problem": str(error).replace(str(clip), CLIP), "decoder": _decoder()})
            raise
        self._keep(path, {"frames": frames})
        return frames

    def _path(self, clip: Path, decoded: str) -> Path:
        key = hashlib.sha256(f"{FORMAT}\0{decoded}\0{digest_clip(clip)}".encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.json"

    def _keep(self, path: Path, fact: dict[str, Any]) -> None:
        try:
            write_file(path, json.dumps(fact))
        except OSError as error:  # it is found out again
            logger.debug("%s cannot be written (%s).", path, error)


def digest_clip(clip: Path) -> str:
    """SHA-256 of a clip's bytes, in hexadecimal."""
    try:
        return content_digest(clip)
    except OSError as error:
        raise UnreadableClip(f"Expected a clip at {clip}, but there is no file that can be read.") from error


def _decoder() -> str:
    import av

    return str(av.__version__)
