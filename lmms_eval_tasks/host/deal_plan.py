"""Which rank is asked which questions: all questions of a clip go to one rank, and ranks get equal seconds of video."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lmms_eval_tasks.utils.core.dealing import deal, join

QUESTION = 0.15
"""What a question costs beside its clip, as a share of encoding a clip of mean length: about what a further question
about the same 2,400 tokens of video took of the first one's time, on a CPU with 130 M parameters."""


class Encode(NamedTuple):
    """What a model has to encode of a clip."""

    clip: Path
    seen: str
    is_video: bool = True


@dataclass(frozen=True)
class Deal:
    """The questions and clips of each rank."""

    ranks: tuple[int, ...]
    clips: tuple[Mapping[Path, float], ...]

    def seconds(self, rank: int) -> float:
        """How many seconds of video a rank's clips have together, each counted once."""
        return sum(self.clips[rank].values())


def deal_questions(questions: Sequence[Sequence[Encode]], lengths: Mapping[Path, float | None], ranks: int) -> Deal:
    """Deal questions to ranks, the most expensive clip first and each to the rank with the least to do."""
    shown = {encode.clip for encodes in questions for encode in encodes}
    known = [length for clip in shown if (length := lengths.get(clip)) is not None]
    mean = sum(sorted(known)) / len(known) if known else 1.0
    seconds = dict.fromkeys(shown, mean)
    seconds |= {clip: length for clip in shown if (length := lengths.get(clip)) is not None}

    def cost(unit: Sequence[int]) -> float:
        encodes = {encode for question in unit for encode in questions[question] if encode.is_video}
        return sum(sorted(seconds[encode.clip] for encode in encodes)) + QUESTION * mean * len(unit)

    def name(unit: Sequence[int]) -> tuple[str, int]:
        return min((str(encode.clip) for encode in questions[unit[0]]), default=""), unit[0]

    units = sorted(join([[encode.clip for encode in encodes] for encodes in questions]), key=name)
    dealt = [0] * len(questions)
    for unit, rank in zip(
        units, deal([cost(unit) for unit in units], [len(unit) for unit in units], ranks), strict=True
    ):
        for question in unit:
            dealt[question] = rank
    clips: list[dict[Path, float]] = [{} for _ in range(ranks)]
    for question, rank in enumerate(dealt):
        clips[rank].update((encode.clip, seconds[encode.clip]) for encode in questions[question])
    return Deal(tuple(dealt), tuple(clips))
