"""What is asked about clips, and answers about them on disk, so that a run that was killed goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.answers.losses import ClipLosses, DenoisingResponse, read_clip_losses, read_denoising
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.files import content_digest
from lmms_eval_tasks.utils.core.store import KeptValues

Answer = DenoisingResponse | ClipLosses

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AskedClips:
    """The clips of an item, whose losses are to be compared."""

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
    """Keeps answers below a folder for each form and settings; several processes may share it."""

    def __init__(self, root: Path | None, digests: Mapping[AnswerForm, str]) -> None:
        self.root, self._digests = root, digests
        self._values = {form: KeptValues(root / name) for form, name in digests.items()} if root else {}
        self._known: dict[str, Any] = {}
        """Key to an answer's text; read when it is first asked for."""
        self._read: set[AnswerForm] = set()

    def _key(self, asked: AskedClips) -> str | None:
        """Return the key of an answer, made of settings, item, noise, caption and the content of the clips."""
        if self.root is None:
            return None
        try:
            clips = [content_digest(clip) for clip in asked.clips]
        except OSError:
            return None
        named = [self._digests[asked.form], asked.form.value, asked.item_id, asked.noise, asked.caption, *clips]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()

    def get(self, asked: AskedClips) -> Answer | None:
        """The answer kept about clips; None where there is none, or it cannot be read."""
        key = self._key(asked)
        if key is None:
            return None
        if asked.form not in self._read:
            self._read.add(asked.form)
            self._known |= {name: value.get("answer") for name, value in self._values[asked.form].read().items()}
        text = self._known.get(key)
        return asked.read(text) if isinstance(text, str) else None

    def put(self, asked: AskedClips, answer: Answer) -> None:
        """Keep an answer."""
        key = self._key(asked)
        if key is None:
            return
        text = answer.to_json()
        try:
            self._values[asked.form].keep(key, {"item": asked.item_id, "answer": text})
            self._known[key] = text
        except OSError as error:
            logger.warning(f"the answer about {asked.item_id} cannot be kept and would be measured again: {error}")

    def close(self) -> None:
        """Put the answers that were kept on the disk."""
        for values in self._values.values():
            try:
                values.close()
            except OSError as error:
                logger.warning(f"the last answers may not be on the disk: {error}")
