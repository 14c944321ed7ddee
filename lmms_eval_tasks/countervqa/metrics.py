"""CounterVQA's scores: verdicts by interaction and level, pairs of opposite verdicts, and the floors of constants."""

from __future__ import annotations

from functools import partial

from lmms_eval_tasks.api import COMMON_METRICS, PAIR_ACCURACY, PAIRS_SCORED, Metric, Record
from lmms_eval_tasks.api.answers import BALANCED_ACCURACY, NO, VERDICT_ACCURACY, YES, YES_RATE
from lmms_eval_tasks.countervqa.card import INTERACTIONS, LEVELS
from lmms_eval_tasks.countervqa.released import OWN_RULES


def percent(flag: bool | None) -> float | None:
    """100 for True, 0 for False, None for None."""
    return None if flag is None else 100.0 * flag


def _expects(verdict: str, record: Record) -> float | None:
    return None if record.correct is None else 100.0 * (record.expected == verdict)


ALWAYS_YES = Metric("always_yes", "always yes", partial(_expects, YES), higher_is_better=None)
ALWAYS_NO = Metric("always_no", "always no", partial(_expects, NO), higher_is_better=None)
"""What a constant answer would score on the same items."""


def _judged(record: Record) -> float | None:
    return percent(record.fields.get("judged"))


JUDGED_ACCURACY = Metric("judged_accuracy", "judged accuracy", _judged, errors="clustered")
"""Percent of right verdicts whose explanation agrees with the reference; none without a judge."""

PAPER_RULES = VERDICT_ACCURACY.within("paper_rules", lambda record: record.stratum["rule"] not in OWN_RULES)
"""The accuracy on the questions that the paper's rules make."""


def in_cell(interaction: str | None, level: str | None, record: Record) -> bool:
    """Whether a record is of an interaction and a level; None stands for all."""
    return interaction in (None, record.stratum["interaction"]) and level in (None, record.stratum["level"])


CELLS = tuple((interaction, level) for interaction in (*INTERACTIONS, None) for level in (*LEVELS, None))
"""The cells of the paper's table, row by row; None is the total over interactions or the average over levels."""


def by_cell(metric: Metric) -> tuple[Metric, ...]:
    """A score in each cell of the paper's table except the last, which is the score itself."""
    return tuple(
        metric.within("_".join(part.lower() for part in cell if part), partial(in_cell, *cell)) for cell in CELLS[:-1]
    )


METRICS = (
    VERDICT_ACCURACY,
    BALANCED_ACCURACY,
    ALWAYS_YES,
    ALWAYS_NO,
    YES_RATE,
    JUDGED_ACCURACY,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    PAPER_RULES,
    *by_cell(VERDICT_ACCURACY),
    *by_cell(ALWAYS_YES),
    *by_cell(ALWAYS_NO),
    *COMMON_METRICS,
)
