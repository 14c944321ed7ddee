"""What a report shows of CaST-Bench: columns, published figures, panels and items of its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lmms_eval_tasks.cast_bench import metrics
from lmms_eval_tasks.cast_bench.card import CARD, OPTION_KINDS
from lmms_eval_tasks.cast_bench.item import predicted_tracks, tracks_of
from lmms_eval_tasks.cast_bench.prepare import frame_of
from lmms_eval_tasks.utils.evidence.reader import read_truth
from lmms_eval_tasks.utils.reporting.columns import OUTCOME_COLUMNS, interval_column, items_column, score_column
from lmms_eval_tasks.utils.reporting.figures import Bar, Point, scatter_plot, share_plot
from lmms_eval_tasks.utils.reporting.page_items import AnswerView, ItemView, Row, ShownClip
from lmms_eval_tasks.utils.reporting.panels import (
    Panel,
    RunRecords,
    answer_panels,
    apart_note,
    outcome_panel,
    whole_runs,
)
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, published_models
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.estimates import estimate

FOLDER = Path(__file__).parent
PUBLIC_QUESTIONS = 80
PUBLISHED = {
    metrics.ACCURACY: "qa_accuracy",
    metrics.FAITHFUL: "faithful",
    metrics.IM_TIOU: "IM-tIoU",
    metrics.IM_VIOU: "IM-vIoU",
}
"""The scores that stand beside published ones, and their names there."""
DIMENSION_HEADINGS = ("answer", "causal chain", "coverage", "overall")
GROUNDED = ("right, supported", "right, not supported", "wrong, supported", "wrong, not supported", "not graded")

# Intervals are over clips, as questions about one clip are not independent.
COLUMNS = (
    *(interval_column(metric, stacked=True) for metric in PUBLISHED),
    *OUTCOME_COLUMNS,
    items_column("questions"),
)
OPEN_COLUMNS = (
    interval_column(metrics.JUDGE_SCORE, stacked=True),
    *(
        score_column(metric, heading)
        for metric, heading in zip(metrics.JUDGE_DIMENSIONS, DIMENSION_HEADINGS, strict=True)
    ),
    *OUTCOME_COLUMNS,
    items_column("questions"),
)


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them: the project page's table of the full benchmark.

    A run of as many items as there are public questions stands beside the page's leaderboard of those.
    """
    public = items == PUBLIC_QUESTIONS
    split = "80-QA public example set" if public else "full"
    return tuple(
        ReferencedMetric(
            metric,
            chance=CARD.chance.get(metric.name),
            people=tuple(human for human in CARD.human if human.metric == metric.name and not public),
            published=published_models(
                FOLDER, source="cast-bench.github.io", metric=name, split=split, without=("Human",)
            ),
            note=f"Published scores are of the {PUBLIC_QUESTIONS} public questions." if public else "",
        )
        for metric, name in PUBLISHED.items()
    )


def open_references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """The judge's score, beside which nothing is published."""
    return (ReferencedMetric(metrics.JUDGE_SCORE),)


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Accuracy against grounding, outcomes, and letters."""
    return [*_grounding_panels(task, runs), *_distractor_panels(runs), outcome_panel(runs), *answer_panels(runs)]


def open_panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Outcomes alone: there are no letters, and no evidence to draw."""
    return [outcome_panel(runs)]


def _grounding_panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    bars = [Bar(run.name, Counter(_grounded(record) for record in run.records), run.tag) for run in runs]
    whole = whole_runs(runs)
    estimates = [
        (run, estimate(metrics.ACCURACY, run.parts), estimate(metrics.IM_VIOU, run.parts)) for run in whole or runs
    ]
    points = [Point(run.name, x.value, y.value, tag=run.tag) for run, x, y in estimates if x and y]
    named = {one.metric: one for one in references(task, max(len(run.records) for run in runs))}
    if whole:
        known = {metric: {model.model: model.value for model in one.published} for metric, one in named.items()}
        points += [
            Point(model, value, known[metrics.IM_VIOU][model], "published")
            for model, value in known[metrics.ACCURACY].items()
            if model in known[metrics.IM_VIOU]
        ]
    note = "Letters are the runs, small dots published models. Far right and low: right answers without the evidence."
    return [
        Panel(
            "Accuracy against grounding",
            scatter_plot(
                "Accuracy and IM-vIoU of the runs and of published models",
                points,
                ("accuracy, %", (0.0, 100.0)),
                ("IM-vIoU, %", (0.0, 100.0)),
                (named[metrics.ACCURACY].chance or 0.0, 0.0),
            ),
            f"{note} {apart_note(runs)}".strip(),
        ),
        Panel(
            "Right answer and right evidence",
            share_plot("Questions of each run by answer and evidence", bars, GROUNDED),
            "Supported: an instance of the answer's evidence matches a true one in time and space.",
        ),
    ]


def _distractor_panels(runs: Sequence[RunRecords]) -> list[Panel]:
    """Which kinds of wrong options were chosen; nothing where the release does not name kinds."""
    counts = [Counter(record.fields.get("chosen_kind") for record in run.records) for run in runs]
    bars = [
        Bar(run.name, {kind: of_run[kind] for kind in OPTION_KINDS}, run.tag)
        for run, of_run in zip(runs, counts, strict=True)
    ]
    if not any(sum(bar.counts.values()) for bar in bars):
        return []
    return [
        Panel(
            "Which wrong options were chosen",
            share_plot("Wrong answers of each run by the kind of option", bars, OPTION_KINDS),
            "Text-based options follow from the question alone, video-based ones from another moment of the clip; a "
            "near-miss differs from the answer, or from one of these two, in a detail.",
        )
    ]


def _grounded(record: Record) -> str:
    grounding = record.fields.get("grounding")
    if record.correct is None or grounding is None:
        return GROUNDED[-1]
    return GROUNDED[2 * (not record.correct) + (not grounding["supported"])]


def item_view(record: Record, row: Row) -> ItemView:
    """The clip and the true evidence."""
    return ItemView((ShownClip(row["clip"]),), frame_of(row), tracks_of(read_truth(row["evidence"])))


def open_item_view(record: Record, row: Row) -> ItemView:
    """The same, with the question without its options."""
    return replace(item_view(record, row), text=row["question"])


def answer_view(record: Record, row: Row, response: str) -> AnswerView:
    """The predicted evidence, read as it was when it was scored."""
    grounding = record.fields.get("grounding")
    if not grounding:
        return AnswerView({"evidence": str(record.fields.get("grounding_reason") or "unscored")})
    return AnswerView(
        {
            "IM-tIoU": f"{100 * grounding['im_tiou']:.1f}",
            "IM-vIoU": f"{100 * grounding['im_viou']:.1f}",
            "supported": "yes" if grounding["supported"] else "no",
        },
        predicted_tracks(response, record, row),
        tuple((pair["predicted"], pair["true"]) for pair in grounding["pairs"]),
    )


def open_answer_view(record: Record, row: Row, response: str) -> AnswerView:
    """The judge's scores."""
    scores = record.fields.get("scores") or {}
    return AnswerView({name.replace("_", " "): f"{value:g} of 10" for name, value in scores.items()})
