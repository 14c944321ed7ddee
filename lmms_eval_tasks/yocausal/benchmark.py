"""YoCausal: whether a video diffusion model expects time to run forward."""

from lmms_eval_tasks.api import Benchmark, TaskKind
from lmms_eval_tasks.api.losses import AnswerForm
from lmms_eval_tasks.yocausal import report, vlm
from lmms_eval_tasks.yocausal.card import CARD
from lmms_eval_tasks.yocausal.cli import app
from lmms_eval_tasks.yocausal.log_forms import DirectionLine, PairLine
from lmms_eval_tasks.yocausal.metrics import METRICS, VLM_METRICS
from lmms_eval_tasks.yocausal.people import INQUIRIES, STUDY
from lmms_eval_tasks.yocausal.prepare import prepare
from lmms_eval_tasks.yocausal.prompt import OFFICIAL_PROMPT
from lmms_eval_tasks.yocausal.submission import FORM
from lmms_eval_tasks.yocausal.table import own_columns

DENOISING = TaskKind(
    metrics=METRICS,
    columns=report.COLUMNS,
    references=report.references,
    panels=report.panels,
    item_view=report.item_view,
    answer_view=report.answer_view,
    visuals=("clip", "clip_backward"),
    answer_form=AnswerForm.LOSSES,
    log_form=PairLine,
    views=(),
)

VLM = TaskKind(
    metrics=VLM_METRICS,
    columns=report.VLM_COLUMNS,
    references=report.vlm_references,
    members="directions",
    item_view=report.vlm_item_view,
    answer_view=report.vlm_answer_view,
    rows=vlm.both_directions,
    row_id=vlm.pair_id,
    log_form=DirectionLine,
    # A clip and its reversal are both asked: shown backwards, each is the other.
    views=("blind", "single_frame", "shuffled"),
    no_submission="the leaderboard ranks video diffusion models by their losses, and takes no answers in words. What "
    "can be submitted is a run of yocausal.",
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={"denoising": DENOISING, "vlm": VLM},
    layouts=report.LAYOUTS,
    prepare=prepare,
    schema=own_columns,
    submission=FORM,
    official_prompt=OFFICIAL_PROMPT,
    cli=app,
    inquiries=INQUIRIES,
    human_study=STUDY,
)
