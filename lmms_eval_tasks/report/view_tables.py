"""Views beside what they are views of: what is left of a score when a shortcut, or the clip, is taken away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_eval_tasks.installed.parts import comparable_parts, groups_of, references_of
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.cells import Number, points
from lmms_eval_tasks.utils.core.tables import FittingTable
from lmms_eval_tasks.utils.reporting.references import published_of_view
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.stats.comparison import Comparison, Part, compare_records
from lmms_eval_tasks.utils.stats.estimates import METHOD


def view_tables(runs: Sequence[Run], only: str = "") -> list[FittingTable]:
    """One table per task or group of which the runs of a model hold a view beside the whole: a row per view and score.

    Scores are on the groups of items that both answered, and the difference has its 95% paired bootstrap interval.
    Below stand published scores of the same view, where both are of the whole official release.

    Args:
        runs: Runs; a view and its parent may lie in two of them, if these are of one model.
        only: The one task, group or view to show; all if it is empty.
    """
    tables: dict[str, FittingTable] = {}
    sources: dict[str, dict[str, None]] = {}
    for parent, view, run, whole, compared in _comparisons(runs):
        if only not in ("", parent, f"{parent}_{view}"):
            continue
        apart = _apart(parent, view, run, whole)
        if parent not in tables:
            headings = ("view", "run", "score", "whole", "view", "view - whole", "groups")
            tables[parent] = FittingTable(f"{parent}: what is left in its views", headings, names=3, blank_repeats=True)
            versions = f"{whole.versions.get(parent, '?')}, view {run.versions.get(f'{parent}_{view}', '?')}"
            of = f"version {versions}{f'; {apart}' if apart else ''}"
            tables[parent].signature = f"{parent}, {of}; paired, {METHOD}"
        if not compared.differences:
            tables[parent].add_row(view, run.title, "no group answered in both", "", "", "", 0)
        for difference in compared.differences:
            unit, groups = difference.metric.unit, difference.groups
            tables[parent].add_row(
                view,
                run.title,
                difference.metric.title,
                Number(difference.first, n=groups, unit=unit),
                Number(difference.second, n=groups, unit=unit),
                Number(difference.change, *difference.interval, n=groups, unit=points(unit), signed=True),
                groups,
            )
        published = () if apart else _add_published(tables[parent], parent, view)
        sources.setdefault(parent, {}).update(dict.fromkeys(published))
    for parent, table in tables.items():
        table.caption = "\n".join(sources[parent])
    return list(tables.values())


def _apart(parent: str, view: str, run: Run, whole: Run) -> str:
    """Why no published score stands beside a view or its parent; empty where both are of the whole release."""
    own, all_of = (one.groups.get(name, (name,)) for one, name in ((run, f"{parent}_{view}"), (whole, parent)))
    return run.apart(own) or whole.apart(all_of)


def _add_published(table: FittingTable, parent: str, view: str) -> Iterator[str]:
    """Add a row for each published score of a view of a task or group; where they come from, and what to know."""
    task = registry().find_task(parent)
    for entry in published_of_view(task.benchmark.folder, parent, view) if task else ():
        assert task is not None
        title = task.kind.metric(entry.score).title
        table.add_row(view, f"{entry.model} (published)", title, "", Number(entry.value), "", "")
        yield f"published, {view}: {entry.source}"
        if entry.note:
            yield f"{entry.model}: {entry.note}"


def _comparisons(runs: Sequence[Run]) -> Iterator[tuple[str, str, Run, Run, Comparison]]:
    """Each view that a run holds and whose parent a run of the same model holds: the parent's name, the view's, the
    run of the view, that of the parent, and both compared."""
    parts = [(run, comparable_parts(run)) for run in runs]
    for run, named in parts:
        grouped = {task for tasks in groups_of(run).values() for task in tasks}
        for name, part in named.items():
            task, parent = registry().find_task(name), registry().find_parent(name)
            if task is None or not task.view or name in grouped:
                continue
            # A run that holds both is compared with itself, whatever other runs of its model hold.
            for other, others in ((run, named), *parts):
                if other.name == run.name and parent in others:
                    yield parent, task.view, run, other, _compare(parent, others[parent], part)
                    break


def _compare(parent: str, whole: Part, view: Part) -> Comparison:
    """A view of a task or group, compared with the whole; the difference is the view's score less the whole's."""
    renamed = {registry().find_parent(task): records for task, records in view.items()}
    references = references_of(parent, next(iter(whole)), sum(map(len, whole.values())))
    return compare_records(whole, renamed, [one.metric for one in references])
