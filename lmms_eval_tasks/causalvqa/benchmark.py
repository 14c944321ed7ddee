"""CausalVQA: every question asked twice, as MCQ and MCQ′."""

from lmms_eval_tasks.api import Benchmark, Inquiry, TaskKind
from lmms_eval_tasks.api.runs import ChoiceLine
from lmms_eval_tasks.causalvqa import report
from lmms_eval_tasks.causalvqa.card import CARD, TYPES
from lmms_eval_tasks.causalvqa.metrics import METRICS
from lmms_eval_tasks.causalvqa.prepare import own_columns, prepare
from lmms_eval_tasks.causalvqa.prompt import OFFICIAL_PROMPT
from lmms_eval_tasks.causalvqa.submission import FORM

PAIRED = TaskKind(
    metrics=METRICS,
    references=report.references,
    members="versions",
    log_form=ChoiceLine,
    frame="last",
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"paired": PAIRED},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=own_columns,
    submission=FORM,
    official_prompt=OFFICIAL_PROMPT,
    inquiries={"review": Inquiry("review", responses=2, kinds=TYPES, retimed=True)},
)
