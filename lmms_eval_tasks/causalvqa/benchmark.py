"""CausalVQA: every question asked twice, as MCQ and MCQ′."""

from lmms_eval_tasks.causalvqa import report
from lmms_eval_tasks.causalvqa.card import CARD, TYPES
from lmms_eval_tasks.causalvqa.metrics import METRICS
from lmms_eval_tasks.causalvqa.prepare import own_columns, prepare
from lmms_eval_tasks.causalvqa.prompt import OFFICIAL_PROMPT, find_prompt
from lmms_eval_tasks.causalvqa.submission import FORM
from lmms_eval_tasks.utils.answers import EXTRACTOR
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, TaskKind
from lmms_eval_tasks.utils.benchmark.inquiries import Inquiry
from lmms_eval_tasks.utils.benchmark.views import VIEWS
from lmms_eval_tasks.utils.prompting.questions import OPTIONS_PROMPT, prompt_reader
from lmms_eval_tasks.utils.reporting.columns import PAIR_COLUMNS
from lmms_eval_tasks.utils.reporting.page_items import clip_view, official_reading
from lmms_eval_tasks.utils.scoring.log_forms import ChoiceLine

PAIRED = TaskKind(
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
    frame="last",
    options_prompt=OPTIONS_PROMPT,
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"paired": PAIRED},
    prepare=prepare,
    schema=own_columns,
    submission=FORM,
    official_prompt=OFFICIAL_PROMPT,
    find_prompt=find_prompt,
    inquiries={"review": Inquiry("review", responses=2, kinds=TYPES, retimed=True)},
)
