"""Items, answers, figures and published scores on the report's page."""

from __future__ import annotations

from lmms_eval_tasks.utils.reporting.columns import Layout, LayoutPlace
from lmms_eval_tasks.utils.reporting.figure import Figure, heat_map
from lmms_eval_tasks.utils.reporting.item_views import (
    AnswerView,
    EventGraph,
    InstanceTrack,
    ItemView,
    evidence_answer_view,
    predicted_tracks,
    tracks_of,
)
from lmms_eval_tasks.utils.reporting.panels import outcome_panel, scatter_panel, timestep_plot, usual_panels
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, published_models
from lmms_eval_tasks.utils.scoring.compare import compare_records

__all__ = [
    "AnswerView",
    "EventGraph",
    "Figure",
    "InstanceTrack",
    "ItemView",
    "Layout",
    "LayoutPlace",
    "ReferencedMetric",
    "compare_records",
    "evidence_answer_view",
    "heat_map",
    "outcome_panel",
    "predicted_tracks",
    "published_models",
    "scatter_panel",
    "timestep_plot",
    "tracks_of",
    "usual_panels",
]
