"""Clips in which several people act apart, taken and lit well, in one shot: by measures, then by a model.

Source: CaST-Bench, supplement, 10.1. The measures, their limits and the wording are ours.
"""

from __future__ import annotations

from collections.abc import Callable

from lmms_eval_tasks.build.cast_bench.clock import clock
from lmms_eval_tasks.build.cast_bench.config import SELECTOR, CastBenchConfig
from lmms_eval_tasks.build.cast_bench.measures import measure_clip
from lmms_eval_tasks.build.cast_bench.pictures import Picture, jpegs_at, spread_seconds
from lmms_eval_tasks.build.cast_bench.rows import ClipRow
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Forecast, PaperCount, Removed, RowStep
from lmms_eval_tasks.utils.data.release import UnreadableClip

LEAST_INSTANCES = 2


def as_it_is(second: int, picture: Picture) -> Picture:
    """A picture, unchanged."""
    return picture


class ClipVerdict(Form):
    """Verdict of a model on a clip."""

    several_people_act_apart: bool
    shaken: bool
    whip_pans: bool
    tilted: bool
    badly_lit: bool
    cut: bool
    blurred: bool


class MeasureClips(RowStep[ClipRow, ClipRow]):
    """Removes clips that are cut, shaken or blurred by measure, and those in which fewer than two are tracked."""

    name = "clips by measure"
    takes = gives = ClipRow

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: ClipRow, asking: Asking) -> list[ClipRow]:
        """The clip, if it is one."""
        config = self._config
        if sum(bool(one.boxes) for one in row.instances) < LEAST_INSTANCES:
            raise Removed("fewer than two instances in the tracks", row.clip)
        if not row.width:
            raise Removed("unreadable clip", row.clip)
        try:
            with asking.heavy():
                measures = measure_clip(config.clips / row.clip)
        except UnreadableClip as error:
            raise Removed("unreadable clip", row.clip) from error
        if measures.shake > config.largest_shake:
            raise Removed("camera shake", f"a shake of {measures.shake:.4f}")
        if measures.jump > config.largest_jump:
            raise Removed("cut", f"a jump of {measures.jump:.3f}")
        if measures.blur > config.largest_blur:
            raise Removed("blur", f"a blur of {measures.blur:.3f}")
        return [row]


class SelectClips(RowStep[ClipRow, ClipRow]):
    """Keeps the clips of which a model says that several people act apart, and that no fault is seen."""

    name = "clip selection"
    takes = gives = ClipRow
    roles = (SELECTOR,)
    paper = PaperCount("1,015", "10.1-10.6")
    forecast = Forecast(requests=1, characters=1000, images=14, reply_tokens=60)

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: ClipRow, asking: Asking) -> list[ClipRow]:
        """The clip, if a model finds it fit."""
        seconds = spread_seconds(range(row.last + 1), self._config.frames)
        images = clip_images(row, seconds, self._config, asking)
        verdict = asking.ask(
            SELECTOR, "cast_bench_selection", ClipVerdict, images, seconds=[clock(second) for second in seconds]
        )
        for fault, holds in (
            ("model: no several people who act apart", not verdict.several_people_act_apart),
            ("model: camera shake", verdict.shaken),
            ("model: whip pans", verdict.whip_pans),
            ("model: tilt", verdict.tilted),
            ("model: bad light", verdict.badly_lit),
            ("model: cut", verdict.cut),
            ("model: blur", verdict.blurred),
        ):
            if holds:
                raise Removed(fault, row.clip)
        return [row]


def clip_images(
    row: ClipRow,
    seconds: list[int],
    config: CastBenchConfig,
    asking: Asking,
    change: Callable[[int, Picture], Picture] = as_it_is,
) -> list[bytes]:
    """Return the pictures of a clip at some seconds as JPEG files."""
    try:
        with asking.heavy():
            return jpegs_at(config.clips / row.clip, seconds, config.side, change)
    except UnreadableClip as error:
        raise Removed("unreadable clip", row.clip) from error
