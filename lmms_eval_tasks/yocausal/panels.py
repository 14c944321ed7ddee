"""What a report page shows of YoCausal."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.utils.reporting.figures import Bar, Point, around_zero, scatter_plot, share_plot
from lmms_eval_tasks.utils.reporting.panels import Panel, Shown, answer_panels, consistency_panel, outcome_panel
from lmms_eval_tasks.utils.reporting.views import AnswerView, Clip, ItemView, Row
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.yocausal.card import FORWARD
from lmms_eval_tasks.yocausal.scores import measures
from lmms_eval_tasks.yocausal.table import SPLIT

VLM_TASK = "yocausal_vlm"
WINNERS = ("forward", "backward", "tie", "non-finite", "unscored")


def panels(task: str, runs: Sequence[Shown]) -> list[Panel]:
    """RSI against CCI and winners; of the task for models that answer in words consistency, outcomes and letters."""
    if task == VLM_TASK:
        return [consistency_panel(runs, "directions"), outcome_panel(runs), *answer_panels(runs)]
    return [*_plane(task, runs), _winners(runs), outcome_panel(runs)]


def _plane(task: str, runs: Sequence[Shown]) -> list[Panel]:
    rsi, cci = measures(task, max(len(run.records) for run in runs))
    points = []
    for run in runs:
        across, up = rsi.estimate(run.parts), cci.estimate(run.parts)
        if across and up:
            points.append(Point(run.name, across.value, up.value, tag=run.tag))
    known = {model.model: model.value for model in cci.published}
    points += [
        Point(model.model, model.value, known[model.model], "published")
        for model in rsi.published
        if model.model in known
    ]
    points.append(Point("people", rsi.people[0].percent, cci.people[0].percent, "people"))
    figure = scatter_plot(
        "RSI and CCI of the runs, of published models and of people",
        points,
        ("RSI, %", rsi.bounds),
        ("CCI, percentage points", around_zero([point.y for point in points], cci.bounds[1])),
        (rsi.chance or 0.0, cci.chance or 0.0),
    )
    note = (
        "Letters are the runs, small dots published models. Lines cross at chance: right of it a model finds time "
        "running forward more likely, above it more so where there is cause and effect."
    )
    return [Panel("RSI against CCI", figure, note)]


def _winners(runs: Sequence[Shown]) -> Panel:
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


def split(task: str) -> str:
    """Both tasks ask the one split."""
    return SPLIT


def row_id(task: str, item_id: str) -> str:
    """The pair of an item; the two clips of a pair are two items of the task for models that answer in words."""
    return item_id.rpartition("_")[0] if task == VLM_TASK else item_id


def item_view(task: str, record: Record, row: Row) -> ItemView:
    """The pair's two clips, and the caption with which a diffusion model is prompted."""
    both, forward = task != VLM_TASK, record.expected == FORWARD
    return ItemView(
        (
            Clip(row["clip"], "forward", both or forward),
            Clip(row["clip_backward"], "reversed", both or not forward),
        ),
        text=(row["caption"] or "No caption.") if both else None,
    )


def answer_view(task: str, record: Record, row: Row, response: str) -> AnswerView:
    """The two losses, or the credit that the protocol for people gives."""
    if task == VLM_TASK:
        credit = record.fields.get("human_credit")
        return AnswerView({"credit by the protocol for people": "none" if credit is None else f"{credit:g}"})
    loss = record.fields.get("loss") or {}
    return AnswerView({f"loss {side}": f"{value:.6g}" for side, value in loss.items()})
