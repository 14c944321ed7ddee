"""The tables of a board: in each the runs that can be compared, ranked, and what is published of the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from lmms_eval_tasks.board.runs import BoardRun
from lmms_eval_tasks.installed.parts import metrics_of, references_of
from lmms_eval_tasks.report.runs import columns_of
from lmms_eval_tasks.utils.benchmark.data_set import SetKind
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.reporting.figures import Bounds, fit_axis
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, reference_notes
from lmms_eval_tasks.utils.runs.run_card import NOT_KNOWN
from lmms_eval_tasks.utils.runs.scores_file import PartScores, ScoreEntry
from lmms_eval_tasks.utils.stats.ranks import Scored, rank_scores

WHOLE_ITEMS = "whole items"
"""The view of a task that has none."""
SAME_DATA = "That these runs were asked the same items is not known: their cards do not say of which data they are."
NO_RANK = "Runs without an interval have no rank."


@dataclass(frozen=True)
class Row:
    """A run in a table."""

    run: BoardRun
    part: PartScores
    rank: int | None = None
    alike: tuple[str, ...] = ()

    def score(self, metric: str) -> ScoreEntry | None:
        """One of its scores; None where it has none of that name."""
        return find_score(self.part, metric)

    @property
    def leading(self) -> ScoreEntry | None:
        """The score that it is ranked by."""
        return self.score(self.part.leading)


@dataclass(frozen=True)
class PublishedRow:
    """What is published of a task, and was not measured here."""

    label: str
    kind: str
    values: dict[str, float]


@dataclass(frozen=True)
class BoardTable:
    """Runs that can be compared: of one task or group, of one N of its version, one view and one set.

    Attributes:
        key: Names the table in the page's address; no other has it.
        name: The task or group.
        version: N of its version.
        view: The view, or ``whole items``.
        kind: What the set is, in a word.
        data: The same in a phrase.
        official: Whether it is the whole official release.
        leading: The metric that runs are ranked by.
        titles: Metric to its heading: the leading one, then others of the benchmark.
        spans: The metrics whose intervals are shown: the leading one, and those of the benchmark's report.
        rows: The runs: by rank, then by score, then by name.
        published: What is published of the same; empty of anything but the whole items of the official release.
        sources: Where that is printed, and what has to be known of it.
        axis: Ends of the axis on which the leading score is drawn.
        notes: What has to be known of it.
    """

    key: str
    name: str
    version: str
    view: str
    kind: str
    data: str
    official: bool
    leading: str
    titles: dict[str, str]
    spans: frozenset[str]
    rows: tuple[Row, ...]
    published: tuple[PublishedRow, ...]
    sources: tuple[str, ...]
    axis: Bounds
    notes: tuple[str, ...]

    @property
    def about(self) -> str:
        """What its runs have in common, in a phrase."""
        return f"version {self.version}, {self.view}, {self.data}"

    @property
    def others(self) -> list[str]:
        """The metrics beside the leading one."""
        return [metric for metric in self.titles if metric != self.leading]

    @property
    def unit(self) -> str:
        """Of the leading score."""
        return next((row.leading.unit for row in self.rows if row.leading), "")


def build_tables(runs: Sequence[BoardRun], only: str = "") -> list[BoardTable]:
    """The tables of runs, by benchmark and name; which runs stand in one depends on no order."""
    comparable: defaultdict[tuple[str, ...], list[tuple[BoardRun, PartScores]]] = defaultdict(list)
    names = {}
    for run in runs:
        for part in shown_parts(run.scores.parts, only):
            names[part.name] = True
            if only in ("", part.name):
                comparable[_comparable_by(run, part)].append((run, part))
    if only and only not in names:
        raise InputError(f"Expected a task or group of these runs, any of {', '.join(names)}, but got {only}.")
    keys: defaultdict[str, int] = defaultdict(int)
    tables = []
    for _, entries in sorted(comparable.items()):
        name = entries[0][1].name
        keys[name] += 1
        tables.append(_build_table(f"{name}-{keys[name]}" if keys[name] > 1 else name, entries))
    return tables


def shown_parts(parts: Sequence[PartScores], only: str = "") -> Iterator[PartScores]:
    """The groups among the parts of a run, then its tasks that are in none of them, and the task that is asked for."""
    groups = [part for part in parts if part.tasks != [part.name]]
    grouped = {task for group in groups for task in group.tasks}
    yield from groups
    yield from (part for part in parts if part.tasks == [part.name] and (part.name == only or part.name not in grouped))


def find_score(part: PartScores, metric: str) -> ScoreEntry | None:
    """A score that has a value; None where there is none of that name."""
    return next((one for one in part.scores if one.metric == metric and one.value is not None), None)


def _comparable_by(run: BoardRun, part: PartScores) -> tuple[str, ...]:
    """What runs have in common that can be compared.

    Of the official release its name is enough; of anything else also the digests of the data and the number of items.
    """
    data = " ".join(one.model_dump_json() for one in part.data)
    further = [str(sum(part.outcomes.values())), *run.digests(part.tasks)] if part.apart else []
    tasks = " ".join(sorted(part.tasks))
    return (part.benchmark, part.name, part.view, _major(part), data, part.apart, part.leading, tasks, *further)


def _major(part: PartScores) -> str:
    return part.version.partition("-")[0] or NOT_KNOWN


def _build_table(key: str, entries: Sequence[tuple[BoardRun, PartScores]]) -> BoardTable:
    part = entries[0][1]
    rows = _ranked(entries)
    official = not part.apart
    items = max(sum(row.part.outcomes.values()) for row in rows)
    references = references_of(part.name, part.tasks[0], items) if official and not part.view and items else ()
    published = _published(references, part.leading)
    titles = _titles(part, rows)
    values = [end for row in rows if (score := row.leading) for end in (score.value, score.low, score.high)]
    values += [row.values.get(part.leading) for row in published]
    known = [value for value in values if value is not None]
    metric = next((one for one in metrics_of(part.tasks[0]) if one.name == part.leading), None)
    notes = [NO_RANK] if any(row.rank is None for row in rows) else []
    if not official and len(rows) > 1 and not all(all(row.run.digests(part.tasks)) for row in rows):
        notes.append(SAME_DATA)
    return BoardTable(
        key=key,
        name=part.name,
        version=_major(part),
        view=part.view or WHOLE_ITEMS,
        kind=_set_kind(part),
        data=_set_text(part),
        official=official,
        leading=part.leading,
        titles=titles,
        spans=frozenset(one.metric.name for one in columns_of(part.tasks[0]) if one.metric and one.interval)
        | {part.leading},
        rows=tuple(rows),
        published=published,
        sources=tuple(reference_notes(references)),
        axis=fit_axis(metric.bounds, known) if metric else (min(0.0, *known, 0.0), max(100.0, *known, 100.0)),
        notes=tuple(notes),
    )


def _ranked(entries: Sequence[tuple[BoardRun, PartScores]]) -> list[Row]:
    rows = [Row(run, part) for run, part in entries]
    spans = [(row, span) for row in rows if (score := row.leading) and (span := _span(score))]
    better_high = not any(row.leading and row.leading.higher_is_better is False for row in rows)
    standings = rank_scores([span for _, span in spans], better_high)
    for (row, _), standing in zip(spans, standings, strict=True):
        alike = tuple(spans[place][0].run.tag for place in standing.alike)
        rows[rows.index(row)] = replace(row, rank=standing.rank, alike=alike)

    def order(row: Row) -> tuple[float, float, str, int]:
        worst = -inf if better_high else inf
        value = worst if row.leading is None or row.leading.value is None else row.leading.value
        return row.rank or inf, -value if better_high else value, row.run.title, int(row.run.tag)

    return sorted(rows, key=order)


def _span(score: ScoreEntry) -> Scored | None:
    """A score with its interval; None where it has none, or none is better than another."""
    if score.value is None or score.low is None or score.high is None or score.higher_is_better is None:
        return None
    return Scored(score.value, score.low, score.high)


def _titles(part: PartScores, rows: Sequence[Row]) -> dict[str, str]:
    """The leading score and those that the benchmark's report shows beside it, as far as a run has them."""
    there = {score.metric: score.title for row in rows for score in row.part.scores if score.kind == "mean"}
    shown = {column.metric.name: column.heading for column in columns_of(part.tasks[0]) if column.metric}
    titles = {metric: heading for metric, heading in shown.items() if metric in there}
    return {part.leading: there.get(part.leading, part.leading), **titles}


def _set_kind(part: PartScores) -> str:
    """What the set is, in a word: items left out of the official release leave a part of it."""
    if not part.apart:
        return SetKind.OFFICIAL.value
    kinds = {SetKind.PART if one.is_official else one.kind for one in part.data}
    return kinds.pop().value if len(kinds) == 1 else "mixed"


def _set_text(part: PartScores) -> str:
    texts = ", ".join(one.text for one in part.data)
    left_out = all(one.is_official for one in part.data)
    return f"{texts}; {part.apart}" if part.apart and left_out else part.apart or texts


def _published(references: Sequence[ReferencedMetric], leading: str) -> tuple[PublishedRow, ...]:
    """What is published of a task or group: chance, people, then models by the leading score."""
    chance = {one.metric.name: one.chance for one in references if one.chance is not None}
    people: list[dict[str, float]] = []
    models: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for reference in references:
        metric = reference.metric.name
        for place, one in enumerate(reference.people):
            people += [{}] if place == len(people) else []
            people[place][metric] = one.percent
        for model in reference.published:
            models[model.model].setdefault(metric, model.value)
    falling = next((one.metric.higher_is_better for one in references if one.metric.name == leading), True) is not False
    ordered = sorted(models, key=lambda name: models[name].get(leading, -inf if falling else inf), reverse=falling)
    return (
        *([PublishedRow("chance", "chance", chance)] if chance else []),
        *(PublishedRow("people", "people", values) for values in people),
        *(PublishedRow(name, "published", models[name]) for name in ordered),
    )
