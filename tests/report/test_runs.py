"""What of runs is shown and compared as one, and what it is set beside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import printed
from logged_runs import TASK, weak, write_run
from made_runs import C, W, make_groups, make_run

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.report.score_tables import reference_tables
from lmms_eval_tasks.report.sections import Section, build_section
from lmms_eval_tasks.runs.scores import comparable_parts, groups_of, references_of
from lmms_eval_tasks.utils.benchmark.benchmark import MASKED, name_view
from lmms_eval_tasks.utils.reporting.references import published_of_view
from lmms_eval_tasks.utils.scoring.orders import ROTATED

SCORES = dict.fromkeys(DIMENSIONS, 5.0)
GROUNDED: dict[str, Any] = {
    "format": {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"},
    "grounding": {
        **dict.fromkeys(("temporal_recall", "tiou_tp_only", "st_recall", "viou_tp_only", "im_tiou", "im_viou"), 0.5),
        **{"supported": True, "supported_strict": True, "false_positives": 0, "pairs": []},
    },
}
PAIRS = make_groups([(C, C)] * 20 + [(C, W)] * 20)


def section_of(task: str, view: str = "", **fields: Any) -> Section:
    """The section of a page on one run of a view of a task."""
    name = name_view(task, view)
    records = [replace(record, view=view).with_fields(**fields) for record in PAIRS]
    return build_section(name, [(1, make_run({name: records}), [name])])


def test_parts_of_a_run_are_tasks_of_one_kind_and_view() -> None:
    one, two = make_groups([(C,)]), make_groups([(W,)])
    run = make_run({"a": one, "b": two}, {"both": ("b", "a")})
    parts = {"a": {"a": tuple(one)}, "b": {"b": tuple(two)}, "both": {"a": tuple(one), "b": tuple(two)}}
    assert comparable_parts(run) == parts
    # The order of the tasks is the host's, so that a mean over them is its number to the last digit.
    assert list(comparable_parts(run)["both"]) == ["b", "a"]
    names = ("cast_bench", "cast_bench_open", TASK, f"{TASK}_blind")
    run = make_run(dict.fromkeys(names, ()))
    for group in (names[:2], names[2:], names[1:3]):
        assert groups_of(replace(run, groups={"both": group})) == {}
    assert groups_of(replace(run, groups={"both": (TASK, TASK)})) == {"both": (TASK, TASK)}


@pytest.mark.slow
def test_a_group_over_two_kinds_is_shown_task_by_task(tmp_path: Path) -> None:
    tasks = ("cast_bench", "cast_bench_open")
    form = {"grounding": None, "format": GROUNDED["format"]}
    run = write_run(tmp_path / "run", weak(4), tasks, scores=SCORES, **form)
    file = run / "20261121_results.json"
    results = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**results, "group_subtasks": {"both": list(tasks)}}), encoding="utf-8")
    shown = printed("report", run, "--html", tmp_path / "page.html")
    assert [line.split()[0] for line in shown.splitlines() if "(version" in line] == list(tasks)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert [f'<section id="{name}"' in page for name in (*tasks, "both")] == [1, 1, 0]


def test_scores_that_are_no_percentages_are_named(tmp_path: Path) -> None:
    shown = " ".join(
        printed("report", write_run(tmp_path / "run", weak(4), ("cast_bench_open",), scores=SCORES)).split()
    )
    assert "Scores in percent; judge 0-10, answer, causal chain, coverage, overall: plain numbers. " in shown
    section = build_section("yocausal", [(1, make_run({"yocausal": ()}), ["yocausal"])])
    assert section.units == "; CCI: in points; pairs: plain numbers"


def test_a_view_stands_beside_nothing_of_the_whole_items() -> None:
    for name in (*registry().tasks, *registry().groups):
        task = registry().find_members(name)[0]
        whole = references_of(name, name, 80)
        for view in (view for view in task.kind.views if registry().find_members(name_view(name, view))):
            seen = references_of(name_view(name, view), name_view(name, view), 80)
            assert [one.metric for one in seen] == [one.metric for one in whole]
            of_view = published_of_view(task.benchmark.folder, name, view)
            for one, other in zip(seen, whole, strict=True):
                assert one.people == ()
                assert set(one.published) <= {model for model in of_view if not model.people}
                assert {model.score for model in of_view if model in one.published} <= {one.metric.name}
                assert one.chance == (None if view in (MASKED, ROTATED) else other.chance)


def test_the_figures_that_are_printed_of_a_view_are_of_that_view() -> None:
    """In the table and in the figures of the page."""
    task = "mvp_mini_temporal_reasoning"
    (reference, *_) = references_of(task, task, 80)
    best, people = reference.best, reference.people
    assert best and people
    (whole,), (blind,) = (reference_tables([make_run({name: PAIRS})]) for name in (task, f"{task}_blind"))
    assert f"{people[0].percent:.1f} " in str(whole.texts()) and best.model in str(whole.texts())
    published = {model.model for model in published_of_view(find_benchmark("mvp").folder, task, "blind")}
    assert published and best.model not in published
    assert best.model not in str(blind.texts()) and any("open" in cell or "above" in cell for cell in blind.texts()[0])
    figure = section_of(task, "blind").panels[0]
    shown = {row[:2] for (one,) in [figure.all_figures] for row in one.table().texts()}
    assert best.model not in {label for label, _ in shown} and "people" not in {kind for _, kind in shown}
    assert {(model, "published") for model in published} <= shown
    assert figure.note.endswith("A view was shown (blind), so no published score of whole items is shown.")
    # Neither have the panels of a benchmark's own.
    for view, beside in (("", True), ("blind", False)):
        panels = section_of("cast_bench", view, **GROUNDED).panels
        (panel,) = (panel for panel in panels if panel.title == "Accuracy against grounding")
        assert ("published" in {row[1] for row in panel.all_figures[0].table().texts()}) is beside
