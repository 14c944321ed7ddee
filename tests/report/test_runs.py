"""What of runs is shown and compared as one, and what it is set beside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from logged_runs import TASK, strong, weak, write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.report.sections import build_section
from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.runs.scores import comparable_parts, groups_of, references_of
from lmms_eval_tasks.utils.benchmark.benchmark import MASKED, name_view
from lmms_eval_tasks.utils.reporting.references import published_of_view
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

FORM = {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"}
SCORES = dict.fromkeys(DIMENSIONS, 5.0)
VIEWS = [
    (name, view)
    for name in (*registry().tasks, *registry().groups)
    for view in registry().find_members(name)[0].kind.views
]


def report(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_parts_of_a_run() -> None:
    one, two = (Record(name, name, {}, "A", "A", Outcome.CORRECT) for name in "ab")
    run = Run(Path("x"), "m", {"a": (one,), "b": (two,)}, {"both": ("b", "a")}, {})
    assert comparable_parts(run) == {"a": {"a": (one,)}, "b": {"b": (two,)}, "both": {"a": (one,), "b": (two,)}}
    # The order of the tasks is the host's, so that a mean over them is its number to the last digit.
    assert list(comparable_parts(run)["both"]) == ["b", "a"]


def test_a_group_over_two_kinds_or_views_is_no_part(tmp_path: Path) -> None:
    names = ("cast_bench", "cast_bench_open", TASK, f"{TASK}_blind")
    run = Run(Path("x"), "m", dict.fromkeys(names, ()), {}, {})
    for group in (names[:2], names[2:], names[1:3]):
        assert groups_of(replace(run, groups={"both": group})) == {}
    assert groups_of(replace(run, groups={"both": (TASK, TASK)})) == {"both": (TASK, TASK)}


def test_a_group_over_two_kinds_is_shown_task_by_task(tmp_path: Path) -> None:
    tasks = ("cast_bench", "cast_bench_open")
    run = write_run(tmp_path / "run", weak(), tasks, grounding=None, format=FORM, scores=SCORES)
    results = json.loads((run / "20261121_results.json").read_text(encoding="utf-8"))
    results["group_subtasks"] = {"both": list(tasks)}
    (run / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    page = tmp_path / "page.html"
    lines = report(run, "--html", page).splitlines()
    titles = [line.split()[0] for line in lines if "(version" in line]
    assert titles == list(tasks)
    assert [f'<section id="{name}"' in page.read_text(encoding="utf-8") for name in (*tasks, "both")] == [1, 1, 0]


def test_scores_that_are_no_percentages_are_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(), ("cast_bench_open",), scores=SCORES)
    printed = " ".join(report(run).split())
    assert "Scores in percent; judge 0-10, answer, causal chain, coverage, overall: plain numbers. " in printed
    kind = registry().tasks["yocausal"].kind
    section = build_section("yocausal", [(1, Run(Path("x"), "m", {"yocausal": ()}, {}, {}), ["yocausal"])])
    assert [column.heading for column in kind.columns if column.metric and column.metric.unit == "points"] == ["CCI"]
    assert section.units == "; CCI: in points; pairs: plain numbers"


@pytest.mark.parametrize(("name", "view"), VIEWS)
def test_a_view_stands_beside_nothing_of_the_whole_items(name: str, view: str) -> None:
    whole, seen = references_of(name, name, 80), references_of(name_view(name, view), name_view(name, view), 80)
    assert [one.metric for one in seen] == [one.metric for one in whole]
    task = registry().find_task(name)
    assert task is not None
    of_view = published_of_view(task.benchmark.folder, name, view)
    for one, other in zip(seen, whole, strict=True):
        assert one.people == ()
        assert set(one.published) <= {model for model in of_view if not model.people}
        assert {model.score for model in of_view if model in one.published} <= {one.metric.name}
        assert one.chance == (None if view == MASKED else other.chance)


def test_the_figures_that_are_printed_of_a_view_are_of_that_view(tmp_path: Path) -> None:
    """In the table and in the figures of the page."""
    task = "mvp_mini_temporal_reasoning"
    whole = write_run(tmp_path / "whole", strong(), (task,))
    blind = write_run(tmp_path / "blind", weak(), (f"{task}_blind",), view="blind")
    (reference, *_) = references_of(task, task, 80)
    best, people = reference.best, reference.people
    assert best and people
    shown = report(whole)
    assert f"{people[0].percent:.1f}" in shown and best.model.split()[0] in shown
    told = report(blind).partition("beside references")[2].partition("Scores in percent")[0]
    published = {model.model for model in published_of_view(find_benchmark("mvp").folder, task, "blind")}
    assert "chance" in told and published
    assert best.model not in published and best.model not in " ".join(told.split())
    assert "above" in told or "below" in told or "open" in told
    figure = build_section(f"{task}_blind", [(1, read_run(blind), [f"{task}_blind"])]).panels[0]
    shown = {row[:2] for (one,) in [figure.all_figures] for row in one.table().texts()}
    assert best.model not in {label for label, _ in shown} and "people" not in {kind for _, kind in shown}
    assert {(model, "published") for model in published} <= shown
    assert figure.note.endswith("A view was shown (blind), so no published score of whole items is shown.")


def test_the_figures_of_a_view_with_panels_of_its_own_have_no_published_points(tmp_path: Path) -> None:
    grounding = {
        **dict.fromkeys(("temporal_recall", "tiou_tp_only", "st_recall", "viou_tp_only", "im_tiou", "im_viou"), 0.5),
        **{"supported": True, "supported_strict": True, "false_positives": 0, "pairs": []},
    }
    panels = {}
    for view in ("", "blind"):
        task = name_view("cast_bench", view)
        run = write_run(tmp_path / f"run{view}", weak(), (task,), view=view, grounding=grounding, format=FORM)
        section = build_section(task, [(1, read_run(run), [task])])
        (panels[view],) = (panel for panel in section.panels if panel.title == "Accuracy against grounding")
    kinds = {view: {row[1] for row in panel.all_figures[0].table().texts()} for view, panel in panels.items()}
    assert "published" in kinds[""] and "published" not in kinds["blind"]
