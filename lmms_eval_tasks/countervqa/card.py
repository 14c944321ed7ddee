"""The facts of CounterVQA, whose data, prompt and scorer are not released, and the scores of its tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lmms_eval_tasks.api import COMMON_METRICS, PAIR_ACCURACY, PAIRS_SCORED, Card, Human, Metric, Record, SplitFacts
from lmms_eval_tasks.api.answers import BALANCED_ACCURACY, NO, VERDICT_ACCURACY, YES, YES_RATE
from lmms_eval_tasks.api.release import PublishedStatistics
from lmms_eval_tasks.countervqa.release import OWN_RULES

LEVELS = ("L1", "L2", "L3")
"""Two adjacent actions, a chain of two links or more, an action that never happened."""
ABSENT_LEVEL = "L3"
INTERACTIONS = ("H2H", "H2O")
"""Between people, and between a person and an object."""

CARD = Card(
    name="countervqa",
    title="CounterVQA",
    paper="https://arxiv.org/abs/2511.19923",
    licence="the paper's data is not released; its clips are from Ego-Exo4D, under its own licence",
    homepage="https://github.com/AzhenHETU/CounterVQA",
    main_metric="verdict_accuracy",
    splits={
        "test": SplitFacts(
            items=3987,
            groups=3987,
            clips=712,
            answers_withheld=False,
            statistics=PublishedStatistics(mean_seconds=199.7),
        )
    },
    is_released=False,
    strata_columns=("interaction", "level"),
    chance={"verdict_accuracy": 50.0, "balanced_accuracy": 50.0, "pair_accuracy": 25.0},
    human=(
        Human(
            metric="verdict_accuracy",
            split="test",
            percent=97.4,
            source="a text that is commented out in an earlier commit of the official repository (9196112)",
            caveat="neither in the paper nor in today's repository; how it was scored is not published",
        ),
    ),
    prepare_command="lmms-eval-tasks prepare countervqa --source DIR",
)


def _percent(flag: bool | None) -> float | None:
    return None if flag is None else 100.0 * flag


def _expects(verdict: str, record: Record) -> float | None:
    return None if record.correct is None else 100.0 * (record.expected == verdict)


ALWAYS_YES = Metric("always_yes", "always yes", partial(_expects, YES), higher_is_better=None)
ALWAYS_NO = Metric("always_no", "always no", partial(_expects, NO), higher_is_better=None)
"""What a constant answer would score on the same items."""

JUDGED_ACCURACY = Metric(
    "judged_accuracy", "judged accuracy", lambda record: _percent(record.fields.get("judged")), errors="clustered"
)
"""Percent of right verdicts whose explanation agrees with the reference; none without a judge."""

PAPER_RULES = VERDICT_ACCURACY.within("paper_rules", lambda record: record.stratum["rule"] not in OWN_RULES)
"""The accuracy on the questions that the paper's rules make."""

TOTAL, AVERAGE = "Total", "Avg"


def _in_cell(interaction: str, level: str, record: Record) -> bool:
    return interaction in (TOTAL, record.stratum["interaction"]) and level in (AVERAGE, record.stratum["level"])


CELLS: dict[tuple[str, str], Callable[[Record], bool]] = {
    (interaction, level): partial(_in_cell, interaction, level)
    for interaction in (*INTERACTIONS, TOTAL)
    for level in (*LEVELS, AVERAGE)
}
"""The cells of the paper's table by row and column, and whether a record is in them."""

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
    # In each cell of the paper's table except the last, which is the score itself.
    *(
        metric.within("_".join(part.lower() for part in cell if part not in (TOTAL, AVERAGE)), is_in)
        for metric in (VERDICT_ACCURACY, ALWAYS_YES, ALWAYS_NO)
        for cell, is_in in list(CELLS.items())[:-1]
    ),
    *COMMON_METRICS,
)


def _detected(record: Record) -> float | None:
    return _percent(record.fields["detected"])


def _is_absent(record: Record) -> bool:
    return record.stratum["level"] == ABSENT_LEVEL


DETECTION = Metric("detection_accuracy", "detection", _detected, errors="clustered")
"""Percent of items whose action is rightly said to happen or not to; an unread answer is wrong."""
DETECTION_ABSENT = DETECTION.within("absent", _is_absent)
DETECTION_PRESENT = DETECTION.within("present", lambda record: not _is_absent(record))
DETECTION_BALANCED = Metric(
    "detection_balanced", "detection, balanced", _detected, stratum=lambda record: str(_is_absent(record))
)
"""The mean of both: 50 for a constant, where the set has actions of both kinds."""
GIVEN_DETECTION = Metric(
    "verdict_accuracy_given_detection",
    "verdict given detection",
    lambda record: _percent(record.correct) if record.fields["detected"] else None,
)
"""Percent of right verdicts among the items whose action was rightly detected."""
GIVEN_ABSENCE = GIVEN_DETECTION.within("absent", _is_absent)
"""The same where the action never happened."""

PROBE_METRICS = (
    DETECTION,
    DETECTION_ABSENT,
    DETECTION_PRESENT,
    DETECTION_BALANCED,
    GIVEN_DETECTION,
    GIVEN_ABSENCE,
    VERDICT_ACCURACY,
    BALANCED_ACCURACY,
    ALWAYS_YES,
    ALWAYS_NO,
    *COMMON_METRICS,
)
