"""YoCausal: whether a video diffusion model expects time to run forward.

Source of what people are asked: paper, section on people: they see the prompt, which is the clip's caption, then both
clips in random order, each played three times at most; *unknown* counts half, about 20% of the answers were that;
RSI 79.08 (Table 4) and CCI 8.67 (Table 5). Which pairs people can tell is not said there: more than half is ours.
Figure 6b compares the judge's causality labels of 60 clips with people's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    AskedItem,
    Benchmark,
    Column,
    Inquiry,
    OfferedChoice,
    Panel,
    Record,
    Row,
    RunRecords,
    TaskKind,
    share_plot,
)
from lmms_eval_tasks.api.losses import AnswerForm, read_denoising
from lmms_eval_tasks.api.page import (
    AnswerView,
    ItemView,
    Layout,
    LayoutPlace,
    outcome_panel,
    scatter_panel,
    timestep_plot,
)
from lmms_eval_tasks.api.people import HumanStudy
from lmms_eval_tasks.api.runs import Run
from lmms_eval_tasks.yocausal import card, hooks, labelling, ranking, result_file
from lmms_eval_tasks.yocausal.card import CARD, CAUSALITY, DISCRIMINABLE, FORWARD, SUBSETS, TASK, stratum
from lmms_eval_tasks.yocausal.prepare import own_columns, prepare
from lmms_eval_tasks.yocausal.result_file import losses_by_timestep
from lmms_eval_tasks.yocausal.sample import SAMPLE

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
    keys = {True: CAUSAL, False: NOT_CAUSAL}
    return [
        AskedItem(row["item_id"], row["item_id"], question, {"": (row["clip"],)}, choices, keys[row[CAUSALITY]])
        for row in rows
        if row[CAUSALITY] is not None
    ]


INQUIRIES = {
    "answer": Inquiry("choice", ask_pairs, responses=15, attention=2),
    "causality": Inquiry(
        "choice", ask_causality, attention=2, positive=CAUSAL, paper={"F1": "82.76", "Kendall tau-b": "0.7613"}
    ),
}

# ---- what a report shows -------------------------------------------------------------------------------------------

WINNERS = ("forward", "backward", "tie", "non-finite", "unscored")
COLUMNS = (
    Column(card.RSI, interval=True),
    Column(card.RSI, "vs 50", against=CARD.chance["rsi"]),
    Column(card.CCI, interval=True),
    Column(card.CCI_NORMALISED, interval=True),
    *map(Column, (card.RSI_CAUSAL, card.RSI_NON_CAUSAL, card.RSI_SYMMETRIC)),
    *map(Column, (card.TIE_RATE, card.NON_FINITE_RATE, card.UNSCORED_RATE, card.PAIRS)),
)
VLM_COLUMNS = (
    Column(PAIR_ACCURACY, interval=True),
    Column(SINGLE_ACCURACY, interval=True),
    Column(card.HUMAN_PROTOCOL),
    Column(COMMON_METRICS.unparsed),
    Column(COMMON_METRICS.unscored),
    Column(PAIRS_SCORED),
)


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    note = (
        "Numbers are the runs. Lines cross at chance: right of it a model finds time "
        "running forward more likely, above it more so where there is cause and effect."
    )
    rsi, cci = card.references(task, 0)
    compared = scatter_panel("RSI against CCI", runs, rsi, cci, note)
    counts = [Counter((record.answered or "unscored").replace("_", "-") for record in run.records) for run in runs]
    winners = Panel(
        "Which direction has the lower loss",
        share_plot("Pairs of each run by winner", runs, counts, WINNERS),
        "Ties are no wins and stay in the denominator, as in the official code.",
    )
    return [compared, winners, *_by_timestep(runs), outcome_panel(runs)]


def _by_timestep(runs: Sequence[RunRecords]) -> list[Panel]:
    """The mean loss of each direction at each timestep, a figure a run: the losses of two models have no common
    scale."""
    figures = []
    for run in runs:
        timesteps = sorted({one for record in run.records for one in record.fields.get("timesteps") or ()})
        if timesteps:
            sides = {"forward": "forward", "reversed": "backward"}
            curves = [(name, run, partial(card.loss_at, side)) for name, side in sides.items()]
            caption = f"Mean loss of {run.name} by timestep, of clips as filmed and reversed"
            figures.append(timestep_plot(caption, timesteps, curves, run, digits=4))
    note = (
        "Means over the pairs with finite losses, from little noise to much. Bars are 95% intervals over clips of each "
        "direction alone; a pair's two losses go together, so its winner is surer than they look."
    )
    return [Panel("Loss against the timestep", figures, note)] if figures else []


def item_view(record: Record, row: Row) -> ItemView:
    return ItemView(_clips(row), text=row["caption"] or "No caption.")


def _clips(row: Row) -> dict[str, str]:
    return {"forward": row["clip"], "reversed": row["clip_backward"]}


def answer_view(record: Record, row: Row, response: str) -> AnswerView:
    loss = record.fields.get("loss") or {}
    facts = {f"loss {side}": f"{value:.6g}" for side, value in loss.items()}
    answer = read_denoising(response)
    if answer is None or answer.losses is None:
        return AnswerView(facts)
    sides = {
        name: list(zip(answer.timesteps, losses, strict=True))
        for name, losses in zip(_clips(row), losses_by_timestep(answer).values(), strict=True)
    }
    return AnswerView(facts, curves=sides, axes=("timestep, from clean to noise", "loss"))


def vlm_item_view(record: Record, row: Row) -> ItemView:
    return ItemView(_clips(row), unasked=("reversed",) if record.expected == FORWARD else ("forward",))


def vlm_answer_view(record: Record, row: Row, response: str) -> AnswerView:
    credit = record.fields.get("human_credit")
    return AnswerView({"credit by the protocol for people": "none" if credit is None else f"{credit:g}"})


OF_RUNS = "`lmms-eval-tasks yocausal rank RUNS {}` prints it of runs, beside these figures."
PRINTED_SUBSETS = ("general", "physics", "human", "animal")
"""In the order of the paper's Table 4."""


def _compared(entry: Mapping[str, Any]) -> str:
    """Return the quantity with which the ranking is compared, and the number of models."""
    other = entry["metric"].removeprefix(ranking.CORRELATED)
    return f"{other}, {entry['model']}" if other != entry["metric"] else str(entry["model"])


def _correlations(number: str, what: str, option: str, note: str = "") -> Layout:
    places: Sequence[LayoutPlace] = (
        LayoutPlace("Kendall tau", TASK, None, {"unit": ranking.TAU}),
        LayoutPlace("Pearson r", TASK, None, {"unit": ranking.PEARSON}),
        LayoutPlace("p", TASK, None, {}, field="p_value"),
    )
    sources = (f"YoCausal Table {number}",)
    note = "\n".join(filter(None, [note, OF_RUNS.format(option)]))
    return Layout(f"Table {number}: {what}", sources, places, name=_compared, digits=4, note=note)


def _with_caption(runs: Sequence[Run]) -> list[str | None]:
    """All runs but those with the null prompt."""
    ranked = ranking.without_null_prompt(runs)
    return ["" if run in ranked else None for run in runs]


def _by_prompt(runs: Sequence[Run]) -> list[str | None]:
    """The prompt of each run of a model that was measured with both."""
    prompts = (ranking.FORWARD_PROMPT, ranking.NULL)
    both = [zip(pair, prompts, strict=True) for pair in ranking.runs_by_prompt(runs).values()]
    named = [(run, f"{prompt} prompt") for pair in both for run, prompt in pair]
    return [next((prompt for other, prompt in named if other is run), None) for run in runs]


_ALL = {"metric": "RSI", "split": "all (RSI(D))"}
NULL_LEFT_OUT = "measured with the null prompt, which is Table 7's, and not shown."
LAYOUTS = (
    _correlations("3", "the ranking by one judge's labels against another's", "--labels FILE"),
    Layout(
        "Table 4: models by subset",
        ("YoCausal Table 4",),
        [
            *(
                LayoutPlace(subset, TASK, metric, {"metric": "RSI", "split": subset.capitalize()})
                for subset, metric in zip(PRINTED_SUBSETS, card.RSI.by("subset", PRINTED_SUBSETS), strict=True)
            ),
            LayoutPlace("mean", TASK, card.RSI, _ALL),
        ],
        take=_with_caption,
        left_out=NULL_LEFT_OUT,
        digits=2,
        note="Models lost clips of the human subset, so denominators differ. CogVideoX-5B's 31.10 is no share of 500, "
        "and people's 91.70 none of 132.",
    ),
    Layout(
        "Table 5: models on causal and other clips",
        ("YoCausal Table 5",),
        [
            LayoutPlace("difference", TASK, card.CCI, {"metric": "CCI(D)"}),
            LayoutPlace("normalised", TASK, card.CCI_NORMALISED, {"metric": "Normalized CCI"}),
            LayoutPlace("causal", TASK, card.RSI_CAUSAL, {"metric": "RSI(Dc)"}),
            LayoutPlace("not causal", TASK, card.RSI_NON_CAUSAL, {"metric": "RSI(Dnc)"}),
        ],
        take=_with_caption,
        left_out=NULL_LEFT_OUT,
        digits=2,
    ),
    _correlations(
        "6",
        "the ranking against other scores, dates and sizes",
        "--published --against FILE",
        "The paper prints its figures of release dates and parameters under Kendall's tau; by their p-values they are "
        "Pearson's r.",
    ),
    Layout(
        "Table 7: with the caption and with the null prompt",
        ("YoCausal Table 7",),
        [
            LayoutPlace("RSI", TASK, card.RSI, {"metric": "RSI"}),
            LayoutPlace("CCI", TASK, card.CCI, {"metric": "CCI(D)"}),
        ],
        name=lambda entry: f"{entry['model']}, {entry['prompt']}",
        take=_by_prompt,
        digits=2,
        note="LTX-Video's CCI of 0.93 contradicts Table 5, which has -0.20; 0.93 is CogVideoX-2B's there.",
    ),
)

# ---- all of it -----------------------------------------------------------------------------------------------------

DENOISING = TaskKind(
    metrics=card.METRICS,
    ask=hooks.ask,
    grade=hooks.grade,
    warn=hooks.warnings,
    columns=COLUMNS,
    references=card.references,
    panels=panels,
    item_view=item_view,
    answer_view=answer_view,
    visuals=("clip", "clip_backward"),
    answer_form=AnswerForm.LOSSES,
    log_form=hooks.PairLine,
    views=(),
)

VLM = TaskKind(
    metrics=card.VLM_METRICS,
    grade=hooks.grade_direction,
    columns=VLM_COLUMNS,
    references=card.vlm_references,
    members="directions",
    item_view=vlm_item_view,
    answer_view=vlm_answer_view,
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
    folder=card.FOLDER,
    kinds={"denoising": DENOISING, "vlm": VLM},
    layouts=LAYOUTS,
    statistics=labelling.table_statistics,
    prepare=prepare,
    schema=own_columns,
    submission=result_file.FORM,
    official_prompt=labelling.OFFICIAL_PROMPT,
    inquiries=INQUIRIES,
    human_study=STUDY,
    sample=SAMPLE,
)
