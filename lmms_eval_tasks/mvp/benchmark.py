"""MVP: one question about two minimally different clips."""

from lmms_eval_tasks.mvp import report
from lmms_eval_tasks.mvp.card import CARD, SUBSETS
from lmms_eval_tasks.mvp.metrics import METRICS
from lmms_eval_tasks.mvp.prepare import own_columns, prepare
from lmms_eval_tasks.mvp.prompt import find_prompt
from lmms_eval_tasks.mvp.submission import FORM
from lmms_eval_tasks.utils.answers import EXTRACTOR
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, TaskKind
from lmms_eval_tasks.utils.benchmark.views import VIEWS
from lmms_eval_tasks.utils.prompting.questions import OPTIONS_PROMPT, prompt_reader
from lmms_eval_tasks.utils.reporting.columns import PAIR_COLUMNS
from lmms_eval_tasks.utils.reporting.page_items import clip_view, official_reading
from lmms_eval_tasks.utils.scoring.log_forms import ChoiceLine

PAIRS = TaskKind(
    metrics=METRICS,
    extractor=EXTRACTOR,
    columns=PAIR_COLUMNS,
    references=report.references,
    panels=report.panels,
    controls=report.controls,
    item_view=clip_view,
    answer_view=official_reading,
    read_settings=prompt_reader(find_prompt),
    log_form=ChoiceLine,
    views=VIEWS,
    frame="centre",
    options_prompt=OPTIONS_PROMPT,
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"pairs": PAIRS},
    prepare=prepare,
    schema=own_columns,
    submission=FORM,
    find_prompt=find_prompt,
    clip_names_are_ids=True,
    # lmms-eval's own write no submission file.
    replaces=frozenset({"mvp_mini", *(f"mvp_mini_{subset}" for subset in SUBSETS)}),
)
