"""Everything that a benchmark imports, whether it is ours or another package's."""

from __future__ import annotations

from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import building
from lmms_eval_tasks.utils.answers.choice import choice_grader
from lmms_eval_tasks.utils.answers.hooks import RunningTask, hook
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, SampleWriter, TaskKind
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, read_rows
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.card import Card, Human, Row, SplitFacts
from lmms_eval_tasks.utils.data.identity import Origin
from lmms_eval_tasks.utils.data.manifest import SplitManifest
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.people.inquiries import AskedItem, Inquiry, OfferedChoice
from lmms_eval_tasks.utils.reporting.columns import Column, RunRecords
from lmms_eval_tasks.utils.reporting.figure import share_plot
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.scoring.metrics import (
    COMMON_METRICS,
    OFFICIAL_ACCURACIES,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Metric,
)
from lmms_eval_tasks.utils.scoring.record import GradedItem, Outcome, Record, UnscoredReason
from lmms_eval_tasks.utils.submission.form import Built, Checked, ChoiceForm, SubmissionForm, Table

__all__ = [
    "COMMON_METRICS",
    "OFFICIAL_ACCURACIES",
    "PAIRS_SCORED",
    "PAIR_ACCURACY",
    "SINGLE_ACCURACY",
    "AskedItem",
    "Benchmark",
    "Built",
    "Card",
    "Checked",
    "ChoiceForm",
    "Column",
    "GradedItem",
    "Human",
    "InputError",
    "Inquiry",
    "Metric",
    "OfferedChoice",
    "Origin",
    "Outcome",
    "Panel",
    "Preparation",
    "Problems",
    "Progress",
    "Record",
    "Reply",
    "Row",
    "RowForm",
    "RunRecords",
    "RunningTask",
    "SampleWriter",
    "SplitFacts",
    "SplitManifest",
    "SubmissionForm",
    "Table",
    "TaskKind",
    "UnscoredReason",
    "building",
    "choice_grader",
    "hook",
    "no_progress",
    "read_prompt",
    "read_rows",
    "share_plot",
]
