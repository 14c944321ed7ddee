"""A check that tables, page and comparison print each score as it is computed from the records, on drawn runs in the
form that lmms-eval leaves.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose
from pathlib import Path
from typing import Any

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.page import build_sections
from lmms_eval_tasks.report.page_files import ClipShelf
from lmms_eval_tasks.report.page_items import task_block
from lmms_eval_tasks.report.score_tables import columns_of, score_tables, stratum_tables
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.runs.run_files import DATA_SET
from lmms_eval_tasks.runs.scores import comparable_parts, references_of
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import FittingTable, Number
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.reporting.columns import Column
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES, Panel
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.metrics import SAMPLE_DATA, Metric, score_tasks
from lmms_eval_tasks.utils.scoring.record import Record

Score = float | int | None
Parts = Mapping[str, Sequence[Record]]
SIZES = (2, 2, 2, 1, 3)
GROUPS = 25
STAMP = "20261121"


@dataclass(frozen=True)
class Finished:
    """A run as it is read back, and the task, group or view that it is of."""

    run: Run
    name: str

    @property
    def parts(self) -> Parts:
        return comparable_parts(self.run)[self.name]

    @property
    def metrics(self) -> dict[str, Metric]:
        metrics = registry().find_members(self.name)[0].kind.metrics
        return {metric.name: metric for metric in metrics if metric is not SAMPLE_DATA}

    @cached_property
    def scores(self) -> dict[str, Score]:
        """Each score that applies to some of its records, computed from these alone."""
        counted = {name: [metric.units(part) for part in self.parts.values()] for name, metric in self.metrics.items()}
        return {name: score_tasks(self.metrics[name], units) for name, units in counted.items() if any(units)}


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
    data_set = DataSet(kind=SetKind.SAMPLE).model_dump(mode="json")
    for task in members:
        (kind,) = [name for name, kind in task.benchmark.kinds.items() if kind is task.kind]
        drawn = _draw(task.name, view, records[kind])
        lines = (json.dumps({"record": {**record.to_json(), DATA_SET: data_set}}) for record in drawn)
        log = folder / f"{STAMP}_samples_{task.name}.jsonl"
        log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Finished(read_run(folder), name_view(name, view))


def _draw(task: str, view: str, records: Sequence[Record]) -> list[Record]:
    """Groups of one to three records, always the same for a task."""
    rng = random.Random(task)
    return [
        replace(record, item_id=f"{group}_{member}", group_id=str(group), view=view)
        for group in range(GROUPS)
        for member, record in enumerate(rng.choices(records, k=rng.choice(SIZES)))
    ]


def check_values(finished: Finished) -> None:
    """That compare has each score of a run."""
    for name, score in finished.scores.items():
        if finished.metrics[name].kind == "mean":
            _check_score(finished.metrics[name], finished.parts, score)


def check_parts(finished: Finished) -> None:
    """That scores of a part, such as pair_accuracy_easy, are those of its records, which `--by` shows."""
    metrics, scores = finished.metrics, finished.scores
    for column, value in _strata_of(finished):
        parts = _within(finished, column, value)
        for name in metrics:
            own = metrics.get(f"{name}_{value}")
            if own is None or own.kind != "mean" or own.name not in scores:
                continue
            if all([record for record in finished.parts[task] if own.applies(record)] == parts[task] for task in parts):
                _check_score(metrics[name], parts, scores[own.name])


def check_tables(finished: Finished) -> None:
    """That tables and the page print it."""
    run, metrics, scores = finished.run, finished.metrics, finished.scores
    columns = columns_of(finished.name)
    (table,) = score_tables([run], finished.name)
    ((_, *cells),) = table.texts()
    own = [column.metric for column in columns if column.metric and column.metric.name in metrics]
    _expect(bool(own), True, "a column with a score of its kind")
    shown = _strip_intervals(columns, cells)
    for metric in own:
        _expect(metric, metrics[metric.name], f"the column {metric.name}")
        _expect(shown[metric.name], _printed(scores.get(metric.name), metric), f"{metric.name} in the table")
    for part in finished.parts:
        block = task_block(part, [(0, run)], ClipShelf())
        logged = {record.item_id: OUTCOMES.index(record.outcome.value) for record in run.records[part]}
        _expect({item.item_id: item.answers[0].outcome for item in block["items"]}, logged, "outcomes of the page")


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


CHECKS: Sequence[Callable[[Finished], None]] = (check_values, check_parts, check_tables, check_strata)


def _leading(finished: Finished) -> Any:
    items = sum(map(len, finished.parts.values()))
    references = references_of(finished.name, next(iter(finished.parts)), items)
    return references[0].metric if references else None


def _expect(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise InputError(f"Expected {expected} as {what}, but got {found}.")


def _check_score(metric: Metric, parts: Parts, expected: Score) -> None:
    # The second run's items stand in another order.
    compared = compare_records(parts, {task: list(reversed(records)) for task, records in parts.items()}, [metric])
    if expected is None:
        _expect(compared.without, (metric,), f"{metric.name} without a value")
        return
    (difference,) = compared.differences
    _expect(difference.first, expected, f"{metric.name} in compare")
    same = isclose(difference.second, expected, rel_tol=1e-9, abs_tol=1e-9)
    _expect(same, True, f"{metric.name} of the same items in another order being the same")
    _expect((not compared.left_out, compared.items), (True, sum(map(len, parts.values()))), "items compared")


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
