"""Panels of a report page about a task, each a function of the runs' records, and curves of scores against a
quantity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lmms_eval_tasks.utils.core.output import FittingTable, Number
from lmms_eval_tasks.utils.reporting.columns import RunRecords, by_group, score_number
from lmms_eval_tasks.utils.reporting.figure import (
    Datum,
    DotPlot,
    Figure,
    Line,
    LinePlot,
    count_table,
    fit_axis,
    line_plot,
    share_plot,
)
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

NOT_READ = "none"
OUTCOMES = tuple(outcome.value for outcome in Outcome)


@dataclass(frozen=True)
class Panel:
    """A panel of a report page: a figure or several, or a table, with its title.

    Attributes:
        title: What it shows.
        figures: A figure, or several side by side, each with a name of its own; none where there is a
            table instead.
        note: How to read it.
        wide: Whether it takes the page's whole width.
        table: Names and numbers that no figure would show better. What stands above and below it is shown with it.
        linked: A line about some items to their ids, each of which is a link to where the page shows the item.
    """

    title: str
    figures: Figure | Sequence[Figure] = ()
    note: str = ""
    wide: bool = False
    table: FittingTable | None = None
    linked: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def all_figures(self) -> list[Figure]:
        """Its figures, also where it is one alone."""
        return [self.figures] if isinstance(self.figures, Figure) else list(self.figures)


def apart_note(runs: Sequence[RunRecords]) -> str:
    """Return the note, in a figure with published scores, about runs of a view or about runs left out; else empty."""
    apart = [f"run {run.tag} ({run.apart})" for run in runs if run.apart]
    if len(apart) == len(runs):
        return ""  # The report says it once, above all figures.
    if views := sorted({run.view for run in runs if run.view}):
        return f"A view was shown ({', '.join(views)}), so no published score of whole items is shown."
    return f"Not shown, because they are not of the whole official release: {', '.join(apart)}." if apart else ""


def outcome_panel(runs: Sequence[RunRecords]) -> Panel:
    """Return the panel with the shares of items of each run that are right, wrong, unparsed and unscored, as bars."""
    counts = [Counter(one.outcome.value for record in run.records for one in record.each) for run in runs]
    return Panel(
        "What became of the items",
        share_plot("Items of each run by outcome", runs, counts, OUTCOMES),
        "Unparsed: asked, but nothing in the response reads as an answer. Unscored: could not be asked or graded.",
    )


def usual_panels(runs: Sequence[RunRecords], members: str = "", answers: Sequence[str] = ()) -> list[Panel]:
    """The panels that most benchmarks have: the outcomes of all runs, and for each run its answers against the keys.

    Where items are pairs, how often one or both of a pair are right comes first. A run without keys has no panel of
    its own.

    Args:
        runs: The runs.
        members: What the two items of a pair are called, in the plural; empty where items are no pairs.
        answers: All answers that there are, in their order, where they are no letters.
    """
    panels = [_consistency_panel(runs, members)] if members else []
    panels.append(outcome_panel(runs))
    for run in runs:
        if given := _count_answers(run.records):
            if not answers:
                panels.append(_letters_panel(run, given))
                continue
            named, corner = {answer: given.get(answer, Counter[str]()) for answer in answers}, "expected ↓  answered →"
            figure = count_table("Expected by answered", corner, run, named, [*named, NOT_READ])
            panels.append(Panel(f"{members.capitalize()}: expected × answered", figure))
    return panels


def scatter_panel(
    title: str, runs: Sequence[RunRecords], x: ReferencedMetric, y: ReferencedMetric, note: str = ""
) -> Panel:
    """Two scores of the runs on two axes, with the published models and people that have both.

    Where runs are of the whole official release, they alone are compared with published scores, without the others.

    Args:
        title: What the panel shows.
        runs: The runs; one without either score has no point.
        x: The score on the horizontal axis, with its chance and published scores.
        y: The same for the vertical axis.
        note: How to read it. What is left out, and why, is added.
    """
    whole = [run for run in runs if not (run.apart or run.view)]
    estimates = ((run, x.estimate(run.parts), y.estimate(run.parts)) for run in whole or runs)
    places = [(run.name, "run", run.tag, one.value, two.value) for run, one, two in estimates if one and two]
    shown, dots = ["the runs"], ""
    known = {model.model: model.value for model in y.published} if whole else {}
    if both := [model for model in x.published if model.model in known]:
        places += [(model.model, "published", "", model.value, known[model.model]) for model in both]
        shown, dots = [*shown, "published models"], "Small dots are published models."
    if whole and x.people and y.people:
        places.append(("people", "people", "", x.people[0].percent, y.people[0].percent))
        shown.append("people")
    marks = [Datum(label, Number(up), kind, tag, across) for label, kind, tag, across, up in places]
    figure = LinePlot(
        f"{x.heading} and {y.metric.title} of {', of '.join(shown)}",
        [Line("", marks, joined=False)],
        (x.axis_title, fit_axis(x.metric.bounds, [across for *_, across, _ in places])),
        (y.axis_title, fit_axis(y.metric.bounds, [up for *_, up in places])),
        (x.chance or 0.0, y.chance or 0.0),
    )
    return Panel(title, figure, " ".join(filter(None, [note, dots, apart_note(runs)])))


def dot_plot(
    caption: str,
    marks: Sequence[Datum],
    reference: ReferencedMetric,
    ends: Sequence[float] = (),
    grouped: bool = False,
) -> DotPlot:
    """Marks of a score on an axis that holds all of them, and other ends; `grouped` where runs share a label."""
    bounds = fit_axis(reference.metric.bounds, [*ends, *(end for mark in marks for end in mark.ends)])
    return DotPlot(caption, marks, bounds, reference.axis_title, reference.chance, grouped)


def _consistency_panel(runs: Sequence[RunRecords], members: str) -> Panel:
    """Of complete, scored pairs: both members right, one, or none; `members` is what they are called in the plural."""
    names = ("both right", "one right", "none right")
    counts = [
        Counter(
            names[2 - sum(map(bool, flags))]
            for part in run.parts
            for pair in by_group(part)
            if len(flags := [record.correct for record in pair]) == 2 and None not in flags
        )
        for run in runs
    ]
    return Panel(
        f"Consistency between {members}",
        share_plot(f"Pairs of each run by how many {members} are right", runs, counts, names),
        "Pairs whose two members are there and scored. One right alone earns nothing in pair accuracy.",
    )


def _letters_panel(run: RunRecords, given: Mapping[str, Counter[str]]) -> Panel:
    answered = sum(given.values(), Counter[str]())
    letters = sorted((given.keys() | answered.keys()) - {NOT_READ})
    most, times = max(sorted(answered.items()), key=lambda entry: entry[1])
    return Panel(
        "Letters: expected × answered",
        count_table("Key by answer", "key ↓  answer →", run, given, [*letters, NOT_READ]),
        f"Most given: {most}, {times:,} of {answered.total():,} answers; it is the key "
        f"{given.get(most, Counter()).total():,} times. "
        "A column that is full from top to bottom is position bias.",
    )


def _count_answers(records: Sequence[Record]) -> dict[str, Counter[str]]:
    """Each expected answer, in order, to how often each answer was given to it; unscored items are left out."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        if record.expected and record.outcome is not Outcome.UNSCORED:
            counts.setdefault(record.expected, Counter())[record.answered or NOT_READ] += 1
    return dict(sorted(counts.items()))


Curve = tuple[str, RunRecords, Callable[[float], Metric]]


def timestep_plot(
    caption: str,
    timesteps: Sequence[float],
    curves: Sequence[Curve],
    run: RunRecords | None = None,
    rule: float | None = None,
    digits: int = 1,
    along: str = "timestep",
) -> LinePlot:
    """Scores with their 95% intervals against the timestep, or another quantity.

    Args:
        caption: What it shows, for those who do not see it.
        timesteps: Where the scores are shown; timesteps go from 0 (clean) to 1000 (noise).
        curves: At least one: what it is, its run, and the score at a timestep, which is left out where the run has
            none. A second curve of a run is dashed.
        run: The run that all are of, whose number and name stand above; None where they are of several.
        rule: Where a thin line crosses, such as chance.
        digits: Decimals of the scores in tables.
        along: What the quantity is called.
    """
    metric = curves[0][2](timesteps[0])
    tags = [of.tag for _, of, _ in curves]
    lines = []
    for place, (label, of, metric_at) in enumerate(curves):
        scores = [(at, of.estimate(metric_at(at))) for at in sorted(timesteps)]
        marks = [Datum("", score_number(score, metric.unit, digits), x=float(at)) for at, score in scores if score]
        lines.append(Line(label, marks, of.tag, of.tag in tags[:place]))
    axis = f"{metric.title}, {metric.unit}" if metric.unit else metric.title
    return line_plot(caption, lines, along, (axis, metric.bounds), rule, run)
