"""IntPhys 2's scores: single clips, matched pairs, whole scenes, and how often the answer is "possible"."""

from __future__ import annotations

from dataclasses import replace

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    OFFICIAL_ACCURACIES,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Metric,
    Record,
)
from lmms_eval_tasks.api.answers import IMPOSSIBLE, POSSIBLE, SAYS_POSSIBLE
from lmms_eval_tasks.intphys2.card import CAMERAS, CONDITIONS, DIFFICULTIES, KINDS

CODINGS = 3


def _pair(record: Record) -> str:
    return f"{record.fields['coding']}.{record.fields['pair']}"


def _coding(record: Record) -> str:
    return str(record.fields["coding"])


def _clip(record: Record) -> str:
    return f"{record.fields['pair']}.{record.expected}"


def _says(letter: str, record: Record) -> float | None:
    return None if record.answered is None else 100.0 * (record.answered == letter)


def _says_possible(record: Record) -> float | None:
    return _says(POSSIBLE, record)


def _says_impossible(record: Record) -> float | None:
    return _says(IMPOSSIBLE, record)


PAIRS = replace(PAIR_ACCURACY, stratum=_pair)
"""Percent of the pairs whose two clips are both right: the mean over a scene's two places."""

SCENES = replace(PAIR_ACCURACY, name="scene_accuracy", title="scene accuracy", together=len(KINDS), stratum=_coding)
"""Percent of the scenes whose four clips are all right."""

SAME_POSSIBLE = Metric(
    "codings_possible",
    "possible in all codings",
    _says_possible,
    together=CODINGS,
    stratum=_clip,
    higher_is_better=None,
)
SAME_IMPOSSIBLE = replace(
    SAME_POSSIBLE, name="codings_impossible", title="impossible in all codings", value=_says_impossible
)
"""Percent of the clips with the same answer to all three codings: the two sum to the agreement."""

OFFICIAL_PAIRS, OFFICIAL_SINGLE = OFFICIAL_ACCURACIES


def _broken_down(metric: Metric) -> list[Metric]:
    return [
        *metric.by("condition", CONDITIONS),
        *metric.by("camera", CAMERAS),
        *metric.by("difficulty", DIFFICULTIES),
    ]


METRICS = (
    SINGLE_ACCURACY,
    # Before the pairs: what `compare` tests is of whole groups.
    SCENES,
    PAIRS,
    OFFICIAL_SINGLE,
    replace(OFFICIAL_PAIRS, stratum=_pair),
    SAYS_POSSIBLE,
    # Standard errors are printed of the whole alone.
    *_broken_down(replace(SINGLE_ACCURACY, errors="none")),
    *_broken_down(PAIRS),
    *_broken_down(OFFICIAL_SINGLE),
    replace(PAIRS_SCORED, stratum=_pair),
    *COMMON_METRICS,
)
DEBUG_METRICS = (*METRICS[:6], SAME_POSSIBLE, SAME_IMPOSSIBLE, *METRICS[6:])
HELD_OUT_METRICS = (SINGLE_ACCURACY, SAYS_POSSIBLE, *COMMON_METRICS)
