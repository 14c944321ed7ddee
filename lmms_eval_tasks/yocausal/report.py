"""Report of YoCausal: columns, published figures, panels and items of its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Column,
    Human,
    Panel,
    Record,
    Row,
    RunRecords,
    share_plot,
)
from lmms_eval_tasks.api.losses import read_denoising
from lmms_eval_tasks.api.page import (
    AnswerView,
    ItemView,
    Layout,
    LayoutPlace,
    ReferencedMetric,
    outcome_panel,
    published_models,
    scatter_panel,
    timestep_plot,
)
from lmms_eval_tasks.yocausal import card
from lmms_eval_tasks.yocausal.card import CARD, FORWARD, TASK
from lmms_eval_tasks.yocausal.result_file import losses_by_timestep

FOLDER = Path(__file__).parent
CHANCE = CARD.chance["rsi"]
WINNERS = ("forward", "backward", "tie", "non-finite", "unscored")

COLUMNS = (
    Column(card.RSI, interval=True),
    Column(card.RSI, "vs 50", against=CHANCE),
    Column(card.CCI, interval=True),
    Column(card.CCI_NORMALISED, interval=True),
    Column(card.RSI_CAUSAL),
    Column(card.RSI_NON_CAUSAL),
    Column(card.RSI_SYMMETRIC),
    Column(card.TIE_RATE),
    Column(card.NON_FINITE_RATE),
    Column(card.UNSCORED_RATE),
    Column(card.PAIRS),
)
VLM_COLUMNS = (
    Column(PAIR_ACCURACY, interval=True),
    Column(SINGLE_ACCURACY, interval=True),
    Column(card.HUMAN_PROTOCOL),
    *map(Column, COMMON_METRICS[:2]),
    Column(PAIRS_SCORED),
)


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """RSI and CCI beside their published figures: paper, Tables 4 and 5."""
    rsi = published_models(FOLDER, source="YoCausal Table 4", without=("Human",), metric="RSI", split="all (RSI(D))")
    cci = published_models(FOLDER, source="YoCausal Table 5", without=("Human",), metric="CCI(D)")
    return (
        ReferencedMetric(card.RSI, CHANCE, _people("rsi"), rsi),
        ReferencedMetric(card.CCI, CARD.chance["cci"], _people("cci"), cci),
    )


def vlm_references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """The score of the study of people beside theirs, then the accuracies."""
    note = "Scored as the paper's study of people was: an answer that it cannot be told counts half."
    return (
        ReferencedMetric(card.HUMAN_PROTOCOL, CHANCE, _people("rsi"), note=note),
        ReferencedMetric(PAIR_ACCURACY),
        ReferencedMetric(SINGLE_ACCURACY),
    )


def _people(metric: str) -> tuple[Human, ...]:
    return tuple(human for human in CARD.human if human.metric == metric)


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    note = (
        "Numbers are the runs. Lines cross at chance: right of it a model finds time "
        "running forward more likely, above it more so where there is cause and effect."
    )
    rsi, cci = references(task, 0)
    compared = scatter_panel("RSI against CCI", runs, rsi, cci, note)
    return [compared, _winners(runs), *_by_timestep(runs), outcome_panel(runs)]


def _winners(runs: Sequence[RunRecords]) -> Panel:
    counts = [Counter((record.answered or "unscored").replace("_", "-") for record in run.records) for run in runs]
    return Panel(
        "Which direction has the lower loss",
        share_plot("Pairs of each run by winner", runs, counts, WINNERS),
        "Ties are no wins and stay in the denominator, as in the official code.",
    )


def _by_timestep(runs: Sequence[RunRecords]) -> list[Panel]:
    """The mean loss of each direction at each timestep, a figure a run: the losses of two models have no common
    scale."""
    figures = []
    for run in runs:
        timesteps = sorted({one for record in run.records for one in record.fields.get("timesteps") or ()})
        if timesteps:
            curves = [
                ("forward", run, partial(card.loss_at, "forward")),
                ("reversed", run, partial(card.loss_at, "backward")),
            ]
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


OF_RUNS = "Of runs, `lmms-eval-tasks yocausal rank RUNS {}` has them."


def _compared(entry: Mapping[str, Any]) -> str:
    """Return the quantity with which the ranking is compared, and the number of models."""
    other = entry["metric"].removeprefix("correlation of aggregate ranking with ")
    return f"{other}, {entry['model']}" if other != entry["metric"] else str(entry["model"])


def _correlations(number: str, what: str, option: str) -> Layout:
    places: Sequence[LayoutPlace] = (
        LayoutPlace("Kendall tau", TASK, None, {}),
        LayoutPlace("p", TASK, None, {}, field="p_value"),
    )
    sources = (f"YoCausal Table {number}",)
    return Layout(f"Table {number}: {what}", sources, places, name=_compared, digits=4, note=OF_RUNS.format(option))


LAYOUTS = (
    _correlations("3", "the ranking by one judge's labels against another's", "--labels FILE"),
    Layout(
        "Table 5: models on causal and other clips",
        ("YoCausal Table 5",),
        [
            LayoutPlace("causal", TASK, card.RSI_CAUSAL, {"metric": "RSI(Dc)"}),
            LayoutPlace("not causal", TASK, card.RSI_NON_CAUSAL, {"metric": "RSI(Dnc)"}),
            LayoutPlace("difference", TASK, card.CCI, {"metric": "CCI(D)"}),
            LayoutPlace("normalised", TASK, card.CCI_NORMALISED, {"metric": "Normalized CCI"}),
        ],
        digits=2,
    ),
    _correlations("6", "the ranking against other scores, dates and sizes", "--published --against FILE"),
)
