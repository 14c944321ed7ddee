"""The card of Worlds, and its scores: those of the papers whose questions it asks, each also by difficulty of
scenes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Card,
    Metric,
    Record,
    SplitFacts,
)
from lmms_eval_tasks.api.answers import BALANCED_ACCURACY, SAYS_POSSIBLE, VERDICT_ACCURACY, YES_RATE
from lmms_eval_tasks.api.evidence import EVIDENCE_FORMAT, EVIDENCE_SCORES
from lmms_eval_worlds.scenes.families import families

SPLIT = "standard"
SUBSETS = ("perception", "paired", "minimal", "counterfactual", "evidence", "possible", "reversal")
"""What its tasks ask, each a subset of the one split and a kind of task."""
FAMILIES = tuple(name for name, family in families().items() if not family.for_training)
"""The families of scenes that tests have."""
DEPTHS = ("0", "1", "2", "3", "4", "5", "6")
"""How many links the longest chain of causes of a scene has."""
LEVELS = ("direct", "chain", "absent")
"""Of counterfactual questions: what the changed body touches itself, what lies further on, and what never happened."""
PRINCIPLES = ("permanence", "continuity", "solidity", "gravity", "inertia")
"""Of physics, which impossible clips break."""
ARROWS = ("strong", "none")
"""Whether a scene loses much of its energy, so that time has an arrow, or hardly any."""
ASPECTS = {"perception": ("what", "first", "last", "who"), "paired": ("cause", "would")}
"""What the questions of a task are about."""
COLUMNS = (
    "family",
    "depth",
    "bodies",
    "distractors",
    "occlusion",
    "aspect",
    "level",
    "marked",
    "start",
    "principle",
    "arrow",
)
"""By which scores can be broken down, columns of the prepared table: what makes a scene hard, then what is asked."""
FRAME = (384, 288)
"""Width and height of every clip in pixels."""

STANDARD = "a6d7046a6be11de99a1a434efd7e2cb806dd1b536cd7da3bee4dc5670970ef94"
"""SHA-256 of the scenes of the standard set, as `prepare` digests them."""
STANDARD_QUESTIONS = "da72b8e57321216ebf6eadff0e5c844f219b6c6cfbe1e19da87e016dccfe8cdb"
"""The same of its questions, without boxes, by which a set that was made before is known."""

CARD = Card(
    name="worlds",
    title="Worlds",
    paper="",
    licence="the scenes, clips and questions are made by this package, under its own licence",
    homepage="",
    main_metric="single_accuracy",
    # Counted once by `prepare`, and to be counted again whenever scenes or questions change.
    splits={SPLIT: SplitFacts(items=7841, groups=5021, clips=1538, sha256=frozenset({STANDARD, STANDARD_QUESTIONS}))},
    strata_columns=("subset", "family"),
    chance={"verdict_accuracy": 50.0, "balanced_accuracy": 50.0},
    prepare_command="lmms-eval-tasks prepare worlds",
)


def _is(column: str, value: str, record: Record) -> bool:
    return record.stratum[column] == value


def _named(metric: Metric, column: str, values: tuple[str, ...]) -> list[Metric]:
    """A score for each value of a column whose values do not say what they are of."""
    plain = replace(metric, errors="none")
    return [plain.within(f"{column}_{value}", partial(_is, column, value)) for value in values]


def _by(metric: Metric, column: str, values: tuple[str, ...]) -> tuple[Metric, ...]:
    # Standard errors are printed of the whole alone.
    return replace(metric, errors="none").by(column, values)


def _scores(
    *own: Metric,
    by_scene: tuple[Metric, ...] = (SINGLE_ACCURACY,),
    pairs: bool = True,
    form: tuple[Metric, ...] = (),
) -> tuple[Metric, ...]:
    """The scores of a task, those that are its own first."""
    scenes = [
        score for metric in by_scene for score in (*_by(metric, "family", FAMILIES), *_named(metric, "depth", DEPTHS))
    ]
    return (*own, *scenes, *form, *((PAIRS_SCORED,) if pairs else ()), *COMMON_METRICS)


ACCURACY, FAITHFUL, IM_VIOU = (EVIDENCE_SCORES[name] for name in ("accuracy", "faithful", "im_viou"))

SCORES = {
    "perception": _scores(
        SINGLE_ACCURACY,
        *_by(SINGLE_ACCURACY, "aspect", ASPECTS["perception"]),
        pairs=False,
    ),
    "paired": _scores(
        PAIR_ACCURACY,
        SINGLE_ACCURACY,
        *_by(PAIR_ACCURACY, "aspect", ASPECTS["paired"]),
        by_scene=(PAIR_ACCURACY, SINGLE_ACCURACY),
    ),
    "minimal": _scores(
        PAIR_ACCURACY,
        SINGLE_ACCURACY,
        *_named(PAIR_ACCURACY, "start", ("same", "other")),
        *_named(SINGLE_ACCURACY, "start", ("same", "other")),
        by_scene=(PAIR_ACCURACY, SINGLE_ACCURACY),
    ),
    "counterfactual": _scores(
        VERDICT_ACCURACY,
        BALANCED_ACCURACY,
        PAIR_ACCURACY,
        YES_RATE,
        # The same as the verdicts', by the name that the tasks of the group share.
        SINGLE_ACCURACY,
        *_by(VERDICT_ACCURACY, "level", LEVELS),
        *_by(VERDICT_ACCURACY, "marked", ("marked", "plain")),
    ),
    "evidence": _scores(
        *EVIDENCE_SCORES.values(),
        # The same as `accuracy`, by the name that the tasks of the group share.
        SINGLE_ACCURACY,
        by_scene=(SINGLE_ACCURACY, FAITHFUL),
        pairs=False,
        form=EVIDENCE_FORMAT,
    ),
    "possible": _scores(
        SINGLE_ACCURACY,
        PAIR_ACCURACY,
        SAYS_POSSIBLE,
        *_by(SINGLE_ACCURACY, "principle", PRINCIPLES),
        *_by(PAIR_ACCURACY, "principle", PRINCIPLES),
    ),
    "reversal": _scores(
        PAIR_ACCURACY,
        SINGLE_ACCURACY,
        *_named(PAIR_ACCURACY, "arrow", ARROWS),
        *_named(SINGLE_ACCURACY, "arrow", ARROWS),
    ),
}
