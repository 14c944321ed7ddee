"""Pairs that single frames solve, found with the rule of `filter single-frame`.

Source: the paper's section 3 and appendix C.3: models give their best guess by common sense from a frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmms_eval_tasks.build.curation.shortcuts import single_frame_filter
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.steps import Forecast, PaperCount, Removed, RowStep
from lmms_eval_tasks.build.mvp.config import MvpBuildConfig
from lmms_eval_tasks.build.mvp.rows import MinimalPair, PairedClip
from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.pictures import as_jpeg
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.scoring.record import FRAME, Outcome, Record

LETTERS = ("A", "B")
SIDE = 512
"""Pixels of a frame's longer side, at most."""

_REPLY = re.compile(r"(?:ANSWER:)?\s*(A|B)\s+END\.?", re.IGNORECASE)


class FilterSingleFrames(RowStep[MinimalPair, MinimalPair]):
    """Removes pairs both of whose clips vision models tell from single frames."""

    name = "single-frame filter"
    takes = MinimalPair
    gives = MinimalPair
    paper = PaperCount("about 20% out", "C.3")

    def __init__(self, config: MvpBuildConfig) -> None:
        self._config = config
        self._filter = config.single_frame
        asked = 2.0 * self._filter.frames * len(self._filter.roles)
        self.roles = self._filter.roles
        self.forecast = Forecast(requests=asked, characters=900, images=1, reply_tokens=10, rows=0.8)

    def run(self, row: MinimalPair, asking: Asking) -> Sequence[MinimalPair]:
        """Ask about frames of one clip, and where they tell it, of the other."""
        shares = []
        for clip in row.clips:
            records = list(self._ask(row, clip, asking))
            models = {role: {row.id: [one for name, one in records if name == role]} for role in self._filter.roles}
            (group,) = single_frame_filter(models, self._filter.model_share, self._filter.frame_share)
            if not group.removed:
                return [row]
            shares.append(group.why.rpartition(": ")[2])
        raise Removed("single frames tell both clips", f"solvable frames: {' and '.join(shares)}")

    def _ask(self, row: MinimalPair, clip: PairedClip, asking: Asking) -> Iterator[tuple[str, Record]]:
        """Each model's answer to each frame of a clip."""
        try:
            with asking.heavy():
                reader = PyavFrames(self._config.videos / clip.clip, threads=1)
                chosen = frame_numbers(reader.count, self._filter.frames)
                images = [as_jpeg(picture, SIDE) for picture in reader.read(chosen)]
        except UnreadableClip as error:
            raise Removed("a clip that cannot be decoded", str(error)) from error
        key = LETTERS[row.candidates.index(clip.answer)]
        options = dict(zip(LETTERS, row.candidates, strict=True))
        for number, image in zip(chosen, images, strict=True):
            for role in self._filter.roles:
                answered = asking.ask_text(
                    role, "mvp_single_frame", read_letter, [image], question=row.question, options=options
                )
                outcome = Outcome.CORRECT if answered == key else Outcome.WRONG
                yield role, Record(clip.id, clip.id, {}, key, answered, outcome, fields={FRAME: number})


def frame_numbers(count: int, wanted: int) -> list[int]:
    """Frames at equal distances, half a distance from both ends; one alone is the middle one, all of a short clip."""
    return sorted({int((place + 0.5) * count / wanted) for place in range(wanted)})


def read_letter(text: str) -> str:
    """The answer in a reply, A or B: whoever is asked has to guess."""
    reply = content(text)
    if not reply.rstrip(".").upper().endswith("END"):
        raise UnreadableReply("missing END")
    match = _REPLY.fullmatch(reply)
    if match is None:
        raise UnreadableReply("another form")
    return match[1].upper()
