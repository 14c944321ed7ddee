"""YoCausal: whether a video diffusion model expects time to run forward.

Source of what people are asked: paper, section on people: they see the prompt, which is the clip's caption, then both
clips in random order, each played three times at most; *unknown* counts half, about 20% of the answers were that;
RSI 79.08 (Table 4) and CCI 8.67 (Table 5). Which pairs people can tell is not said there: more than half is ours.
Figure 6b compares the judge's causality labels of 60 clips with people's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import typer

from lmms_eval_tasks.api import AskedItem, Benchmark, Inquiry, OfferedChoice, Row, TaskKind
from lmms_eval_tasks.api.losses import AnswerForm
from lmms_eval_tasks.api.people import HumanStudy
from lmms_eval_tasks.yocausal import card, hooks, labelling, ranking, report, result_file
from lmms_eval_tasks.yocausal.card import CARD, CAUSALITY, DISCRIMINABLE, SUBSETS, stratum
from lmms_eval_tasks.yocausal.prepare import own_columns, prepare

STUDY = HumanStudy(
    versions={"forward_first": "SECOND", "reversed_first": "FIRST"},
    choices=("FIRST", "SECOND"),
    metrics=(
        card.RSI,
        *card.RSI.by("subset", SUBSETS),
        card.RSI.within("causal", lambda record: record.fields[CAUSALITY] is True),
        card.RSI.within("non_causal", lambda record: record.fields[CAUSALITY] is False),
        replace(card.CCI, applies=lambda record: isinstance(record.fields[CAUSALITY], bool)),
    ),
    stratum=stratum,
    columns=(CAUSALITY,),
    label=DISCRIMINABLE,
)
REPLAYS = 2
"""After the first play, so that there are three at most."""
CAUSAL, NOT_CAUSAL = "CAUSAL", "NOT_CAUSAL"


def ask_pairs(rows: Sequence[Row]) -> list[AskedItem]:
    """Which clip of each pair is reversed, asked in either order, after its caption was read."""
    choices = tuple(OfferedChoice(choice, "", choice.capitalize()) for choice in STUDY.choices)
    asked = []
    for row in rows:
        clips = row["clip"], row["clip_backward"]
        one = AskedItem(
            item=row["item_id"],
            item_id=row["item_id"],
            question="One of these two clips is played in reverse. Which one?",
            ways={"forward_first": clips, "reversed_first": clips[::-1]},
            choices=(*choices, OfferedChoice("UNKNOWN", "", "I cannot tell")),
            labels=tuple(choice.text for choice in choices),
            replays=REPLAYS,
            before=row["caption"] or "",
        )
        asked.append(one)
    return asked


def ask_causality(rows: Sequence[Row]) -> list[AskedItem]:
    """Whether the forward clip of each pair that a judge has labelled shows cause and effect; the label is its key."""
    choices = OfferedChoice(CAUSAL, "Y", "Yes, it does"), OfferedChoice(NOT_CAUSAL, "N", "No, it does not")
    question = "Is there an event in this clip that visibly causes another event in it?"
    asked = []
    for row in rows:
        if row[CAUSALITY] is not None:
            name, key = row["item_id"], CAUSAL if row[CAUSALITY] else NOT_CAUSAL
            asked.append(AskedItem(name, name, question, {"": (row["clip"],)}, choices, key))
    return asked


INQUIRIES = {
    "answer": Inquiry("choice", ask_pairs, responses=15, attention=2),
    "causality": Inquiry(
        "choice",
        ask_causality,
        attention=2,
        positive=CAUSAL,
        paper={"F1": "82.76", "Kendall tau-b": "0.7613"},
    ),
}

commands = typer.Typer(no_args_is_help=True, help="Commands of YoCausal alone.")
commands.command()(ranking.rank)
commands.command()(labelling.label)

DENOISING = TaskKind(
    metrics=card.METRICS,
    ask=hooks.ask,
    grade=hooks.grade,
    warn=hooks.warnings,
    columns=report.COLUMNS,
    references=report.references,
    panels=report.panels,
    item_view=report.item_view,
    answer_view=report.answer_view,
    visuals=("clip", "clip_backward"),
    answer_form=AnswerForm.LOSSES,
    log_form=hooks.PairLine,
    views=(),
)

VLM = TaskKind(
    metrics=card.VLM_METRICS,
    grade=hooks.grade_direction,
    columns=report.VLM_COLUMNS,
    references=report.vlm_references,
    members="directions",
    item_view=report.vlm_item_view,
    answer_view=report.vlm_answer_view,
    rows=hooks.both_directions,
    row_id=lambda item_id: item_id.rpartition("_")[0],
    log_form=hooks.DirectionLine,
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
    submission=result_file.FORM,
    official_prompt=labelling.OFFICIAL_PROMPT,
    cli=commands,
    inquiries=INQUIRIES,
    human_study=STUDY,
)
