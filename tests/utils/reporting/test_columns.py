"""Which of an interval and an exact test decides whether a difference is shown."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.reporting.columns import decision

CONTAINS = "the interval contains 0 and the exact test rejects (p 0.040): the test decides, a difference is shown"
EXCLUDES = "the interval excludes 0 and the exact test does not reject (p by Holm 0.050): the test decides, "


@pytest.mark.parametrize(
    ("low", "high", "p_value", "named", "said"),
    [
        (-1.0, 5.0, 0.2, "p", ""),
        (1.0, 5.0, 0.04, "p", ""),
        (-5.0, -1.0, 0.04, "p", ""),
        (-1.0, 5.0, 0.04, "p", CONTAINS),
        (0.04, 5.0, 0.04, "p", CONTAINS),  # as it is printed, from 0.0 on
        (1.0, 5.0, 0.05, "p by Holm", f"{EXCLUDES}no difference is shown"),
    ],
)
def test_the_test_decides_where_it_and_the_interval_disagree(
    low: float, high: float, p_value: float, named: str, said: str
) -> None:
    assert decision(Number((low + high) / 2, low, high), p_value, named) == said
