"""The scores of a run with their intervals, as the file beside its results has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.installed.parts import comparable_parts, metrics_of, references_of
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.scores_file import PartScores, ScoreEntry, ScoresFile
from lmms_eval_tasks.utils.scoring.metrics import Metric, Units, count_groups, count_items, score_tasks
from lmms_eval_tasks.utils.scoring.rates import SAMPLE_DATA
from lmms_eval_tasks.utils.scoring.records import Outcome
from lmms_eval_tasks.utils.stats.comparison import Part
from lmms_eval_tasks.utils.stats.estimates import METHOD, estimate_units

NO_ITEMS = "The run was made without --log_samples, so that no interval can be computed."


def scores_of(run: Run) -> ScoresFile:
    """Every score of each task and group of a run, with intervals, from its records."""
    counted: dict[tuple[str, str], Units] = {}
    parts = []
    for name, part in comparable_parts(run).items():
        try:
            entries = list(_entries(part, counted))
        except KeyError as error:
            raise InputError(
                f"{run.path}: Expected records of {name} with {error}, which an earlier version did not write: "
                f"`lmms-eval-tasks rescore {run.path} --out DIR` writes them anew."
            ) from None
        parts.append(_part_scores(run, name, list(part), part, entries))
    return _file(run, parts, METHOD, "")


def scores_without_items(run: Run, saved: Mapping[str, Mapping[str, float | None]]) -> ScoresFile:
    """The scores of a run whose items were not logged: what lmms-eval has of each, without intervals."""
    parts = []
    for name, scores in saved.items():
        tasks = list(run.groups.get(name, (name,)))
        entries = [_bare_entry(metric, scores[metric.name]) for metric in _listed(tasks[0]) if metric.name in scores]
        parts.append(_part_scores(run, name, tasks, {}, entries))
    return _file(run, parts, "", NO_ITEMS)


def _file(run: Run, parts: Sequence[PartScores], method: str, without: str) -> ScoresFile:
    return ScoresFile(
        form=1,
        lmms_eval_tasks=lmms_eval_tasks.__version__,
        results=run.path.name,
        model=run.name,
        method=method,
        without_intervals=without,
        parts=list(parts),
    )


def _part_scores(run: Run, name: str, tasks: Sequence[str], part: Part, scores: Sequence[ScoreEntry]) -> PartScores:
    known = registry().find_task(tasks[0])
    records = [record for of_task in part.values() for record in of_task]
    outcomes = Counter(record.outcome for record in records)
    leading = references_of(name, tasks[0], len(records))[0].metric.name
    return PartScores(
        name=name,
        tasks=list(tasks),
        benchmark=known.benchmark.name if known else "",
        version=run.versions.get(name, ""),
        view=known.view if known else next((record.view for record in records), ""),
        data=list(dict.fromkeys(run.set_of(task) for task in tasks)),
        apart=run.apart(tasks),
        outcomes={outcome.value: outcomes[outcome] for outcome in Outcome} if records else {},
        leading=leading,
        scores=list(scores),
    )


def _entries(part: Part, counted: dict[tuple[str, str], Units]) -> Iterator[ScoreEntry]:
    """The scores that count any item of a task or group; `counted` keeps what counts in each, by task and score."""
    for metric in _listed(next(iter(part))):
        for task, records in part.items():
            if (task, metric.name) not in counted:
                counted[task, metric.name] = metric.units(records)
        units = [counted[task, metric.name] for task in part]
        if any(units):
            yield _entry(metric, units)


def _listed(task: str) -> Iterator[Metric]:
    """The scores of a task; what its data is, is said elsewhere."""
    return (metric for metric in metrics_of(task) if metric is not SAMPLE_DATA)


def _entry(metric: Metric, counted: Sequence[Units]) -> ScoreEntry:
    score = estimate_units(metric, counted) if metric.kind == "mean" else None
    return ScoreEntry(
        **_named(metric),
        value=score.value if score else None if metric.kind == "mean" else score_tasks(metric, counted),
        low=score.low if score else None,
        high=score.high if score else None,
        groups=sum(map(count_groups, counted)),
        items=sum(map(count_items, counted)),
    )


def _bare_entry(metric: Metric, value: float | None) -> ScoreEntry:
    return ScoreEntry(**_named(metric), value=value, low=None, high=None, groups=None, items=None)


def _named(metric: Metric) -> dict[str, Any]:
    return {
        "metric": metric.name,
        "title": metric.title,
        "kind": metric.kind,
        "unit": metric.unit,
        "higher_is_better": metric.higher_is_better,
    }
