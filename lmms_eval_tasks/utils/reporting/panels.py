"""Panels of a report page: what a page shows of a task beside its scores, each a function of the runs' records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from lmms_eval_tasks.utils.reporting.columns import by_group
from lmms_eval_tasks.utils.reporting.figures import Bar, count_table, run_heading, share_plot
from lmms_eval_tasks.utils.scoring.records import Outcome, Record
from lmms_eval_tasks.utils.stats.estimates import Records

NOT_READ = "none"
OUTCOMES = tuple(outcome.value for outcome in Outcome)


@dataclass(frozen=True)
class RunRecords:
    """The records of one run, as panels show them.

    Attributes:
        tag: Its letter on the page.
        name: Its model.
        parts: The records of each of its parts (the tasks of a group, or one task).
        apart: Why no published score stands beside it, as options that left items out; empty of the whole release.
        results: Its results file; None where it comes from none. What a command keeps of a run lies beside it.
    """

    tag: str
    name: str
    parts: Sequence[Records]
    apart: str = ""
    results: Path | None = None

    @property
    def records(self) -> list[Record]:
        """The records of all its parts."""
        return [record for part in self.parts for record in part]

    @property
    def view(self) -> str:
        """Name of the view that was shown; empty for whole items."""
        return next((record.view for part in self.parts for record in part), "")


@dataclass(frozen=True)
class Panel:
    """A panel.

    Attributes:
        title: What it shows.
        body: The figure.
        note: How to read it.
        wide: Whether it takes the page's whole width.
    """

    title: str
    body: Markup
    note: str = ""
    wide: bool = False


def whole_runs(runs: Sequence[RunRecords]) -> list[RunRecords]:
    """The runs of the whole official release, of whole items: no others stand beside published scores of these."""
    return [run for run in runs if not (run.apart or run.view)]


def apart_note(runs: Sequence[RunRecords]) -> str:
    """What a figure with published scores says of runs of a view, or not of the whole release; empty where none is."""
    if views := sorted({run.view for run in runs if run.view}):
        return f"A view was shown ({', '.join(views)}), so no published score of whole items is shown."
    apart = [f"{run.tag} ({run.apart})" for run in runs if run.apart]
    if not apart:
        return ""
    if len(apart) < len(runs):
        return f"Not shown, because they are not of the whole official release: {', '.join(apart)}."
    return f"These are not of the whole official release, so no published score is shown: {', '.join(apart)}."


def outcome_panel(runs: Sequence[RunRecords]) -> Panel:
    """What became of the items: right, wrong, unparsed and unscored ones, counted apart."""
    bars = [Bar(run.name, Counter(record.outcome.value for record in run.records), run.tag) for run in runs]
    return Panel(
        "What became of the items",
        share_plot("Items of each run by outcome", bars, OUTCOMES),
        "Unparsed: asked, but nothing in the response reads as an answer. Unscored: could not be asked or graded.",
    )


def count_answers(records: Sequence[Record]) -> dict[str, Counter[str]]:
    """Each expected answer, in order, to how often each answer was given to it; unscored items are left out."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        if record.expected and record.outcome is not Outcome.UNSCORED:
            counts.setdefault(record.expected, Counter())[record.answered or NOT_READ] += 1
    return dict(sorted(counts.items()))


def answer_panels(runs: Sequence[RunRecords]) -> list[Panel]:
    """Position bias: the key's letters against the answered ones, a panel per run that has both."""
    panels = []
    for run in runs:
        rows = count_answers(run.records)
        if not rows:
            continue
        answered = sum(rows.values(), Counter[str]())
        letters = sorted((rows.keys() | answered.keys()) - {NOT_READ})
        most, times = max(sorted(answered.items()), key=lambda entry: entry[1])
        panels.append(
            Panel(
                "Letters: expected × answered",
                run_heading(run) + count_table("Key by answer", "key ↓  answer →", rows, [*letters, NOT_READ]),
                f"Most given: {most}, {times:,} of {answered.total():,} answers; it is the key "
                f"{rows.get(most, Counter()).total():,} times. "
                "A column that is full from top to bottom is position bias.",
            )
        )
    return panels


def consistency_panel(runs: Sequence[RunRecords], member: str) -> Panel:
    """Of complete, scored pairs: both members right, one, or none; `member` is what they are called in the plural."""
    names = ("both right", "one right", "none right")
    bars = []
    for run in runs:
        counts: Counter[str] = Counter()
        for part in run.parts:
            for pair in by_group(part):
                flags = [record.correct for record in pair]
                if len(flags) == 2 and None not in flags:
                    counts[names[2 - sum(map(bool, flags))]] += 1
        bars.append(Bar(run.name, counts, run.tag))
    return Panel(
        f"Consistency between {member}",
        share_plot(f"Pairs of each run by how many {member} are right", bars, names),
        "Pairs whose two members are there and scored. One right alone earns nothing in pair accuracy.",
    )
