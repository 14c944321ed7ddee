"""IntPhys 2: is what a clip shows physically possible?"""

from dataclasses import replace

from lmms_eval_tasks.api import Benchmark, TaskKind
from lmms_eval_tasks.api.answers import PLAUSIBILITY_READER
from lmms_eval_tasks.api.losses import AnswerForm, guess_losses
from lmms_eval_tasks.api.runs import LogForm, log_line
from lmms_eval_tasks.intphys2 import report, surprise, surprise_metrics, surprise_report
from lmms_eval_tasks.intphys2.card import CARD
from lmms_eval_tasks.intphys2.metrics import DEBUG_METRICS, HELD_OUT_METRICS, METRICS
from lmms_eval_tasks.intphys2.prepare import own_columns, prepare
from lmms_eval_tasks.intphys2.prompt import OFFICIAL_PROMPTS, read_settings
from lmms_eval_tasks.intphys2.submission import FORM


class ClipFields(LogForm):
    """Fields of a record that the scores need besides the usual ones."""

    pair: str
    coding: str
    official_correct: bool | None
    official_answered: str | None


MAIN = TaskKind(
    metrics=METRICS,
    extractor=PLAUSIBILITY_READER,
    references=report.references,
    read_settings=read_settings,
    guesses=lambda row: ("Yes", "No"),
    best_of="single_accuracy_official",
    log_form=log_line(ClipFields, CARD.strata_columns),
    # Backwards, what is possible often is not: the key would no longer be true.
    views=("blind", "single_frame", "shuffled", "socratic"),
    no_submission="the leaderboard takes the held-out clips alone.",
)


class LossFields(LogForm):
    """Fields of a pair's losses that the scores need."""

    clips: list[str | None]
    motions: list[float | None]
    motion_equal: bool
    losses: list[float | str] | None
    timesteps: list[float]
    lowest: list[str]


SURPRISE = TaskKind(
    metrics=surprise_metrics.METRICS,
    columns=surprise_report.COLUMNS,
    references=surprise_report.references,
    panels=surprise_report.panels,
    item_view=surprise_report.item_view,
    answer_view=surprise_report.answer_view,
    visuals=surprise.CLIPS,
    guesses=lambda row: guess_losses(len(surprise.CLIPS)),
    answer_form=AnswerForm.CLIP_LOSSES,
    rows=surprise.matched_pairs,
    row_id=surprise.possible_clip,
    log_form=log_line(LossFields, CARD.strata_columns),
    views=(),
    no_submission="the leaderboard takes answers about single clips, and of the held-out ones alone.",
)

BENCHMARK = Benchmark(
    card=CARD,
    folder=report.FOLDER,
    kinds={
        "main": MAIN,
        # Asked by the official prompt that wants a digit.
        "main_digits": replace(MAIN, guesses=lambda row: ("1", "0")),
        "debug": replace(MAIN, metrics=DEBUG_METRICS),
        "surprise": SURPRISE,
        "heldout": replace(MAIN, metrics=HELD_OUT_METRICS, best_of="", no_submission=""),
    },
    prepare=prepare,
    schema=own_columns,
    submission=FORM,
    official_prompt=OFFICIAL_PROMPTS,
    clip_names_are_ids=True,
    # lmms-eval's own takes "No, this is not physically possible" for possible.
    replaces=frozenset({"intphys2_debug"}),
)
