"""MVP: one question about two minimally different clips."""

from lmms_eval_tasks.api import Benchmark, TaskKind
from lmms_eval_tasks.api.runs import ChoiceLine
from lmms_eval_tasks.mvp import report
from lmms_eval_tasks.mvp.card import CARD, SUBSETS
from lmms_eval_tasks.mvp.hooks import find_prompt
from lmms_eval_tasks.mvp.metrics import METRICS
from lmms_eval_tasks.mvp.prepare import own_columns, prepare
from lmms_eval_tasks.mvp.submission import FORM

PAIRS = TaskKind(
    metrics=METRICS,
    references=report.references,
    members="clips",
    log_form=ChoiceLine,
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"pairs": PAIRS},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=own_columns,
    submission=FORM,
    find_prompt=find_prompt,
    clip_names_are_ids=True,
    # lmms-eval's own write no submission file.
    replaces=frozenset({"mvp_mini", *(f"mvp_mini_{subset}" for subset in SUBSETS)}),
)
