"""How many questions are answered at once, of one clip and of several of like length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lmms_eval_tasks.models.grouping import ClipGroup, ClipQuestion
from lmms_eval_tasks.models.shared_prefix.inputs import ShownText
from lmms_eval_tasks.models.shared_prefix.sharing import EncodedClip, Prefix, SharedQuestion, width_of
from lmms_eval_tasks.utils.core.errors import InputError

AUTO = "auto"
MOST = 32
"""Most questions that are answered at once where the number is not given."""
ALIKE = 1.25
"""How many times as long as another the prefix of a clip may be that is answered together with it."""
CPU_BYTES = 2_000_000_000
"""Of the caches of questions that are answered at once, where they lie in main memory."""
GPU_SHARE = 0.5
"""Of the device's memory beside the weights that these caches may take."""

Asked = tuple[ClipQuestion, SharedQuestion]
"""A request, and its question as it is answered with others."""


@dataclass(frozen=True)
class ReadClip:
    """A clip whose questions are to be answered."""

    group: ClipGroup
    encoded: EncodedClip
    prefix: Prefix | None = None
    together: tuple[ClipQuestion, ...] = ()

    @property
    def texts(self) -> Mapping[ClipQuestion, ShownText]:
        """Its questions as the model takes them."""
        return dict(zip(self.group.questions, self.encoded.texts, strict=True))

    def rows(self) -> list[Asked]:
        """Questions that can be answered together with others."""
        if self.prefix is None:
            return []
        texts = self.texts
        return [(question, SharedQuestion(self.encoded, self.prefix, texts[question])) for question in self.together]


class Batching:
    """Number of questions answered at once."""

    def __init__(self, most: int | None, device: torch.device) -> None:
        self.is_auto, self.most = most is None, most or MOST
        self.limit = CPU_BYTES
        if device.type == "cuda":
            whole = torch.cuda.get_device_properties(device).total_memory
            self.limit = int(GPU_SHARE * (whole - torch.cuda.memory_allocated(device)))

    def go_together(self, clips: Sequence[ReadClip], arguments: Mapping[str, Any]) -> bool:
        """Whether the questions of clips are answered at once."""
        if any(clip.prefix is None for clip in clips):
            return False
        rows = [row for clip in clips for _, row in clip.rows()]
        lengths = [row.prefix.length for row in rows]
        return max(lengths) <= ALIKE * min(lengths) and len(rows) <= self._fitting(rows, arguments)

    def parts(self, rows: Sequence[Asked], arguments: Mapping[str, Any]) -> Iterator[list[Asked]]:
        """Questions in parts that are answered at once."""
        size = self._fitting([row for _, row in rows], arguments)
        for first in range(0, len(rows), size):
            yield list(rows[first : first + size])

    def _fitting(self, rows: Sequence[SharedQuestion], arguments: Mapping[str, Any]) -> int:
        """Return the number of such questions that fit; at least one."""
        if not self.is_auto:
            return self.most
        tokens = width_of(rows) + arguments["max_new_tokens"]
        row_bytes = tokens * max(row.prefix.token_bytes for row in rows)
        return max(1, min(self.most, int(self.limit / row_bytes)))

    def halve(self, rows: int) -> None:
        """Answer fewer at once from now on, because memory ran out."""
        self.most = min(self.most, (rows + 1) // 2)


def read_batch_size(given: int | str) -> int | None:
    """The most questions that are answered at once; None where memory says so."""
    if given == AUTO or given == 1:
        return None
    if str(given).isdecimal() and int(given) >= 1:
        return int(given)
    raise InputError(f"Expected batch_size to be auto or a whole number from 1 on, but got {given!r}.")
