"""Removes questions that can be answered without the clip, and those that can be answered without their evidence.

Source: CaST-Bench, supplement, 10.6: a text filter, then a filter on the clip with the boxes of the question's subject
and of all evidence masked, where "unable to determine" is among the options.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from string import ascii_uppercase

from pydantic import Field

from lmms_eval_tasks.build.cast_bench.clock import clock
from lmms_eval_tasks.build.cast_bench.config import BLIND_SOLVER, MASKED_SOLVER, CastBenchConfig
from lmms_eval_tasks.build.cast_bench.pictures import Picture, blacken, spread_seconds
from lmms_eval_tasks.build.cast_bench.release import released_evidence, subject_evidence
from lmms_eval_tasks.build.cast_bench.rows import OptionsRow
from lmms_eval_tasks.build.cast_bench.selection import clip_images
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Forecast, PaperCount, Removed, RowStep
from lmms_eval_tasks.cast_bench.masked import UNABLE, timed_boxes
from lmms_eval_tasks.utils.data.made import TimedBox


class Choice(Form):
    """The letter of one of the six options."""

    choice: str = Field(pattern="^[A-F]$")


class ChoiceOrUnable(Form):
    """The letter of one of the six options, or of the one that says that it cannot be determined."""

    choice: str = Field(pattern="^[A-G]$")


class TextFilter(RowStep[OptionsRow, OptionsRow]):
    """Removes questions that a model answers right from the words alone."""

    name = "text filter"
    takes = gives = OptionsRow
    roles = (BLIND_SOLVER,)
    forecast = Forecast(requests=1, characters=900, reply_tokens=20, rows=0.6)

    def run(self, row: OptionsRow, asking: Asking) -> list[OptionsRow]:
        """The question, if it needs its clip."""
        reply = asking.ask(
            BLIND_SOLVER, "cast_bench_without_clip", Choice,
            question=row.asked.question, options=_lettered([option.text for option in row.options]),
        )  # fmt: skip
        if reply.choice == ascii_uppercase[row.key]:
            raise Removed("answered right without the clip")
        return [row]


class MaskFilter(RowStep[OptionsRow, OptionsRow]):
    """Removes questions that a model answers right although the subject and all evidence are black."""

    name = "video-mask filter"
    takes = gives = OptionsRow
    roles = (MASKED_SOLVER,)
    paper = PaperCount("about 40% after both filters", "10.1-10.6")
    forecast = Forecast(requests=1, characters=1100, images=14, reply_tokens=20, rows=0.67)

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: OptionsRow, asking: Asking) -> list[OptionsRow]:
        """The question, if it needs its evidence."""
        clip, config = row.asked.clip, self._config
        seconds = spread_seconds(range(clip.last + 1), config.frames)
        boxes = masked_boxes(row)

        def mask(second: int, picture: Picture) -> Picture:
            return blacken(picture, second, boxes)

        images = clip_images(clip, seconds, config, asking, mask)
        reply = asking.ask(
            MASKED_SOLVER, "cast_bench_masked_clip", ChoiceOrUnable, images,
            seconds=[clock(second) for second in seconds], question=row.asked.question,
            options=_lettered([*(option.text for option in row.options), UNABLE]),
        )  # fmt: skip
        if reply.choice == ascii_uppercase[row.key]:
            raise Removed("answered right with its evidence masked")
        return [row]


def masked_boxes(row: OptionsRow) -> list[TimedBox]:
    """Return the times and boxes at which a clip is black: those of all evidence, and of the subject while the question
    is about it."""
    evidence = [*released_evidence(row.asked), *subject_evidence(row.asked)]
    return timed_boxes({"evidence": json.dumps(evidence)})


def _lettered(options: Sequence[str]) -> dict[str, str]:
    return dict(zip(ascii_uppercase, options, strict=False))
