"""What a benchmark is made of: the one place that benchmarks import, ours and those of other packages.

Everything here is public: a name changes only with a line in the changelog, and the former one warns for a version.
The modules beside it hold what fewer benchmarks need. docs/own_benchmark.md leads through a whole benchmark.
"""

from __future__ import annotations

from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, Row, TaskContext, TaskKind
from lmms_eval_tasks.utils.benchmark.card import Card, Human, SplitFacts
from lmms_eval_tasks.utils.benchmark.inquiries import AskedItem, Inquiry, OfferedChoice
from lmms_eval_tasks.utils.core.json_rows import RowForm, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.building import Origin, building
from lmms_eval_tasks.utils.data.manifest import SplitManifest
from lmms_eval_tasks.utils.data.removed import read_removed
from lmms_eval_tasks.utils.prompting.prompts import read_prompt
from lmms_eval_tasks.utils.prompting.questions import ask_choice
from lmms_eval_tasks.utils.reporting.columns import Column
from lmms_eval_tasks.utils.reporting.figures import share_plot
from lmms_eval_tasks.utils.reporting.panels import Panel, RunRecords
from lmms_eval_tasks.utils.scoring.choice import choice_grader
from lmms_eval_tasks.utils.scoring.hooks import (
    RunningTask,
    aggregate,
    doc_to_target,
    doc_to_visual,
    hook,
    process_docs,
    write_submission,
)
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.pair_scores import OFFICIAL_ACCURACIES, PAIR_ACCURACY, PAIRS_SCORED, SINGLE_ACCURACY
from lmms_eval_tasks.utils.scoring.rates import COMMON_METRICS
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, GradedItem, Outcome, Record, UnscoredReason
from lmms_eval_tasks.utils.submission.choices import ChoiceForm
from lmms_eval_tasks.utils.submission.form import Built, Checked, SubmissionForm, Table

__all__ = [
    "COMMON_METRICS",
    "NOT_ASKED",
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
    "GroupedIssues",
    "Human",
    "InputError",
    "Inquiry",
    "Metric",
    "OfferedChoice",
    "Origin",
    "Outcome",
    "Panel",
    "Progress",
    "Record",
    "Row",
    "RowForm",
    "RunRecords",
    "RunningTask",
    "SplitFacts",
    "SplitManifest",
    "SubmissionForm",
    "Table",
    "TaskContext",
    "TaskKind",
    "UnscoredReason",
    "aggregate",
    "ask_choice",
    "building",
    "choice_grader",
    "doc_to_target",
    "doc_to_visual",
    "hook",
    "no_progress",
    "process_docs",
    "read_prompt",
    "read_removed",
    "read_rows",
    "share_plot",
    "write_submission",
]
