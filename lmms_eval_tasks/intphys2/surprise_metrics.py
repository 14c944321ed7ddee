"""The scores of losses: in how many pairs the possible clip has the lower one, and what motion alone would score."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lmms_eval_tasks.api import COMMON_METRICS, PAIRS_SCORED, Metric, Outcome, Record
from lmms_eval_tasks.api.losses import lowest_clip
from lmms_eval_tasks.intphys2.card import CAMERAS, CONDITIONS, DIFFICULTIES


def _won(record: Record) -> float | None:
    return None if record.correct is None else 100.0 * record.correct


def _moves_less(record: Record) -> float | None:
    motions = record.fields["motions"]
    if record.correct is None or None in motions:
        return None
    return 100.0 * (lowest_clip(motions) == record.expected)


def _is(answer: str, record: Record) -> float | None:
    return None if record.answered is None else 100.0 * (record.answered == answer)


def _unparsed(record: Record) -> float | None:
    return 100.0 * (record.outcome is Outcome.UNPARSED) if record.asked else None


def _won_at(timestep: float, record: Record) -> float | None:
    timesteps = record.fields["timesteps"]
    if record.correct is None or timestep not in timesteps:
        return None
    lowest: str = record.fields["lowest"][timesteps.index(timestep)]
    return 100.0 * (lowest == record.expected)


PREFERENCE = Metric("plausibility_preference", "possible preferred", _won, errors="clustered")
"""Percent of scored pairs whose possible clip has the lower loss; a tie and a loss that is not finite are no win.

It is 100 less the plausibility preference error of LikePhys.
"""
EQUAL_MOTION = replace(PREFERENCE, errors="none").within("motion_equal", lambda record: record.fields["motion_equal"])
"""The same over the pairs whose two clips move the most equally."""
MOVES_LESS = Metric("motion_preference", "possible moves less", _moves_less, higher_is_better=None)
"""Percent of scored pairs whose possible clip moves less: what a loss that follows nothing but motion would score."""
TIE_RATE = Metric("tie_rate", "ties", partial(_is, "tie"), higher_is_better=False)
NON_FINITE_RATE = Metric("non_finite_rate", "non-finite", partial(_is, "non-finite"), higher_is_better=False)
UNPARSED_RATE = replace(COMMON_METRICS[0], value=_unparsed)
"""Percent of pairs asked whose response is no losses; one with an error in their place is unscored."""
PAIRS = replace(PAIRS_SCORED, value=_won, together=None)
"""How many pairs the scores stand on."""

METRICS = (
    PREFERENCE,
    EQUAL_MOTION,
    MOVES_LESS,
    *(
        metric
        for column, values in (("condition", CONDITIONS), ("camera", CAMERAS), ("difficulty", DIFFICULTIES))
        for metric in replace(PREFERENCE, errors="none").by(column, values)
    ),
    TIE_RATE,
    NON_FINITE_RATE,
    PAIRS,
    UNPARSED_RATE,
    *COMMON_METRICS[1:],
)


def preference_at(timestep: float) -> Metric:
    """The share of pairs that are won at one timestep."""
    return Metric("plausibility_preference_at", PREFERENCE.title, partial(_won_at, timestep))
