"""CounterVQA: had an action not happened, would another still have?"""

from dataclasses import replace

from lmms_eval_tasks.api import Benchmark, TaskKind
from lmms_eval_tasks.api.answers import VERDICT_READER
from lmms_eval_tasks.countervqa import events, hooks, probe, report
from lmms_eval_tasks.countervqa.agreement import restore_agreement
from lmms_eval_tasks.countervqa.card import CARD
from lmms_eval_tasks.countervqa.cli import app
from lmms_eval_tasks.countervqa.log_forms import ProbeLine, VerdictLine
from lmms_eval_tasks.countervqa.metrics import METRICS
from lmms_eval_tasks.countervqa.people import INQUIRIES
from lmms_eval_tasks.countervqa.prepare import own_columns, prepare

VIEWS = ("blind", "single_frame", "shuffled", "reversed", "socratic")

VERDICT = TaskKind(
    metrics=METRICS,
    extractor=VERDICT_READER,
    columns=report.COLUMNS,
    references=report.references,
    panels=report.panels,
    item_view=events.item_view,
    answer_view=report.answer_view,
    read_settings=hooks.read_settings,
    log_form=VerdictLine,
    judge="optional",
    restore=restore_agreement,
    views=VIEWS,
)

ANNOTATED = replace(VERDICT, read_settings=hooks.read_annotated_settings)

PROBE = TaskKind(
    metrics=probe.METRICS,
    guesses=probe.guesses,
    extractor=VERDICT_READER,
    columns=report.PROBE_COLUMNS,
    references=report.probe_references,
    panels=report.probe_panels,
    item_view=events.item_view,
    answer_view=report.probe_answer_view,
    read_settings=probe.read_settings,
    log_form=ProbeLine,
    views=VIEWS,
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"verdict": VERDICT, "annotated": ANNOTATED, "probe": PROBE},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=own_columns,
    cli=app,
    inquiries=INQUIRIES,
    no_submission="CounterVQA has no leaderboard: its data is not released, and nobody collects answers to it.",
)
