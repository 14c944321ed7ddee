"""What of a run is scored: its tasks and groups, and by which scores each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.views import MASKED
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, published_of_view, usual_references
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.scoring import pair_scores
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.stats.comparison import Part

PAIR_METRICS = (
    pair_scores.PAIR_ACCURACY,
    pair_scores.SINGLE_ACCURACY,
    pair_scores.PAIR_ACCURACY_OFFICIAL,
    pair_scores.PAIRS_SCORED,
)
"""The scores of a task of no benchmark, whose items are taken for pairs."""


def metrics_of(task: str) -> tuple[Metric, ...]:
    """The scores of a task or group; those of pairs for a task of no benchmark."""
    known = registry().find_task(task)
    return tuple(known.kind.metrics) if known else PAIR_METRICS


def references_of(name: str, task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """The scores of a task or group that its benchmark sets beside published figures; the leading one first."""
    known = registry().find_task(task)
    if known is None:
        return tuple(map(ReferencedMetric, PAIR_METRICS[:2]))
    parent, kind = registry().find_parent(name), known.kind
    card, folder = known.benchmark.card, known.benchmark.folder
    own = kind.references
    others = {one.name for other in known.benchmark.kinds.values() if other is not kind for one in other.metrics}
    references = own(parent, items) if own else usual_references(card, folder, kind.metrics, parent, others)
    if not known.view:
        return references
    published = [one for one in published_of_view(folder, parent, known.view) if not one.people]
    seen = []
    for one in references:
        models = tuple(model for model in published if model.score == one.metric.name)
        chance = None if known.view == MASKED else one.chance
        note = " ".join(f"{model.model}: {model.note}" for model in models if model.note)
        seen.append(replace(one, chance=chance, people=(), published=models, note=note))
    return tuple(seen)


def groups_of(run: Run) -> dict[str, tuple[str, ...]]:
    """The run's groups that are scored as one: their tasks are of one kind, and show one view of their items."""

    def form(task: str) -> tuple[int, str] | None:
        known = registry().find_task(task)
        return (id(known.kind), known.view) if known else None

    return {group: tasks for group, tasks in run.groups.items() if len(set(map(form, tasks))) == 1}


def comparable_parts(run: Run) -> dict[str, Part]:
    """What of a run can be compared: each of its tasks alone, and each of its groups with its tasks."""
    alone = {task: {task: records} for task, records in run.records.items()}
    grouped = {group: {task: run.records[task] for task in tasks} for group, tasks in groups_of(run).items()}
    return {**alone, **grouped}


def parts_of(run: Run) -> Iterator[tuple[str, Sequence[str]]]:
    """The run's groups with their tasks, then its tasks that are in none of them."""
    groups = groups_of(run)
    yield from groups.items()
    grouped = {task for tasks in groups.values() for task in tasks}
    yield from ((task, [task]) for task in run.records if task not in grouped)
