"""The facts of YoCausal, who wins a pair, and the scores of losses and of answers in words.

Source: paper, Tables 4 and 5; youzhe0305/YoCausal@f219ba6, evaluation/metrics.py. RSI is a mean over subsets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Card,
    Human,
    Metric,
    Outcome,
    Record,
    SplitFacts,
)
from lmms_eval_tasks.api.page import ReferencedMetric, published_models
from lmms_eval_tasks.api.release import PublishedStatistics

# Pairs per subset, and the seconds that are taken of its source's videos: paper, section on data (Animal Kingdom,
# Moments in Time, Kinetics-400, Physics-IQ).
_SUBSETS = {"animal": (200, 3.0), "general": (500, 3.0), "human": (400, 3.0), "physics": (132, 5.0)}
SUBSETS = tuple(_SUBSETS)
TASK, SPLIT = "yocausal", "test"
LABELS = CAUSALITY, DISCRIMINABLE = ("vlm_causality", "human_discriminable")
"""Labels of a pair."""
QUESTION = "Is this clip played forward, as it was filmed, or reversed?"
OPTIONS = ("It is played forward.", "It is played in reverse.", "It cannot be told.")
FORWARD, REVERSED, UNKNOWN = "A", "B", "C"

PEOPLE = (
    Human(
        metric="rsi",
        split=SPLIT,
        percent=79.08,
        source="paper, Table 4",
        caveat="an unknown counts half there, as in rsi_human_protocol here; 132 answers cannot give the figure "
        "printed for Physics",
    ),
    Human(metric="cci", split=SPLIT, percent=8.67, source="paper, Table 5", caveat="percentage points"),
)

CARD = Card(
    name=TASK,
    title="YoCausal",
    paper="https://www.youzhexie.me/papers/YoCausal/index.html",
    licence="see the dataset page; clips under the licences of their four sources",
    homepage="https://github.com/youzhe0305/YoCausal",
    main_metric="rsi",
    splits={
        SPLIT: SplitFacts(
            items=1232,
            groups=1232,
            clips=2464,
            answers_withheld=False,
            strata={(subset,): pairs for subset, (pairs, _) in _SUBSETS.items()},
            statistics=PublishedStatistics(
                stratum_seconds={(subset,): seconds for subset, (_, seconds) in _SUBSETS.items()}
            ),
        )
    },
    strata_columns=("subset",),
    chance={"rsi": 50.0, "cci": 0.0},
    human=PEOPLE,
    prompt_sha256={"labelling prompt": "be886599bd6ca6cb982f0a7d653737cde0626fc20ee6d83a69acd2b850bb8383"},
    hub_id="YouZhe/YoCausal-dataset",
    prepare_command="lmms-eval-tasks prepare yocausal",
    clip_columns=("clip", "clip_backward"),
)


class Winner(str, Enum):
    """Direction of a pair that has the lower loss."""

    FORWARD = "forward"
    BACKWARD = "backward"
    TIE = "tie"
    """The two losses are equal."""
    NON_FINITE = "non_finite"
    """A loss is NaN or infinite. The official code calls NaN a tie and lets a finite loss win against infinity."""


def compare_losses(forward: float, backward: float) -> Winner:
    if not (math.isfinite(forward) and math.isfinite(backward)):
        return Winner.NON_FINITE
    if forward == backward:
        return Winner.TIE
    return Winner.FORWARD if forward < backward else Winner.BACKWARD


def stratum(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "subset": row["subset"],
        "category": row["category"],
        "causality": {True: "causal", False: "not causal", None: "unlabelled"}[row[CAUSALITY]],
        "people": {True: "can tell", False: "cannot tell", None: "unlabelled"}[row[DISCRIMINABLE]],
        "motion_symmetric": "symmetric" if row["motion_symmetric"] else "other",
    }


def _subset(record: Record) -> str:
    return record.stratum["subset"]


def _wins(record: Record) -> float | None:
    return None if record.answered is None else float(record.answered == Winner.FORWARD.value)


RSI = Metric("rsi", "RSI", _wins, stratum=_subset, transform=lambda share: 100.0 * share, value_bounds=(0.0, 1.0))
"""Percent of scored pairs whose forward clip has the lower loss; a tie is no win."""


def _rsi_where(name: str, title: str, field: str, label: bool) -> Metric:
    return replace(
        RSI, name=name, title=title, value=lambda record: _wins(record) if record.fields[field] is label else None
    )


RSI_CAUSAL = _rsi_where("rsi_causal", "Dc", CAUSALITY, True)
RSI_NON_CAUSAL = _rsi_where("rsi_non_causal", "Dnc", CAUSALITY, False)
CCI = replace(
    RSI,
    name="cci",
    title="CCI",
    value=lambda record: _wins(record) if isinstance(record.fields[CAUSALITY], bool) else None,
    contrast=lambda record: record.fields[CAUSALITY] is True,
    bounds=(-100.0, 100.0),
    unit="points",
)
"""RSI over the pairs labelled causal, less RSI over the others, in percentage points."""
CCI_NORMALISED = replace(
    CCI,
    name="cci_normalised",
    title="% of human",
    transform=lambda difference: 100.0 * (100.0 * difference) / PEOPLE[1].percent,
    unit="%",
)
"""CCI as a percent of people's, which is taken as known."""
RSI_SYMMETRIC = RSI.within("motion_symmetric", lambda record: bool(record.fields["motion_symmetric"]))


def _rate_of(winner: Winner, title: str) -> Metric:
    def value(record: Record) -> float | None:
        return None if record.answered is None else 100.0 * (record.answered == winner.value)

    return Metric(f"{winner.value}_rate", title, value, higher_is_better=False)


TIE_RATE, NON_FINITE_RATE = _rate_of(Winner.TIE, "ties"), _rate_of(Winner.NON_FINITE, "non-finite")
"""Percent of scored pairs whose losses are equal, or one of which is NaN or infinite."""
UNPARSED_RATE = Metric(
    "unparsed_rate",
    "unparsed",
    lambda record: 100.0 * (record.outcome is Outcome.UNPARSED) if record.asked else None,
    higher_is_better=False,
    errors="plain",
)
"""Percent of pairs asked whose response is no denoising losses."""
UNSCORED_RATE = Metric(
    "unscored_rate", "unscored", lambda record: 100.0 * (record.answered is None), higher_is_better=False
)
"""Percent of pairs without losses, for whatever reason."""


def loss_at(side: str, timestep: float) -> Metric:
    """The mean loss of the pairs' clips of one direction, ``forward`` or ``backward``, at one timestep."""

    def value(record: Record) -> float | None:
        timesteps = record.fields.get("timesteps") or []
        if timestep not in timesteps:
            return None
        loss: float = record.fields["steps"][side][timesteps.index(timestep)]
        return loss if math.isfinite(loss) else None

    name, bounds = f"loss_{side}_at", (0.0, math.inf)
    return Metric(name, "mean loss", value, value_bounds=None, bounds=bounds, unit="", higher_is_better=None)


PAIRS = replace(PAIRS_SCORED, value=_wins, together=None)
"""Number of pairs that RSI is computed from."""

METRICS = (
    RSI,
    *RSI.by("subset", SUBSETS),
    RSI_CAUSAL,
    RSI_NON_CAUSAL,
    CCI,
    CCI_NORMALISED,
    _rsi_where("rsi_discriminable", "Hd", DISCRIMINABLE, True),
    _rsi_where("rsi_non_discriminable", "Hnd", DISCRIMINABLE, False),
    RSI_SYMMETRIC,
    TIE_RATE,
    NON_FINITE_RATE,
    UNPARSED_RATE,
    UNSCORED_RATE,
    COMMON_METRICS.sample_data,
)

HUMAN_PROTOCOL = Metric(
    "rsi_human_protocol", "human protocol", lambda record: record.fields["human_credit"], stratum=_subset
)
"""The score of the paper's study of people: an answer that it cannot be told counts half."""

VLM_METRICS = (
    PAIR_ACCURACY,
    replace(PAIR_ACCURACY, name="pair_accuracy_strata_mean", title="mean over subsets", stratum=_subset),
    *PAIR_ACCURACY.by("subset", SUBSETS),
    SINGLE_ACCURACY,
    HUMAN_PROTOCOL,
    PAIRS_SCORED,
    *COMMON_METRICS,
)

# ---- references and tables -------------------------------------------------------------------------------------------

FOLDER = Path(__file__).parent


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """RSI and CCI beside their published figures: paper, Tables 4 and 5."""
    rsi = published_models(FOLDER, source="YoCausal Table 4", without=("Human",), metric="RSI", split="all (RSI(D))")
    cci = published_models(FOLDER, source="YoCausal Table 5", without=("Human",), metric="CCI(D)")
    return (
        ReferencedMetric(RSI, CARD.chance["rsi"], PEOPLE[:1], rsi),
        ReferencedMetric(CCI, CARD.chance["cci"], PEOPLE[1:], cci),
    )


def vlm_references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """The score of the study of people beside theirs, then the accuracies."""
    note = "Scored as the paper's study of people was: an answer that it cannot be told counts half."
    return (
        ReferencedMetric(HUMAN_PROTOCOL, CARD.chance["rsi"], PEOPLE[:1], note=note),
        ReferencedMetric(PAIR_ACCURACY),
        ReferencedMetric(SINGLE_ACCURACY),
    )
