"""Read and grade free answers: yes or no, and whether something is possible."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.answers.plausible import (
    IMPOSSIBLE,
    PLAUSIBILITY_READER,
    POSSIBLE,
    SAYS_POSSIBLE,
    plausibility_grader,
)
from lmms_eval_tasks.utils.answers.verdict import (
    BALANCED_ACCURACY,
    NO,
    UNCLEAR,
    VERDICT_ACCURACY,
    VERDICT_READER,
    YES,
    YES_RATE,
    read_verdict,
    verdict_grader,
)

__all__ = [
    "BALANCED_ACCURACY",
    "IMPOSSIBLE",
    "NO",
    "PLAUSIBILITY_READER",
    "POSSIBLE",
    "SAYS_POSSIBLE",
    "UNCLEAR",
    "VERDICT_ACCURACY",
    "VERDICT_READER",
    "YES",
    "YES_RATE",
    "content",
    "plausibility_grader",
    "read_verdict",
    "verdict_grader",
]
