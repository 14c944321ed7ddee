"""Answers that were given several times: scores of all samples of an item, and the best of several runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.scores import samples_of
from lmms_eval_tasks.utils.benchmark.benchmark import Task
from lmms_eval_tasks.utils.benchmark.views import find_view
from lmms_eval_tasks.utils.core.output import FittingTable, Number, points
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.reporting.columns import score_number
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.scoring import bootstrap
from lmms_eval_tasks.utils.scoring.metrics import SELF_AGREEMENT, Counts, Metric, Stratum, over_samples, variances

HEADINGS = ("score", "samples", "mean", "any of k", "all of k", "majority", "from samples", "agreement")
READING = (
    "k samples an item: the mean score, right in any and in all, and by the answer that most give; from samples: "
    "the share of the mean's uncertainty that more samples take away; agreement: percent of pairs of samples alike."
)


def sample_panels(name: str, runs: Sequence[Run]) -> list[Panel]:
    note = f"{READING} Items, pairs and curves below are those of the first sample."
    return [Panel("Several samples an item", note=note, wide=True, table=table) for table in sample_tables(runs, name)]


def sample_tables(runs: Sequence[Run], only: str = "") -> Iterator[FittingTable]:
    """Yield a table per task or group that runs with several samples an item hold: a row per run and score."""
    for entry in entries_of(runs, only):
        first = next(iter(entry.held[0].records), None)
        view = find_view(first.view) if first else None
        over = view.samples if view else "samples"
        method = f"; {bootstrap.METHOD}"
        table = entry.table(f": over {over}", ("run", *HEADINGS), method, names=2, blank_repeats=True)
        for held in entry.held:
            parts = held.parts
            if not (samples := samples_of(held.records)):
                continue
            for metric in (one.metric for one in entry.references(len(held.records))):
                if not (beside := over_samples(metric)):
                    continue
                # Of single samples, although a view may count them together.
                mean = replace(metric, higher_is_better=None) if view and view.across != "mean" else metric
                between, within = variances(metric, parts) or (0.0, 0.0)
                total = between + within / samples
                table.add_row(
                    held.name,
                    metric.title,
                    samples,
                    *(score_number(bootstrap.estimate(one, parts), one.unit) for one in (mean, *beside)),
                    Number(100 * within / samples / total if total else None, unit="%"),
                    score_number(bootstrap.estimate(SELF_AGREEMENT, parts), SELF_AGREEMENT.unit),
                )
        if table.rows:
            table.caption = READING
            yield table


Key = tuple[Stratum, str]
"""A stratum, and the id of a group in it."""


@dataclass(frozen=True)
class BestOf:
    place: int
    best: bootstrap.Estimate
    mean: float
    runs: int
    inflation: float


def best_of(metric: Metric, runs: Sequence[bootstrap.Records]) -> BestOf | None:
    """The highest score among runs of the same items, of equal ones the first; None where a run has no score."""
    estimates = [bootstrap.estimate(metric, [records]) for records in runs]
    known = [found for found in estimates if found is not None]
    if len(known) < len(runs):
        return None
    place, best = max(enumerate(known), key=lambda found: found[1].value)
    mean = sum(found.value for found in known) / len(known)
    return BestOf(place, best, mean, len(known), inflation(metric, runs))


def inflation(metric: Metric, runs: Sequence[bootstrap.Records], draws: int = bootstrap.DRAWS, seed: int = 0) -> float:
    """The expected excess of the best of some runs over its own mean if none is better than another."""
    bootstrap.refuse_counts(metric)
    counted = [_count_groups(metric, records) for records in runs]
    keys = sorted({key for counts in counted for key in counts})
    # Sorted, so that the draws do not depend on the order in which the runs come.
    columns = sorted([counts.get(key, (0.0, 0.0)) for key in keys] for counts in counted)
    places = sorted({place for place, _ in keys})
    groups = {place: [at for at, key in enumerate(keys) if key[0] == place] for place in places}
    strata = bootstrap.Strata.of(
        [tuple(number for column in columns for number in column[at]) for at in groups[place]] for place in places
    )
    sums = strata.draw(np.random.default_rng(seed), draws)
    score = bootstrap.statistic_of(metric, [places])
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.stack([score(sums[..., 2 * run : 2 * run + 2]) for run in range(len(columns))], axis=1)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    return float((drawn - drawn.mean(axis=0)).max(axis=1).mean()) if len(drawn) else float("nan")


def _count_groups(metric: Metric, records: bootstrap.Records) -> Mapping[Key, Counts]:
    counts: dict[Key, Counts] = {}
    for place, units in metric.units(records).items():
        for unit in units:
            total, number = counts.get((place, unit.group), (0.0, 0.0))
            counts[place, unit.group] = (total + metric.transform(unit.weight * unit.value), number + unit.weight)
    return counts


OPTIMISTIC = (
    "The authors report the best of several runs and prompts. That is an optimistic choice: the gain by choosing is "
    "how far the best of as many runs that do not differ is expected to lie above one of them (bootstrap over groups, "
    f"{bootstrap.DRAWS:,} draws, seed {bootstrap.SEED}, the same draw for all runs)."
)


class _Entry(NamedTuple):
    run: Run
    task: Task

    @property
    def metric(self) -> Metric:
        return self.task.kind.metric(self.task.kind.best_of)

    @property
    def asked(self) -> tuple[object, ...]:
        """Properties that entries must share to be compared: view, N of the version, set and items."""
        records = self.run.records[self.task.name]
        version = self.run.versions.get(self.task.name, "?").partition("-")[0]
        items = frozenset((record.item_id, record.expected) for record in records)
        return self.task.view, version, self.run.set_of(self.task.name), items

    def __str__(self) -> str:
        return f"{self.task.name} of {self.run.title}"


@dataclass(frozen=True)
class Several:
    """Runs of one model on the same part of a benchmark, of whose score its authors report the best."""

    title: str
    model: str
    metric: Metric
    alike: Sequence[_Entry]
    apart: Sequence[_Entry]

    @cached_property
    def found(self) -> BestOf | None:
        """The best of those that were asked the same; None where they have no score."""
        return best_of(self.metric, [run.records[task.name] for run, task in self.alike]) if self.alike else None

    @property
    def tasks(self) -> frozenset[str]:
        return frozenset(entry.task.name for entry in (*self.alike, *self.apart))

    @property
    def at_chance(self) -> float | None:
        """Score that the best of as many runs at chance would show, or None if chance is not known."""
        task = self.alike[0].task
        chance = task.benchmark.card.chance.get(task.kind.best_of) if task.keeps_chance else None
        return chance + self.found.inflation if self.found and chance is not None else None

    def sentences(self) -> Iterator[str]:
        if self.found:
            yield f"{self.model}: the best of {self.found.runs} is {self.alike[self.found.place]}."
            if self.at_chance is not None:
                yield f"{self.found.runs} runs at chance would show {self.at_chance:.1f}."
        if self.apart:
            names = summarize_names([str(entry) for entry in self.apart], 3)
            yield (
                f"{self.model}: not compared with {'them' if self.alike else 'each other'}, because they have other "
                f"items, another version or another view: {names}."
            )


def best_tables(several: Iterable[Several]) -> list[FittingTable | str]:
    """A table for each part of a benchmark whose authors report the best of several runs: a row per model."""
    by_title: dict[str, list[Several]] = {}
    for one in several:
        by_title.setdefault(one.title, []).append(one)
    shown: list[FittingTable | str] = []
    for title, of_title in by_title.items():
        table = FittingTable(title, ("model", "runs", "best", "mean", "gain by choosing", "at chance"))
        versions: dict[str, None] = {}
        for one in of_title:
            if found := one.found:
                unit = one.metric.unit
                gain = Number(found.inflation, unit=points(unit), signed=True)
                at_chance = "" if one.at_chance is None else Number(one.at_chance, unit=unit)
                best = score_number(found.best, unit)
                table.add_row(one.model, found.runs, best, Number(found.mean, unit=unit), gain, at_chance)
                versions |= {
                    f"{task.name}, version {run.versions.get(task.name, '?')}": None for run, task in one.alike
                }
        sentences = [sentence for one in of_title for sentence in one.sentences()]
        table.caption = "\n".join((OPTIMISTIC, *sentences))
        table.signature = "; ".join((*versions, bootstrap.METHOD))
        shown += [table] if table.rows else [f"{title}. {sentence}" for sentence in sentences]
    return shown


def find_several(runs: Sequence[Run], only: str = "") -> Iterator[Several]:
    """Runs of one model on the same part of a benchmark, or on one task or group alone."""
    entries: defaultdict[tuple[str, str], list[_Entry]] = defaultdict(list)
    for run in runs:
        for name in run.tasks_of(only):
            task = registry().find_task(name)
            if task and task.kind.best_of and name in run.records:
                entry = _Entry(run, task)
                part = " ".join(filter(None, (task.split, task.pointer.get("subset"))))
                title = f"{task.benchmark.name}, {part}: the best of several runs ({entry.metric.title})"
                entries[title, run.name].append(entry)
    for named, of_model in entries.items():
        metric = of_model[0].metric
        asked: defaultdict[tuple[object, ...], list[_Entry]] = defaultdict(list)
        for entry in of_model:
            asked[entry.asked].append(entry)
        apart = [found[0] for found in asked.values() if len(found) == 1]
        alike = [found for found in asked.values() if len(found) > 1]
        for found in alike:
            yield Several(*named, metric, found, apart if found is alike[-1] else ())
        if not alike and len({entry.task.view for entry in apart}) < len(apart):
            yield Several(*named, metric, (), apart)
