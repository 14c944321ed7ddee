"""What a report page shows of CaST-Bench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lmms_eval_tasks.cast_bench.item import lanes_of, predicted_lanes
from lmms_eval_tasks.cast_bench.metrics import aggregate
from lmms_eval_tasks.cast_bench.prepare import SPLIT
from lmms_eval_tasks.cast_bench.scores import is_open, measures
from lmms_eval_tasks.utils.evidence.reader import read_truth
from lmms_eval_tasks.utils.reporting.figures import Bar, Point, scatter_plot, share_plot
from lmms_eval_tasks.utils.reporting.panels import Panel, Shown, answer_panels, outcome_panel
from lmms_eval_tasks.utils.reporting.views import AnswerView, Clip, ItemView, Row
from lmms_eval_tasks.utils.scoring.records import Record

GROUNDED = ("right, supported", "right, not supported", "wrong, supported", "wrong, not supported", "not graded")


def panels(task: str, runs: Sequence[Shown]) -> list[Panel]:
    """Accuracy against grounding, outcomes, and letters; of the task without options outcomes alone."""
    if is_open(task):
        return [outcome_panel(runs)]
    return [*_grounding_panels(task, runs), outcome_panel(runs), *answer_panels(runs)]


def _grounding_panels(task: str, runs: Sequence[Shown]) -> list[Panel]:
    bars, points = [], []
    for run in runs:
        bars.append(Bar(run.name, Counter(_grounded(record) for record in run.records), run.tag))
        scores = aggregate(run.records)
        if scores["accuracy"] is not None and scores["im_viou"] is not None:
            points.append(Point(run.name, scores["accuracy"], scores["im_viou"], tag=run.tag))
    items = max(len(run.records) for run in runs)
    named = {measure.name: measure for measure in measures(task, items)}
    known = {name: {model.model: model.value for model in measure.published} for name, measure in named.items()}
    points += [
        Point(model, value, known["im_viou"][model], "published")
        for model, value in known["accuracy"].items()
        if model in known["im_viou"]
    ]
    return [
        Panel(
            "Accuracy against grounding",
            scatter_plot(
                "Accuracy and IM-vIoU of the runs and of published models",
                points,
                ("accuracy, %", (0.0, 100.0)),
                ("IM-vIoU, %", (0.0, 100.0)),
                (named["accuracy"].chance or 0.0, 0.0),
            ),
            "Letters are the runs, small dots published models. Far right and low: right answers without the evidence.",
        ),
        Panel(
            "Right answer and right evidence",
            share_plot("Questions of each run by answer and evidence", bars, GROUNDED),
            "Supported: an instance of the answer's evidence matches a true one in time and space.",
        ),
    ]


def _grounded(record: Record) -> str:
    grounding = record.fields.get("grounding")
    if record.correct is None or grounding is None:
        return GROUNDED[-1]
    return GROUNDED[2 * (not record.correct) + (not grounding["supported"])]


def split(task: str) -> str:
    """Both tasks ask the one split."""
    return SPLIT


def row_id(task: str, item_id: str) -> str:
    """The prepared row has the item's id."""
    return item_id


def item_view(task: str, record: Record, row: Row) -> ItemView:
    """The clip and the true evidence; the task without options shows none."""
    frame = (row["width"], row["height"]) if row["width"] and row["height"] else None
    text = row["question"] if is_open(task) else None
    return ItemView((Clip(row["clip"]),), frame, lanes_of(read_truth(row["evidence"])), text)


def answer_view(task: str, record: Record, row: Row, response: str) -> AnswerView:
    """The predicted evidence, read as it was when it was scored; of a graded answer what the judge said."""
    if is_open(task):
        return AnswerView(_judged(record))
    grounding = record.fields.get("grounding")
    if not grounding:
        return AnswerView({"evidence": str(record.fields.get("grounding_reason") or "unscored")})
    return AnswerView(
        {
            "IM-tIoU": f"{100 * grounding['im_tiou']:.1f}",
            "IM-vIoU": f"{100 * grounding['im_viou']:.1f}",
            "supported": "yes" if grounding["supported"] else "no",
        },
        predicted_lanes(response, record, row),
        tuple((pair["predicted"], pair["true"]) for pair in grounding["pairs"]),
    )


def _judged(record: Record) -> dict[str, str]:
    scores = record.fields.get("scores") or {}
    facts = {name.replace("_", " "): f"{value:g} of 10" for name, value in scores.items()}
    if said := record.fields.get("explanation"):
        facts["judge"] = str(said)
    return facts
