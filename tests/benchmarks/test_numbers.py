"""A score is one number: its value, its interval's n and its items are the same wherever they are printed.

Over all tasks and groups of all benchmarks, all views, all scores and all parts by stratum. What lmms-eval prints is
computed by the functions that our tasks give it, and `rescore` by the same ones.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from graded_records import records_of
from task_states import aggregations, task_state

from lmms_eval_tasks.host.state import find_metrics
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.report.clips import ClipShelf
from lmms_eval_tasks.report.items import task_block
from lmms_eval_tasks.report.runs import columns_of, comparable_parts, references_of
from lmms_eval_tasks.report.sections import build_section
from lmms_eval_tasks.report.tables import score_tables, stratum_tables
from lmms_eval_tasks.utils.benchmark.task_files import task_configs
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.reporting.columns import Column
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES, Panel
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.scoring.metrics import Metric, aggregate_tasks
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats import estimates
from lmms_eval_tasks.utils.stats.comparison import compare_records
from lmms_eval_tasks.utils.stats.estimates import estimate

Score = float | int | None
Parts = Mapping[str, Sequence[Record]]


def every_name() -> Iterator[tuple[str, str]]:
    """Every task and group; of each kind, all its views of the first task and of the first group."""
    for names in (registry().tasks, registry().groups):
        kinds = set()
        for name in names:
            kind = registry().find_members(name)[0].kind
            yield from ((name, view) for view in ("", *(kind.views if id(kind) not in kinds else ())))
            kinds.add(id(kind))


NAMES = list(every_name())
SIZES = (2, 2, 2, 1, 3)
GROUPS = 25
CELL = re.compile(r'<th scope="row">(.*?)</th>.*?(?:<b>(.*?)</b> <small>\[(.*?)\]</small>|<b class="none">)')
COLOURED = re.compile(r'<td style="[^>]*>(.*?)<small>(.*?)</small></td>')


@pytest.fixture(scope="module", autouse=True)
def few_draws() -> Iterator[None]:
    """What an interval stands on does not depend on how many draws it is made of."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("intervals", "macro_interval"):
            patch.setattr(estimates, name, partial(getattr(estimates, name), draws=50))
        yield


def draw_records(task: str, view: str) -> list[Record]:
    """Groups of one to three records of a task, graded of made-up answers, some unscored, in all strata."""
    known = registry().find_task(task)
    assert known is not None
    (kind,) = [name for name, kind in known.benchmark.kinds.items() if kind is known.kind]
    rng = random.Random(task)
    return [
        replace(record, item_id=f"{group}_{member}", group_id=str(group), view=view)
        for group in range(GROUPS)
        for member, record in enumerate(rng.choices(records_of(known.benchmark.name, kind), k=rng.choice(SIZES)))
    ]


@dataclass(frozen=True)
class Finished:
    """A run as it is read back, and what lmms-eval has of it.

    Attributes:
        run: The run.
        name: Its task or group.
        host: Task or group to each score that it has.
    """

    run: Run
    name: str
    host: Mapping[str, Mapping[str, Score]]

    @property
    def parts(self) -> Parts:
        return comparable_parts(self.run)[self.name]


@cache
def finish(folder: Path, name: str, view: str) -> Finished:
    """A run of a task or group, in the form in which lmms-eval leaves it."""
    tasks = [task.name for task in registry().find_members(name_view(name, view))]
    groups = {name_view(name, view): tasks} if name in registry().groups else {}
    folder.mkdir()
    results = {
        "configs": {task: {} for task in tasks},
        "group_subtasks": groups,
        "versions": dict.fromkeys([*tasks, *groups], "1-A"),
        "config": {"model": folder.name, "model_args": ""},
    }
    (folder / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    host: dict[str, dict[str, Score]] = {}
    for task in tasks:
        state = task_state(task)
        gathered = [
            json.loads(json.dumps({"record": record.to_json(), **state.gather(record, True)}))
            for record in draw_records(task, view)
        ]
        log = folder / f"20261121_samples_{task}.jsonl"
        log.write_text("".join(f"{json.dumps(line)}\n" for line in gathered), encoding="utf-8")
        bound = aggregations(state)
        host[task] = {
            metric.name: bound[metric.name](items)
            for metric in state.metrics
            if (items := [line[metric.name] for line in gathered if metric.name in line])
        }
    for group, members in groups.items():
        host[group] = dict(group_scores(name, [host[member] for member in members]))
    return Finished(read_run(folder), name_view(name, view), host)


def group_scores(group: str, tasks: Sequence[Mapping[str, Score]]) -> Iterator[tuple[str, Score]]:
    """A group's scores from those that its tasks have, as lmms-eval takes them: a score's name may begin another's."""
    first = registry().find_members(group)[0]
    listed = [str(entry["metric"]) for entry in task_configs(first.benchmark.folder)[group]["aggregate_metric_list"]]
    for metric in find_metrics(group, first.pointer, listed):
        for name in dict.fromkeys(name for scores in tasks for name in scores if metric.name in name):
            yield name, aggregate_tasks(metric, [scores[name] for scores in tasks if name in scores])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("numbers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        yield root


@pytest.fixture(params=NAMES, ids=["-".join(filter(None, pair)) for pair in NAMES])
def finished(request: pytest.FixtureRequest, folder: Path) -> Finished:
    name, view = request.param
    return finish(folder / f"{name}-{view}", name, view)


def metrics_of(finished: Finished) -> dict[str, Metric]:
    """The scores of a task or group."""
    task = registry().find_task(finished.name)
    assert task is not None
    return {name: task.kind.metric(name) for name in (metric.name for metric in task.kind.metrics)}


def count_behind(metric: Metric, parts: Parts) -> tuple[int, int]:
    """How many groups and items a score stands on, counted by the definition of what counts together."""
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


def check(metric: Metric, parts: Parts, expected: Score) -> None:
    """That `report` and `compare` have lmms-eval's number, on as many groups and items."""
    found = estimate(metric, list(parts.values()))
    compared = compare_records(parts, {task: list(reversed(records)) for task, records in parts.items()}, [metric])
    if expected is None:
        assert found is None and compared.without == (metric,), metric.name
        return
    groups, items = count_behind(metric, parts)
    assert found is not None, metric.name
    assert (found.value, found.groups) == (expected, groups), metric.name
    (difference,) = compared.differences
    # The second run's items stand in another order.
    assert (difference.first, difference.groups, difference.items) == (expected, groups, items), metric.name
    assert difference.second == pytest.approx(expected, abs=1e-9), metric.name
    assert not compared.left_out and compared.items == sum(map(len, parts.values()))


def printed(score: Score, metric: Metric) -> str:
    return "N/A" if score is None else f"{score:.1f}" if metric.kind == "mean" else f"{score:,}"


def strip_intervals(columns: Sequence[Column], cells: Sequence[str]) -> dict[str, str]:
    """The scores that stand in a table's row, by the names of the metrics."""
    return {
        column.metric.name: cell.split()[0]
        for column, cell in zip(columns, cells, strict=True)
        if column.metric is not None and column.against is None
    }


def within(finished: Finished, column: str, value: str) -> dict[str, list[Record]]:
    return {
        task: [record for record in records if record.stratum[column] == value]
        for task, records in finished.parts.items()
    }


def strata_of(finished: Finished) -> Iterator[tuple[str, str]]:
    records = [record for part in finished.parts.values() for record in part]
    for column in records[0].stratum:
        yield from ((column, value) for value in sorted({record.stratum[column] for record in records}))


def test_every_score_has_one_value_and_one_n(finished: Finished) -> None:
    metrics, host = metrics_of(finished), finished.host[finished.name]
    seen = 0
    for name, score in host.items():
        if metrics[name].kind == "mean":
            check(metrics[name], finished.parts, score)
            seen += score is not None
    assert seen


def test_scores_of_a_part_are_those_of_its_records(finished: Finished) -> None:
    """Of parts that lmms-eval has scores of, such as pair_accuracy_easy: they are what `--by` shows."""
    metrics, host = metrics_of(finished), finished.host[finished.name]
    for column, value in strata_of(finished):
        parts = within(finished, column, value)
        for name, metric in metrics.items():
            own = metrics.get(f"{name}_{value}")
            if own is None or own.kind != "mean" or own.name not in host:
                continue
            if all([record for record in finished.parts[task] if own.applies(record)] == parts[task] for task in parts):
                check(metric, parts, host[own.name])


def test_tables_and_page_print_what_lmms_eval_has(finished: Finished) -> None:
    run, metrics, host = finished.run, metrics_of(finished), finished.host[finished.name]
    task = registry().find_task(finished.name)
    assert task is not None
    columns = columns_of(finished.name)
    (table,) = score_tables([run], finished.name)
    ((_, *cells),) = table._rows
    own = [column.metric for column in columns if column.metric and column.metric.name in metrics]
    assert own and all(metric == metrics[metric.name] for metric in own)
    shown = strip_intervals(columns, cells)
    for metric in own:
        assert shown[metric.name] == printed(host.get(metric.name), metric), metric.name
    section = build_section(finished.name, [(0, run, list(finished.parts))])
    assert [row[2] for row in section.scores] == [tuple(cell.replace("\n", " ") for cell in cells)]
    for part in finished.parts:
        block = task_block(part, [(0, run)], ClipShelf())
        logged = {record.item_id: OUTCOMES.index(record.outcome.value) for record in run.records[part]}
        assert {item.item_id: item.answers[0].outcome for item in block["items"]} == logged


def test_tables_and_page_by_stratum_stand_on_what_compare_stands_on(finished: Finished) -> None:
    run = finished.run
    task = registry().find_task(finished.name)
    assert task is not None
    section = build_section(finished.name, [(0, run, list(finished.parts))])
    items = sum(map(len, finished.parts.values()))
    leading = references_of(finished.name, task.name, items)[0].metric
    title = f"{leading.title[0].upper()}{leading.title[1:]} by "
    panels = {panel.title.removeprefix(title): panel for panel in section.panels if panel.title.startswith(title)}
    assert panels
    found: Counter[tuple[str, str]] = Counter()
    for column, value in strata_of(finished):
        parts = within(finished, column, value)
        compared = compare_records(parts, parts, [leading]).differences
        if column in panels:
            shown = [f"{one.first:.1f}" for one in compared] or [""]
            assert dots(panels[column])[value.replace("_", " ")] == shown[0], (column, value)
        if f"{column} and run" in panels:
            found.update((f"{one.first:.1f}", f"{one.groups:,}") for one in compared)
        if len(finished.parts) == 1:
            (table,) = stratum_tables(run, [column], finished.name)
            rows = {row[0]: row[1:] for row in table._rows}
            shown_cells = strip_intervals(columns_of(finished.name), rows[value.replace("_", " ")])
            for name, metric in metrics_of(finished).items():
                if name in shown_cells and metric.kind == "mean":
                    score = next((one.first for one in compare_records(parts, parts, [metric]).differences), None)
                    assert shown_cells[name] == printed(score, metric), (column, value, name)
    for at, panel in panels.items():
        if at.endswith(" and run"):
            assert Counter(map(tuple, COLOURED.findall(str(panel.body)))) == found


def dots(panel: Panel) -> dict[str, str]:
    """Label to score of the lines of a plot."""
    return {re.sub("<span.*?</span> ", "", label): value for label, value, _ in CELL.findall(str(panel.body))}
