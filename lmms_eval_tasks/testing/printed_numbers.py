"""A check that a score has the same value, interval and items wherever it is printed, on drawn runs in the form that
lmms-eval leaves.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from pathlib import Path
from typing import Any

from lmms_eval_tasks.host.tasks.running import TaskState, bind_hooks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.page import build_sections
from lmms_eval_tasks.report.page_files import ClipShelf
from lmms_eval_tasks.report.page_items import task_block
from lmms_eval_tasks.report.score_tables import columns_of, score_tables, stratum_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.runs.scores import ScoresFile, comparable_parts, references_of, scores_of, scores_text
from lmms_eval_tasks.testing.examples import ExampleRun, SteadyEvaluation, with_every_score
from lmms_eval_tasks.utils.benchmark.benchmark import Task
from lmms_eval_tasks.utils.benchmark.tasks import task_configs
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import FittingTable, Number
from lmms_eval_tasks.utils.reporting.columns import Column
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES, Panel
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.metrics import SAMPLE_DATA, Metric, aggregate_tasks
from lmms_eval_tasks.utils.scoring.record import Record

Score = float | int | None
Parts = Mapping[str, Sequence[Record]]
SIZES = (2, 2, 2, 1, 3)
GROUPS = 25
STAMP = "20261121"


@dataclass(frozen=True)
class Finished:
    """A run as it is read back, and what lmms-eval has of it."""

    run: Run
    name: str
    host: Mapping[str, Mapping[str, Score]]

    @property
    def parts(self) -> Parts:
        return comparable_parts(self.run)[self.name]

    @property
    def metrics(self) -> dict[str, Metric]:
        return {metric.name: metric for metric in registry().find_members(self.name)[0].kind.metrics}


def every_name(benchmark: str) -> Iterator[tuple[str, str]]:
    """Tasks and groups of a benchmark, and views; of each kind, all views of the first task and of the first group."""
    own = registry().tasks_of(benchmark)
    groups = [
        name
        for name, (members, _) in registry().groups.items()
        if members[0] in own and len({id(own[member].kind) for member in members}) == 1
    ]
    for names in (list(own), groups):
        kinds = set()
        for name in names:
            kind = registry().find_members(name)[0].kind
            yield from ((name, view) for view in ("", *(kind.views if id(kind) not in kinds else ())))
            kinds.add(id(kind))


def finish(folder: Path, name: str, view: str, records: Mapping[str, Sequence[Record]]) -> Finished:
    """A run of a task or group, in the form in which lmms-eval leaves it."""
    members = registry().find_members(name_view(name, view))
    tasks = [task.name for task in members]
    groups = {name_view(name, view): tasks} if name in registry().groups else {}
    folder.mkdir()
    results = {
        "configs": {task: {} for task in tasks},
        "group_subtasks": groups,
        "versions": dict.fromkeys([*tasks, *groups], "1-A"),
        "config": {"model": folder.name, "model_args": ""},
    }
    (folder / f"{STAMP}_results.json").write_text(json.dumps(results), encoding="utf-8")
    host: dict[str, dict[str, Score]] = {}
    for task in members:
        (kind,) = [name for name, kind in task.benchmark.kinds.items() if kind is task.kind]
        host[task.name] = _log(folder, task, _draw(task.name, view, records[kind]))
    for group in groups:
        host[group] = dict(_group_scores(name, [host[task] for task in tasks]))
    return Finished(read_run(folder), name_view(name, view), host)


def _draw(task: str, view: str, records: Sequence[Record]) -> list[Record]:
    """Groups of one to three records, always the same for a task."""
    rng = random.Random(task)
    return [
        replace(record, item_id=f"{group}_{member}", group_id=str(group), view=view)
        for group in range(GROUPS)
        for member, record in enumerate(rng.choices(records, k=rng.choice(SIZES)))
    ]


def _log(folder: Path, task: Task, records: Sequence[Record]) -> dict[str, Score]:
    """Write a task's sample log; all of its scores as lmms-eval computes them, by the functions that the YAML names."""
    configuration = task_configs(task.benchmark.folder)[registry().find_parent(task.name)]
    state = TaskState(task.name, task.pointer, [metric.name for metric in task.kind.metrics], SteadyEvaluation(None))
    run = ExampleRun(state, bind_hooks(with_every_score(configuration), state), None)
    gathered = [
        json.loads(json.dumps({"record": record.to_json(), **state.gather(record, True)})) for record in records
    ]
    log = folder / f"{STAMP}_samples_{task.name}.jsonl"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in gathered), encoding="utf-8")
    printed = {name for line in gathered for name in line}
    return {name: score for name, score in run.scores(gathered).items() if name in printed}


def _group_scores(group: str, tasks: Sequence[Mapping[str, Score]]) -> Iterator[tuple[str, Score]]:
    """A group's scores from those that its tasks have."""
    for metric in registry().find_members(group)[0].kind.metrics:
        if values := [scores[metric.name] for scores in tasks if metric.name in scores]:
            yield metric.name, aggregate_tasks(metric, values)


def check_values(finished: Finished) -> None:
    """That report and compare have each score of a run as lmms-eval has it, on as many groups and items."""
    for name, score in finished.host[finished.name].items():
        if finished.metrics[name].kind == "mean":
            _check_score(finished.metrics[name], finished.parts, score)


def check_parts(finished: Finished) -> None:
    """That scores of a part, such as pair_accuracy_easy, are those of its records, which `--by` shows."""
    metrics, host = finished.metrics, finished.host[finished.name]
    for column, value in _strata_of(finished):
        parts = _within(finished, column, value)
        for name in metrics:
            own = metrics.get(f"{name}_{value}")
            if own is None or own.kind != "mean" or own.name not in host:
                continue
            if all([record for record in finished.parts[task] if own.applies(record)] == parts[task] for task in parts):
                _check_score(metrics[name], parts, host[own.name])


def check_tables(finished: Finished) -> None:
    """That tables and the page print what lmms-eval has."""
    run, metrics, host = finished.run, finished.metrics, finished.host[finished.name]
    columns = columns_of(finished.name)
    (table,) = score_tables([run], finished.name)
    ((_, *cells),) = table.texts()
    own = [column.metric for column in columns if column.metric and column.metric.name in metrics]
    _expect(bool(own), True, "a column with a score of its kind")
    shown = _strip_intervals(columns, cells)
    for metric in own:
        _expect(metric, metrics[metric.name], f"the column {metric.name}")
        _expect(shown[metric.name], _printed(host.get(metric.name), metric), f"{metric.name} in the table")
    for part in finished.parts:
        block = task_block(part, [(0, run)], ClipShelf())
        logged = {record.item_id: OUTCOMES.index(record.outcome.value) for record in run.records[part]}
        _expect({item.item_id: item.answers[0].outcome for item in block["items"]}, logged, "outcomes of the page")


def check_files(finished: Finished) -> None:
    """That the file of scores has what report has of each score, and the numbers that lmms-eval has."""
    written = ScoresFile.model_validate_json(scores_text(scores_of(finished.run)))
    part = written.part(finished.name)
    expected = {name: score for name, score in finished.host[finished.name].items() if name != SAMPLE_DATA.name}
    _expect({score.metric for score in part.scores}, set(expected), "scores of the file")
    leading = _leading(finished)
    _expect(part.leading, leading and leading.name, "the leading score of the file")
    for score in part.scores:
        metric = finished.metrics[score.metric]
        _expect(score.value, expected[metric.name], f"{metric.name} in the file")
        own = estimate(metric, list(finished.parts.values())) if metric.kind == "mean" else None
        ends = (own.low, own.high, own.groups) if own else (None, None, score.groups)
        _expect((score.low, score.high, score.groups), ends, f"the interval of {metric.name} in the file")
        _expect((score.groups, score.items), _count_behind(metric, finished.parts), f"what {metric.name} stands on")


def check_strata(finished: Finished) -> None:
    """That tables and the page by stratum print what compare says of a stratum."""
    panels = stratum_panels(finished)
    found: Counter[tuple[str, str]] = Counter()
    for column, value in _strata_of(finished):
        parts = _within(finished, column, value)
        if panels:
            compared = compare_records(parts, parts, [_leading(finished)]).differences
            if column in panels:
                shown = [f"{one.first:.1f}" for one in compared] or ["N/A"]
                _expect(_dots(panels[column])[value.replace("_", " ")], shown[0], f"{column} {value} of the page")
            if f"{column} and run" in panels:
                found.update((f"{one.first:.1f}", f"{one.groups:,}") for one in compared)
        if len(finished.parts) == 1:
            (table,) = stratum_tables(finished.run, [column], finished.name)
            rows = {row[0]: row[1:] for row in table.texts()}
            scores = [one for one in columns_of(finished.name) if one.text is None]
            cells = _strip_intervals(scores, rows[value.replace("_", " ")])
            for name, metric in finished.metrics.items():
                if name in cells and metric.kind == "mean":
                    score = next((one.first for one in compare_records(parts, parts, [metric]).differences), None)
                    _expect(cells[name], _printed(score, metric), f"{name} of {column} {value} in the table")
    for at, panel in panels.items():
        if at.endswith(" and run"):
            numbers = [cell for row in _table(panel).rows for cell in row if isinstance(cell, Number)]
            _expect(Counter((one.value_text, f"{one.n:,}") for one in numbers), found, f"{at} of the page")


def stratum_panels(finished: Finished) -> dict[str, Panel]:
    """The page's panels of the leading score by stratum, by what they are by; none without such a score."""
    leading = _leading(finished)
    if leading is None:
        return {}
    (section,) = build_sections([finished.run], finished.name)[1]
    title = f"{leading.title[0].upper()}{leading.title[1:]} by "
    return {panel.title.removeprefix(title): panel for panel in section.panels if panel.title.startswith(title)}


CHECKS: Sequence[Callable[[Finished], None]] = (check_values, check_parts, check_tables, check_files, check_strata)


def _leading(finished: Finished) -> Any:
    items = sum(map(len, finished.parts.values()))
    references = references_of(finished.name, next(iter(finished.parts)), items)
    return references[0].metric if references else None


def _expect(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise InputError(f"Expected {expected} as {what}, but got {found}.")


def _check_score(metric: Metric, parts: Parts, expected: Score) -> None:
    found = estimate(metric, list(parts.values()))
    # The second run's items stand in another order.
    compared = compare_records(parts, {task: list(reversed(records)) for task, records in parts.items()}, [metric])
    if expected is None:
        _expect((found, compared.without), (None, (metric,)), f"{metric.name} without a value")
        return
    groups, items = _count_behind(metric, parts)
    got = (found.value, found.groups) if found else None
    _expect(got, (expected, groups), f"{metric.name} and its groups in report")
    (difference,) = compared.differences
    got_compared = (difference.first, difference.groups, difference.items)
    _expect(got_compared, (expected, groups, items), f"{metric.name}, its groups and items in compare")
    same = isclose(difference.second, expected, rel_tol=1e-9, abs_tol=1e-9)
    _expect(same, True, f"{metric.name} of the same items in another order being the same")
    _expect((not compared.left_out, compared.items), (True, sum(map(len, parts.values()))), "items compared")


def _count_behind(metric: Metric, parts: Parts) -> tuple[int, int]:
    """Count the groups and items behind a score, from the definition of what counts together."""
    groups, items = set(), set()
    for task, records in parts.items():
        places: dict[Any, list[Record]] = {}
        for record in records:
            if metric.applies(record):
                stratum = metric.stratum(record) if metric.stratum else ""
                side = metric.contrast(record) if metric.contrast else True
                unit = record.group_id if metric.together else record.item_id
                places.setdefault((side, stratum, unit), []).append(record)
        for members in places.values():
            scored = all(metric.value(record) is not None for record in members)
            if scored and len(members) == (metric.together or 1):
                groups.add((task, members[0].group_id))
                items |= {(task, record.item_id) for record in members}
    return len(groups), len(items)


def _printed(score: Score, metric: Metric) -> str:
    return "N/A" if score is None else f"{score:.1f}" if metric.kind == "mean" else f"{score:,}"


def _strip_intervals(columns: Sequence[Column], cells: Sequence[str]) -> dict[str, str]:
    """The scores that stand in a table's row, by the names of the metrics."""
    return {
        column.metric.name: cell.split()[0]
        for column, cell in zip(columns, cells, strict=True)
        if column.metric is not None and column.against is None
    }


def _within(finished: Finished, column: str, value: str) -> dict[str, list[Record]]:
    return {
        task: [record for record in records if record.stratum[column] == value]
        for task, records in finished.parts.items()
    }


def _strata_of(finished: Finished) -> Iterator[tuple[str, str]]:
    records = [record for part in finished.parts.values() for record in part]
    for column in records[0].stratum:
        yield from ((column, value) for value in sorted({record.stratum[column] for record in records}))


def _dots(panel: Panel) -> dict[str, str]:
    """Label to score of the lines of a plot."""
    return {str(label): score.value_text for label, _, score in _table(panel).rows if isinstance(score, Number)}


def _table(panel: Panel) -> FittingTable:
    """The numbers of its one figure."""
    (figure,) = panel.all_figures
    return figure.table()
