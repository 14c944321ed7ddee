"""What is asked about clips, and answers about them on disk, so that a run that was killed goes on where it stopped."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.manifest import file_sha256
from lmms_eval_tasks.utils.denoising.clip_losses import ClipLosses, read_clip_losses
from lmms_eval_tasks.utils.denoising.response import DenoisingResponse, read_denoising

Answer = DenoisingResponse | ClipLosses

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AskedClips:
    """The clips of an item, whose losses are to be compared.

    Attributes:
        item_id: The item.
        clips: Its clips.
        caption: The text that they are denoised with.
        noise: What shares its noise: clips of the same see the same.
        form: Which answer is wanted.
    """

    item_id: str
    clips: tuple[Path, ...]
    caption: str
    noise: str
    form: AnswerForm

    @classmethod
    def pair(cls, item_id: str, forward: Path, backward: Path, caption: str) -> AskedClips:
        """A clip, its reversal and the forward clip's caption, with noise of their own."""
        return cls(item_id, (forward, backward), caption, item_id, AnswerForm.LOSSES)

    @classmethod
    def of_group(cls, item_id: str, group_id: str, clips: tuple[Path, ...]) -> AskedClips:
        """Clips without a caption, with the noise of all clips of their group."""
        return cls(item_id, clips, "", group_id, AnswerForm.CLIP_LOSSES)

    def read(self, text: str) -> Answer | None:
        """An answer about them; None where a text is none."""
        if self.form is AnswerForm.CLIP_LOSSES:
            return read_clip_losses(text, len(self.clips))
        answer = read_denoising(text)
        return answer if answer is not None and answer.item_id == self.item_id else None


class AnswerStore:
    """Keeps answers below a folder for each form and settings; several processes may share it.

    Args:
        root: The cache's folder; None keeps nothing.
        digests: Form of an answer to the digest of its settings, the folder's name.
    """

    def __init__(self, root: Path | None, digests: Mapping[AnswerForm, str]) -> None:
        self.root, self._digests = root, digests

    def _path(self, asked: AskedClips) -> Path | None:
        """The file of an answer, named by item, noise, caption and what is in the clips; None where nothing is kept."""
        if self.root is None or not all(clip.is_file() for clip in asked.clips):
            return None
        own_noise = asked.noise == asked.item_id
        named = [asked.item_id, *([] if own_noise else [asked.noise]), asked.caption]
        key = "\0".join([*named, *map(file_sha256, asked.clips)])
        return self.root / self._digests[asked.form] / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def get(self, asked: AskedClips) -> Answer | None:
        """The answer kept about clips; None where there is none, or it is not whole or cannot be read."""
        try:
            path = self._path(asked)
            if path is None or not path.is_file():
                return None
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            logger.warning(f"the kept answer about {asked.item_id} cannot be looked for: {error}")
            return None
        return asked.read(text)

    def put(self, asked: AskedClips, answer: Answer) -> None:
        """Keep an answer; the file appears whole or not at all.

        Where it cannot be kept (a full disk), the run goes on, with a warning that it would be measured again.
        """
        try:
            if path := self._path(asked):
                write_file(path, answer.to_json())
        except OSError as error:
            logger.warning(f"the answer about {asked.item_id} cannot be kept and would be measured again: {error}")
