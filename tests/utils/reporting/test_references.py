"""Facts beside scores: which are the same score, and on which side of them a score lies."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from operator import itemgetter

import pytest
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from published import records as published_records
from version_gate import own_benchmarks

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.scores import references_of
from lmms_eval_tasks.utils.core.output import Mark, Number
from lmms_eval_tasks.utils.reporting.columns import Column
from lmms_eval_tasks.utils.reporting.references import (
    ReferencedMetric,
    published_models,
    published_of_view,
)
from lmms_eval_tasks.utils.scoring.bootstrap import estimate, macro_interval
from lmms_eval_tasks.utils.scoring.metrics import PAIRS_SCORED


def test_a_count_has_no_interval_and_is_compared_with_nothing() -> None:
    for make in (ReferencedMetric, partial(Column, interval=True), partial(estimate, parts=[[]])):
        with pytest.raises(ValueError, match="Expected a mean, which has an interval, but pairs_scored is a count"):
            make(PAIRS_SCORED)


def test_a_mark_agrees_with_the_digits_that_are_printed() -> None:
    for fact, side in ((10.0, "above"), (20.0, "open"), (25.0, "open"), (30.0, "open"), (40.0, "below")):
        assert Number(25.0, 20.0, 30.0).side_of(fact) == side
    assert Number(25.0).side_of(25.0) is None
    # 2, 3, 3 and 3 of 6 pairs in four subsets: the interval's lower end is 25, by sums that leave something over.
    low, high = macro_interval([[(100.0, 1.0)] * right + [(0.0, 1.0)] * (6 - right) for right in (2, 3, 3, 3)])
    assert low > 25.0 and Number(45.8, low, high).text == "45.8 [25.0, 66.7]"
    assert Number(45.8, low, high).side_of(25.0) is Mark.OPEN
    # 1 of 16 is printed as it is when a sum leaves something over, on either side of halfway.
    for left_over in (-1e-14, 0.0, 1e-14):
        one = Number(6.25, 6.25 + left_over, 6.25 + left_over)
        assert (one.interval_text, one.side_of(6.25)) == ("[6.2, 6.2]", Mark.OPEN)
    assert Number(30.0, 25.04, 35.0).side_of(25.0) is Mark.OPEN
    assert Number(30.0, 25.04, 35.0, digits=2).side_of(25.0) is Mark.ABOVE


@given(*[st.integers(1, 50)] * 2, st.integers(-3, 3), st.integers(1, 2))
def test_two_scores_of_one_count_are_printed_alike_and_on_no_side_of_each_other(
    right: int, more: int, steps: int, digits: int
) -> None:
    score = 100 * right / (right + more)
    summed = sum([100 / (right + more)] * right)  # the same count, summed otherwise
    near = score + steps * 0.4 * 10**-digits
    for end in (summed, near):
        number = Number(score, end, end, digits=digits)
        printed = [float(text) for text in (number.interval_text[1:].split(",")[0], Number(score, digits=digits).text)]
        side = Mark.ABOVE if printed[0] > printed[1] else Mark.BELOW if printed[0] < printed[1] else Mark.OPEN
        assert number.side_of(score) is side
    assert Number(score, summed, summed, digits=digits).side_of(score) is Mark.OPEN


def test_what_stands_beside_the_scores_of_each_task(expected: Expected) -> None:
    lines = []
    own = [entry for name in own_benchmarks() for entry in registry().tasks_of(name).items()]
    for name, task in sorted(own, key=itemgetter(0)):
        for one in references_of(name, name, 100):
            assert len({model.model for model in one.published}) == len(one.published)
            best = f", the best {one.best.model} {one.best.value:.2f}" if one.best else ""
            people = "".join(f"; people {human.percent}" for human in one.people)
            lines.append(f"{name}, {one.metric.name}: chance {one.chance}; {len(one.published)} models{best}{people}")
        for view in (view for view in task.kind.views if view):
            for seen in published_of_view(task.benchmark.folder, name, view):
                lines.append(f"{name}, {view}, {seen.score}: {'people, ' * seen.people}{seen.model} {seen.value:.2f}")
    (public,) = (one for one in references_of("cast_bench", "cast_bench", 80) if one.metric.name == "accuracy")
    assert public.best is not None
    expected("\n".join([*lines, f"cast_bench, 80 items: {public.best.model} {public.best.value:.2f}. {public.note}"]))


def test_a_subset_stands_beside_its_own_facts() -> None:
    task = "mvp_mini_intuitive_physics"
    (found,) = (one for one in references_of(task, task, 100) if one.metric.name == "pair_accuracy")
    rows = [row for row in published_records("mvp", "MVP paper Table 4") if row["category"] == "intuitive_physics"]
    (human,) = [row["value"] for row in rows if row["split"] == "human subset"]
    assert [one.percent for one in found.people] == [human]
    values = {(row["model"], row["value"]) for row in rows if row["split"] == "mini"}
    assert {(model.model, model.value) for model in found.published} <= values and len(found.published) == 11


def test_scores_of_views_name_a_score_of_a_task_and_stand_beside_no_other_run() -> None:
    for benchmark in registry().benchmarks.values():
        if not (file := benchmark.folder / "published.json").is_file():
            continue
        entries = json.loads(file.read_text(encoding="utf-8"))["records"]
        seen = [entry for entry in entries if "view" in entry]
        for entry in seen:
            assert entry["view"] in {"blind", "single_frame", "video_only", "socratic"}
            if task := registry().find_task(entry["task"]):
                assert task.benchmark.name == benchmark.name
                assert task.kind.metric(entry.get("score", task.metrics[0])).unit == "%"
            else:
                assert entry["task"].startswith("mvbench") and entry["unit"] == "fraction"
        of_views = Counter((entry["model"], entry["value"], entry["source"]) for entry in seen)
        others = Counter((entry["model"], entry["value"], entry["source"]) for entry in entries if "view" not in entry)
        whole = published_models(benchmark.folder, source="")
        assert Counter((one.model, one.value, one.source) for one in whole) == others
        assert others.total() + of_views.total() == len(entries)


def test_table_1_is_there_whole() -> None:
    rows = published_records("mvp", "MVP paper Table 1")
    assert len(rows) == 210 and len({row["category"] for row in rows}) == 21
    tasks = {row["task"] for row in rows if row["setting"] != "chance"}
    assert len(tasks) == 21
    # Each average is that of the twenty tasks, which are rounded to two decimals as it is.
    for average in (row for row in rows if row["category"] == "all"):
        same = [
            row["value"] for row in rows if (row["model"], row["setting"]) == (average["model"], average["setting"])
        ]
        assert (sum(same) - average["value"]) / 20 == pytest.approx(average["value"], abs=0.0101)


def test_table_13_adds_up_but_for_one_misprint() -> None:
    rows = published_records("causalvqa", "CausalVQA paper Table 13 (blind / last-frame)")
    assert len(rows) == 66
    for average in (row for row in rows if row["difficulty"] == "all" and row["category"] not in ("all", "reasoning")):
        cells = [
            row for row in rows
            if (row["model"], row["category"]) == (average["model"], average["category"]) and row["difficulty"] != "all"
        ]  # fmt: skip
        mean = sum(row["value"] * row["n"] for row in cells) / average["n"]
        assert mean == pytest.approx(average["value"], abs=0.0101)
    noted = [row["model"] for row in rows if "note" in row]
    for whole in (row for row in rows if row["category"] == "all"):
        cells = [row for row in rows if row["model"] == whole["model"] and row["difficulty"] != "all"]
        mean = sum(row["value"] * row["n"] for row in cells) / whole["n"]
        assert (mean == pytest.approx(whole["value"], abs=0.0101)) == (whole["model"] not in noted)
        assert whole["model"] not in noted or f"{mean:.2f}" in whole["note"]
    assert noted == ["Single Frame Human"]
