"""What a report page shows of MVP."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.mvp.scores import split
from lmms_eval_tasks.utils.reporting.paired_views import answer_view, item_view, row_id
from lmms_eval_tasks.utils.reporting.panels import Panel, Shown, answer_panels, consistency_panel, outcome_panel

__all__ = ["answer_view", "item_view", "panels", "row_id", "split"]


def panels(task: str, runs: Sequence[Shown]) -> list[Panel]:
    """Consistency between the two clips of a minimal pair, outcomes, and letters."""
    return [consistency_panel(runs, "clips"), outcome_panel(runs), *answer_panels(runs)]
