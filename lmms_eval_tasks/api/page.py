"""More of what a report's page shows: items, answers, figures, and published scores."""

from __future__ import annotations

from lmms_eval_tasks.utils.reporting.figures import heat_map
from lmms_eval_tasks.utils.reporting.page_items import AnswerView, InstanceTrack, ItemView
from lmms_eval_tasks.utils.reporting.panels import outcome_panel, scatter_panel, usual_panels
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, published_models
from lmms_eval_tasks.utils.stats.comparison import compare_records

__all__ = [
    "AnswerView",
    "InstanceTrack",
    "ItemView",
    "ReferencedMetric",
    "compare_records",
    "heat_map",
    "outcome_panel",
    "published_models",
    "scatter_panel",
    "usual_panels",
]
