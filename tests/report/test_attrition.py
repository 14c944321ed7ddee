"""The attrition of a built set, from its folder to the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from made_runs import C, W, make_groups, make_run
from refusals import refusal

from lmms_eval_tasks.registry import building
from lmms_eval_tasks.report.sections import attrition_panels
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.identity import mark_as_built
from lmms_eval_tasks.utils.data.manifest import ATTRITION, AttritionStep, SetAttrition, write_attrition
from lmms_eval_tasks.utils.data.prepare import Origin

TASK = "causalvqa_debug_paired"


def prepare(source: Path) -> None:
    """Prepare a set of one pair, as a benchmark does, from a folder."""
    strata = {"type": "planning", "difficulty": "hard"}
    row = {"group_id": "1", "question": "q", "options": ["a", "b"], "answer": "A", "clip": "debug/c", **strata}
    rows = [{"item_id": f"1_{n}", **row} for n in (0, 1)]
    with building("causalvqa") as build:
        columns = dict.fromkeys(strata, "string")
        build.add_split("debug", rows, columns, {"debug/c": None}, Origin(str(source)), no_progress)


def test_a_built_set_shows_what_each_step_left_and_a_broken_file_is_refused(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "release"
    source.mkdir()
    steps = (
        AttritionStep(step="described", came=10, left=8, removed={"no reply": 2}),
        AttritionStep(step="questions", came=8, left=24),
        AttritionStep(step="blind check", came=24, left=6, removed={"answered without a look": 18}),
    )
    write_attrition(SetAttrition(start="clips", rows=10, steps=steps), source)
    run = make_run({TASK: make_groups([(C, W)] * 4)}, kind=SetKind.OWN)
    prepare(source)
    assert attrition_panels([TASK], [run]) == [], "a set without the mark of a build is not taken for one"
    mark_as_built(source)
    prepare(source)
    [panel] = attrition_panels([TASK, TASK], [run])
    assert panel.table is not None and panel.table.rows == [
        ("clips", 10, ""),
        ("described", 8, "80%"),
        ("– no reply", -2, ""),
        ("questions", 24, "from 8"),
        ("blind check", 6, "25%"),
        ("– answered without a look", -18, ""),
    ]
    official = replace(run, sets={TASK: DataSet(kind=SetKind.OFFICIAL)})
    assert attrition_panels([TASK], [official]) == [], "the run is of another set"
    for text in ("{", "[]", '{"start": "clips", "rows": -1, "steps": []}', "\\xff"):
        (source / ATTRITION).write_text(text, encoding="utf-8")
        said = refusal(prepare, source)
        assert "attrition.json cannot be read as the steps of a build" in said
        assert "Remedy: build the set again, or delete the file." in said
