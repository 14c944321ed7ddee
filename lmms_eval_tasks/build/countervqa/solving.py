"""Leaves out what simpler models solve from frames of the clip.

Source: CounterVQA (arXiv 2511.19923), appendix D: questions that simpler vision-language models solve are dropped.
Which models, how many, and what they see of a clip is not said there; here a question goes where all that are named are
right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from lmms_eval_tasks.build.countervqa.rows import TakeQuestion
from lmms_eval_tasks.build.countervqa.verification import VerifyingAnswer
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.steps import Removed, RowStep
from lmms_eval_tasks.countervqa.hooks import clock
from lmms_eval_tasks.utils.data.frames import clip_frames
from lmms_eval_tasks.utils.data.release import UnreadableClip

FRAMES = 8
"""Of a clip, evenly spread. Ours."""
SOLVED = "simpler models solve it"
NO_CLIP = "the clip cannot be read"
PROMPT = "countervqa_solving"
CLIPS_AT_ONCE = 8
"""Whose frames are in memory: the questions about a clip follow each other."""

ReadFrames = Callable[[Path, int], tuple[tuple[bytes, ...], list[float]]]


class LeaveOutSolved(RowStep[TakeQuestion, TakeQuestion]):
    """Leaves out what all models answer rightly from frames; each is asked what all before it answered rightly."""

    name = "simpler models"
    takes = gives = TakeQuestion

    def __init__(self, roles: Sequence[str], clips: Path, frames: int) -> None:
        self.roles = tuple(roles)
        self._clips, self._frames = clips, frames
        self._read: ReadFrames = lru_cache(maxsize=CLIPS_AT_ONCE)(clip_frames)

    def run(self, row: TakeQuestion, asking: Asking) -> Sequence[TakeQuestion]:
        """Have the models answer one question."""
        try:
            with asking.heavy():
                images, seconds = self._read(self._clips / row.take.clip, self._frames)
        except (OSError, UnreadableClip):
            asking.leave_out(self.roles[0], PROMPT, NO_CLIP)
            return [row]
        shown = {"question": row.question.question, "frames": [clock(second) for second in seconds]}
        for role in self.roles:
            try:
                reply = asking.ask(role, PROMPT, VerifyingAnswer, images, **shown)
            except Removed:
                return [row]
            if reply.answer != row.question.verdict:
                return [row]
        raise Removed(SOLVED)
