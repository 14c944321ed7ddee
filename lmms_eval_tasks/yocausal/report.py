"""What a report shows of YoCausal: columns, published figures, panels and items of its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.utils.benchmark.card import Human
from lmms_eval_tasks.utils.reporting.columns import PAIR_COLUMNS, Column, interval_column, score_column
from lmms_eval_tasks.utils.reporting.figures import Bar, Point, around_zero, scatter_plot, share_plot
from lmms_eval_tasks.utils.reporting.page_items import AnswerView, ItemView, Row, ShownClip
from lmms_eval_tasks.utils.reporting.panels import (
    Panel,
    RunRecords,
    answer_panels,
    apart_note,
    consistency_panel,
    outcome_panel,
    whole_runs,
)
from lmms_eval_tasks.utils.reporting.references import (
    ReferencedMetric,
    compare_to_reference,
    pair_references,
    published_models,
)
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.estimates import Records, estimate
from lmms_eval_tasks.yocausal import metrics
from lmms_eval_tasks.yocausal.card import CARD, FORWARD

FOLDER = Path(__file__).parent
CHANCE = CARD.chance["rsi"]
WINNERS = ("forward", "backward", "tie", "non-finite", "unscored")


def _against_chance(parts: Sequence[Records]) -> str:
    """Whether the 95% interval of RSI excludes 50%, and on which side."""
    rsi = estimate(metrics.RSI, parts)
    return compare_to_reference(rsi, CHANCE) if rsi else "N/A"


COLUMNS = (
    interval_column(metrics.RSI, stacked=True),
    Column("vs 50", _against_chance),
    interval_column(metrics.CCI, stacked=True),
    interval_column(metrics.CCI_NORMALISED, stacked=True),
    score_column(metrics.RSI_CAUSAL),
    score_column(metrics.RSI_NON_CAUSAL),
    score_column(metrics.TIE_RATE),
    score_column(metrics.NON_FINITE_RATE),
    score_column(metrics.UNSCORED_RATE),
    score_column(metrics.PAIRS),
)
VLM_COLUMNS = (*PAIR_COLUMNS[:2], score_column(metrics.HUMAN_PROTOCOL), *PAIR_COLUMNS[3:])
"""As of any pairs, with the score of the study of people where others have the official reading."""


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """RSI and CCI beside their published figures: paper, Tables 4 and 5."""
    rsi = published_models(FOLDER, source="YoCausal Table 4", without=("Human",), metric="RSI", split="all (RSI(D))")
    cci = published_models(FOLDER, source="YoCausal Table 5", without=("Human",), metric="CCI(D)")
    return (
        ReferencedMetric(metrics.RSI, CHANCE, _people("rsi"), rsi),
        ReferencedMetric(metrics.CCI, CARD.chance["cci"], _people("cci"), cci),
    )


def vlm_references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """The score of the study of people beside theirs, then the accuracies."""
    note = "Scored as the paper's study of people was: an answer that it cannot be told counts half."
    return (ReferencedMetric(metrics.HUMAN_PROTOCOL, CHANCE, _people("rsi"), note=note), *pair_references())


def _people(metric: str) -> tuple[Human, ...]:
    return tuple(human for human in CARD.human if human.metric == metric)


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """RSI against CCI, winners and outcomes."""
    return [_rsi_against_cci(runs, *references(task, 0)), _winners(runs), outcome_panel(runs)]


def vlm_panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Consistency between the two directions, outcomes, and letters."""
    return [consistency_panel(runs, "directions"), outcome_panel(runs), *answer_panels(runs)]


def _rsi_against_cci(runs: Sequence[RunRecords], rsi: ReferencedMetric, cci: ReferencedMetric) -> Panel:
    whole = whole_runs(runs)
    estimates = ((run, rsi.estimate(run.parts), cci.estimate(run.parts)) for run in whole or runs)
    points = [Point(run.name, x.value, y.value, tag=run.tag) for run, x, y in estimates if x and y]
    if whole:
        published_cci = {model.model: model.value for model in cci.published}
        points += [
            Point(model.model, model.value, published_cci[model.model], "published")
            for model in rsi.published
            if model.model in published_cci
        ]
        points.append(Point("people", rsi.people[0].percent, cci.people[0].percent, "people"))
    figure = scatter_plot(
        "RSI and CCI of the runs, of published models and of people",
        points,
        ("RSI, %", rsi.metric.bounds),
        ("CCI, percentage points", around_zero([point.y for point in points], cci.metric.bounds[1])),
        (rsi.chance or 0.0, cci.chance or 0.0),
    )
    note = (
        "Letters are the runs, small dots published models. Lines cross at chance: right of it a model finds time "
        "running forward more likely, above it more so where there is cause and effect."
    )
    return Panel("RSI against CCI", figure, f"{note} {apart_note(runs)}".strip())


def _winners(runs: Sequence[RunRecords]) -> Panel:
    bars = []
    for run in runs:
        counts = dict.fromkeys(WINNERS, 0)
        for record in run.records:
            counts[(record.answered or "unscored").replace("_", "-")] += 1
        bars.append(Bar(run.name, counts, run.tag))
    return Panel(
        "Which direction has the lower loss",
        share_plot("Pairs of each run by winner", bars, WINNERS),
        "Ties are no wins and stay in the denominator, as in the official code.",
    )


def item_view(record: Record, row: Row) -> ItemView:
    """The pair's two clips, and the caption with which a diffusion model is prompted."""
    clips = (ShownClip(row["clip"], "forward"), ShownClip(row["clip_backward"], "reversed"))
    return ItemView(clips, text=row["caption"] or "No caption.")


def answer_view(record: Record, row: Row, response: str) -> AnswerView:
    """The two losses."""
    loss = record.fields.get("loss") or {}
    return AnswerView({f"loss {side}": f"{value:.6g}" for side, value in loss.items()})


def vlm_item_view(record: Record, row: Row) -> ItemView:
    """The pair's two clips, of which the model was shown one."""
    forward = record.expected == FORWARD
    clips = (
        ShownClip(row["clip"], "forward", forward),
        ShownClip(row["clip_backward"], "reversed", not forward),
    )
    return ItemView(clips)


def vlm_answer_view(record: Record, row: Row, response: str) -> AnswerView:
    """The credit that the protocol for people gives."""
    credit = record.fields.get("human_credit")
    return AnswerView({"credit by the protocol for people": "none" if credit is None else f"{credit:g}"})
