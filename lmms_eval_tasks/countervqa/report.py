"""Report of CounterVQA: the paper's table, floors, published figures, answers, and causal graphs of its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    PAIR_ACCURACY,
    Column,
    Metric,
    Panel,
    Record,
    Row,
    RunRecords,
    share_plot,
)
from lmms_eval_tasks.api.answers import BALANCED_ACCURACY, NO, VERDICT_ACCURACY, YES
from lmms_eval_tasks.api.page import (
    AnswerView,
    EventGraph,
    Figure,
    ItemView,
    Layout,
    LayoutPlace,
    ReferencedMetric,
    heat_map,
    outcome_panel,
    published_models,
    usual_panels,
)
from lmms_eval_tasks.countervqa import card
from lmms_eval_tasks.countervqa.card import ABSENT_LEVEL, AVERAGE, CARD, CELLS, INTERACTIONS, LEVELS, TOTAL
from lmms_eval_tasks.countervqa.errors import kind_counts, mean_readability, read_analysis
from lmms_eval_tasks.countervqa.release import read_graph

FOLDER = Path(__file__).parent
OTHER_RULE = (
    "The paper's scoring rule is not published, and its vanilla scores lie far below the 50% of a guess; ours counts "
    "the verdict alone."
)

PROBE_COLUMNS = (
    Column(card.DETECTION, interval=True),
    *map(Column, (card.DETECTION_ABSENT, card.DETECTION_PRESENT, card.DETECTION_BALANCED)),
    Column(card.GIVEN_DETECTION, interval=True),
    Column(card.GIVEN_ABSENCE, "… of the absent"),
    Column(COMMON_METRICS.unparsed),
    Column(COMMON_METRICS.unscored),
)
DETECTIONS = ("both right", "verdict alone", "detection alone", "neither", "unscored")

READABILITY_NOTE = "Readability, of 5, is by two people; of a run's answers `countervqa errors` has a judge rate it."
TEACHER_NOTE = "The paper does not say on which questions it prompted the teacher, nor how it read the answers."


def _shown_to(entry: Mapping[str, Any]) -> str:
    """A model of Table 1 without what it was shown, which is a column."""
    return str(entry["model"]).partition(" (")[0]


LAYOUTS = (
    Layout(
        "Table 1: a teacher that is shown the video (V), and the annotations too (V+A)",
        ("CounterVQA paper Table 1",),
        [
            LayoutPlace(heading, task, metric, {"model": f"Qwen-2.5-VL 32B ({shown})"}, field=field)
            for heading, metric, field in (
                ("", VERDICT_ACCURACY, "value"),
                (", readability", None, "readability_of_5"),
            )
            for heading, task, shown in (
                (f"V{heading}", "countervqa", "video only"),
                (f"V+A{heading}", "countervqa_annotated", "video + annotations"),
            )
        ],
        name=_shown_to,
        note=f"{TEACHER_NOTE} {READABILITY_NOTE}",
    ),
    Layout(
        "Table 2: models by interaction and level",
        ("CounterVQA paper Table 2",),
        [
            LayoutPlace(
                f"{interaction} {level}",
                "countervqa",
                VERDICT_ACCURACY,
                {"split": interaction, "level": level.removeprefix("L").lower()},
                is_in,
            )
            for (interaction, level), is_in in CELLS.items()
        ],
        note=OTHER_RULE,
    ),
    Layout(
        "Table 3: training, step by step",
        ("CounterVQA paper Table 3",),
        [
            LayoutPlace(AVERAGE, "countervqa", VERDICT_ACCURACY, {"level": "avg"}),
            LayoutPlace("to the full training", "countervqa", None, {"level": "avg"}, field="delta_vs_full"),
            *(
                LayoutPlace(
                    level,
                    "countervqa",
                    VERDICT_ACCURACY,
                    {"level": level.removeprefix("L")},
                    CELLS[TOTAL, level],
                )
                for level in LEVELS
            ),
        ],
        note=f"{OTHER_RULE} Two rows of the paper have the same scores at L2 and L3.",
    ),
)


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Verdict accuracy beside the paper's Table 2, of a task with annotations Table 1; then the scores of its own."""
    if task.endswith("_annotated"):
        table = published_models(FOLDER, source="CounterVQA paper Table 1")
        models = tuple(model for model in table if model.model.endswith("(video + annotations)"))
    else:
        models = published_models(FOLDER, source="CounterVQA paper Table 2", split=TOTAL, level="avg")
    return (
        ReferencedMetric(VERDICT_ACCURACY, CARD.chance["verdict_accuracy"], CARD.human, models, note=OTHER_RULE),
        ReferencedMetric(BALANCED_ACCURACY, CARD.chance["balanced_accuracy"]),
        ReferencedMetric(PAIR_ACCURACY, CARD.chance["pair_accuracy"]),
    )


def probe_references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Detection beside the paper's figure of its appendix B.2, and the verdicts given it."""
    models = published_models(FOLDER, source="CounterVQA paper B.2", metric="event-detection question accuracy")
    note = "The paper does not say which actions it asked about; a set of absent actions alone rewards a constant no."
    return (
        ReferencedMetric(card.DETECTION, published=models, note=note),
        ReferencedMetric(card.DETECTION_BALANCED, 50.0),
        ReferencedMetric(card.GIVEN_DETECTION, 50.0),
    )


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """The paper's table of each run, floors of constants, outcomes, yes against no, and how answers were reached."""
    tables = [
        Panel(
            "Verdicts by interaction and level",
            _table("Verdict accuracy by interaction and level", VERDICT_ACCURACY, run, run),
            "Averages are over items. Compare with the floors: a cell in which one verdict is always right rewards a "
            "constant.",
        )
        for run in runs
    ]
    constants = [
        _table(f"What a constant {verdict} scores", metric, runs[0], name=f"constant {verdict}")
        for verdict, metric in ((YES, card.ALWAYS_YES), (NO, card.ALWAYS_NO))
    ]
    floors = Panel("Floors of a constant answer", constants, "On the items that the first run scored.")
    return [*tables, floors, *usual_panels(runs, "verdicts", (YES, NO)), *_errors(task, runs)]


def _table(caption: str, metric: Metric, run: RunRecords, named: RunRecords | None = None, name: str = "") -> Figure:
    """A score in the layout of the paper's table."""
    cells = {cell: run.estimate(metric.within("cell", is_in)) for cell, is_in in CELLS.items()}
    return heat_map(caption, (*INTERACTIONS, TOTAL), (*LEVELS, AVERAGE), cells, metric.bounds, named, name=name)


def _errors(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    """Return panels on the ways in which runs reached their answers, for runs analysed by `countervqa errors`."""
    analysed = [(run, items) for run in runs if run.results and (items := read_analysis(run.results, task))]
    if not analysed:
        return []
    runs, counts = [run for run, _ in analysed], [kind_counts(items) for _, items in analysed]
    readability = ", ".join(f"run {run.tag} {mean_readability(items) or 0.0:.2f}" for run, items in analysed)
    figure = share_plot("Answers of each run by kind, as a judge sees them", runs, counts, list(counts[0]))
    return [Panel("How answers were reached", figure, f"Readability of the reasoning from 0 to 5: {readability}.")]


def probe_panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    counts = [Counter(map(_detection, run.records)) for run in runs]
    return [
        Panel(
            "Detection and verdict",
            share_plot("Items of each run by which of the two answers is right", runs, counts, DETECTIONS),
            "Detection: whether the action that the question leaves out took place.",
        ),
        outcome_panel(runs),
    ]


def _detection(record: Record) -> str:
    if record.correct is None:
        return DETECTIONS[-1]
    return DETECTIONS[2 * (not record.correct) + (not record.fields["detected"])]


def answer_view(record: Record, row: Row, response: str) -> AnswerView:
    facts = {"verdict read": record.answered or "none", "reference": str(row["explanation"])}
    agreement = record.fields.get("agreement")
    facts |= {} if agreement is None else {"agreement": f"{agreement:g} of 10"}
    return AnswerView(facts, claim=None if record.correct is None or not record.answered else record.answered == NO)


def probe_answer_view(record: Record, row: Row, response: str) -> AnswerView:
    facts = {"action": str(row["action"]), "detection read": record.fields.get("detection") or "none"}
    shown = answer_view(record, row, response)
    return replace(shown, facts={**facts, **shown.facts})


# No action's id is blank.
LEFT_OUT, GOAL = " ", "  "
"""Of what is no action of the clip: one that never happened, and the main goal."""


def item_view(record: Record, row: Row) -> ItemView:
    return ItemView({"": row["clip"]}, graph=event_graph(row))


def event_graph(row: Row) -> EventGraph:
    """The clip's actions and links, and what the question is about."""
    graph = read_graph(row["graph"])
    events: dict[str, tuple[str, float | None]] = {one.id: (one.text, one.start) for one in graph.actions}
    links = tuple((link.cause, link.effect) for link in graph.links)
    absent = row["level"] == ABSENT_LEVEL
    first, last = ([one.id for one in graph.actions if one.text == row[column]] for column in ("action", "outcome"))
    if absent:
        first, events[LEFT_OUT] = [LEFT_OUT], (row["action"], None)
    if absent and not last:
        last, events[GOAL] = [GOAL], (row["outcome"], None)
    asked = (first[0], last[0]) if len(first) == len(last) == 1 else None
    return EventGraph(events, links, asked, (LEFT_OUT,) if absent else ())
