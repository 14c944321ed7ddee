"""CaST-Bench: the evidence with the answer."""

from lmms_eval_tasks.api import Benchmark, TaskKind
from lmms_eval_tasks.api.evidence import EVIDENCE_READER, Masking
from lmms_eval_tasks.cast_bench import hooks, open_ended, report, restore
from lmms_eval_tasks.cast_bench.card import CARD
from lmms_eval_tasks.cast_bench.cli import app
from lmms_eval_tasks.cast_bench.log_forms import EvidenceLine, OpenLine
from lmms_eval_tasks.cast_bench.masked import masked_row, timed_boxes
from lmms_eval_tasks.cast_bench.metrics import METRICS, OPEN_METRICS
from lmms_eval_tasks.cast_bench.people import INQUIRIES
from lmms_eval_tasks.cast_bench.predictions import PREDICTIONS
from lmms_eval_tasks.cast_bench.prepare import own_columns, prepare
from lmms_eval_tasks.cast_bench.prompt import OFFICIAL_PROMPT, read_settings
from lmms_eval_tasks.cast_bench.submission import FORM

EVIDENCE = TaskKind(
    metrics=METRICS,
    guesses=hooks.guesses,
    extractor=EVIDENCE_READER,
    columns=report.COLUMNS,
    references=report.references,
    panels=report.panels,
    item_view=report.item_view,
    answer_view=report.answer_view,
    read_settings=read_settings,
    restore=restore.restore_settings,
    log_form=EvidenceLine,
    views=("blind", "single_frame", "shuffled", "reversed", "masked", "socratic"),
    masking=Masking(masked_row, timed_boxes),
)

OPEN = TaskKind(
    metrics=OPEN_METRICS,
    guesses=lambda row: (open_ended.IGNORANT,),
    extractor="a judge",
    columns=report.OPEN_COLUMNS,
    references=report.open_references,
    panels=report.open_panels,
    item_view=report.open_item_view,
    answer_view=report.open_answer_view,
    read_settings=open_ended.read_settings,
    judge="required",
    no_submission="its free answers are graded by a judge of your choice, and no leaderboard takes them. What can be "
    "submitted is a run of cast_bench.",
    restore=restore.restore_verdicts,
    log_form=OpenLine,
    views=("blind", "single_frame", "shuffled", "reversed", "socratic"),
)

BENCHMARK = Benchmark(
    card=CARD,
    clip_names_are_ids=True,
    folder=report.FOLDER,
    kinds={"evidence": EVIDENCE, "open": OPEN},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=own_columns,
    submission=FORM,
    official_prompt=OFFICIAL_PROMPT,
    predictions=PREDICTIONS,
    variables=("LMMS_EVAL_TASKS_BOXES", "LMMS_EVAL_TASKS_MATCHING"),
    cli=app,
    inquiries=INQUIRIES,
)
