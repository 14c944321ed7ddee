"""Facts beside scores: which are the same score, and on which side of them a score lies."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial

import pytest
from published import records as published_records
from yocausal_records import pair_record

from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.runs.scores import references_of
from lmms_eval_tasks.utils.reporting.columns import Column
from lmms_eval_tasks.utils.reporting.references import (
    ReferencedMetric,
    compare_to_reference,
    published_models,
    published_of_view,
)
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate, estimate
from lmms_eval_tasks.utils.scoring.metrics import PAIRS_SCORED
from lmms_eval_tasks.yocausal.card import CCI


def test_a_count_has_no_interval_and_is_compared_with_nothing() -> None:
    for make in (ReferencedMetric, partial(Column, interval=True), partial(estimate, parts=[[]])):
        with pytest.raises(ValueError, match="Expected a mean, which has an interval, but pairs_scored is a count"):
            make(PAIRS_SCORED)
    for fact, side in ((10.0, "above"), (20.0, "open"), (25.0, "open"), (40.0, "below")):
        assert compare_to_reference(Estimate(25.0, 20.0, 30.0, 9), fact) == side


def reference(task: str, name: str, items: int = 100) -> ReferencedMetric:
    (found,) = [one for one in references_of(task, task, items) if one.metric.name == name]
    return found


FACTS: tuple[tuple[str, str, float | None, float | None, int, tuple[str, float] | None], ...] = (
    ("causalvqa_paired", "single_accuracy", 20.0, 84.78, 6, ("Gemini 2.5 Flash", 71.63)),
    ("causalvqa_debug_paired", "single_accuracy", 20.0, None, 0, None),
    ("mvp_mini", "pair_accuracy", 25.0, 92.9, 14, ("Cosmos-Reason2-8B (second-hand)", 47.19)),
    ("mvp", "pair_accuracy", 25.0, 92.9, 9, ("InternVL2.5-8B", 40.2)),
    ("mvp_mini", "single_accuracy", 50.0, None, 0, None),
    ("cast_bench", "accuracy", 16.67, 91.89, 13, ("Gemini-2.5-Pro", 50.34)),
    ("cast_bench", "faithful", None, None, 13, ("GPT-5", 12.68)),
    ("yocausal", "cci", 0.0, 8.67, 13, ("Wan2.1-T2V-14B", 5.91)),
    ("yocausal_vlm", "rsi_human_protocol", 50.0, 79.08, 0, None),
)


def test_the_facts_are_those_of_the_same_score() -> None:
    for task, name, chance, people, models, best in FACTS:
        found = reference(task, name)
        assert found.chance == chance
        assert [human.percent for human in found.people] == ([] if people is None else [people])
        assert len({model.model for model in found.published}) == len(found.published) == models
        assert (None if found.best is None else (found.best.model, found.best.value)) == best


def test_facts_are_of_the_same_questions() -> None:
    paired = reference("causalvqa_paired", "pair_accuracy")
    assert paired.people == () and "nobody answered both versions" in paired.note
    # A subset stands beside its own facts.
    found = reference("mvp_mini_intuitive_physics", "pair_accuracy")
    rows = [row for row in published_records("mvp", "MVP paper Table 4") if row["category"] == "intuitive_physics"]
    (human,) = [row["value"] for row in rows if row["split"] == "human subset"]
    assert [one.percent for one in found.people] == [human]
    values = {(row["model"], row["value"]) for row in rows if row["split"] == "mini"}
    assert {(model.model, model.value) for model in found.published} <= values and len(found.published) == 11
    # A run of the public questions stands beside their leaderboard.
    found = reference("cast_bench", "accuracy", items=80)
    assert found.best is not None and found.best.value == 76.2
    assert found.people == () and "80 public questions" in found.note


def test_cci_has_an_interval_about_it() -> None:
    winners = ["forward", "backward", "forward", None, "tie"]
    records = [
        pair_record(f"p{number}", "animal" if number % 2 else "human", winners[number % 5], number % 3 > 0)
        for number in range(100)
    ]
    found = estimate(CCI, [records])
    assert found is not None
    assert found.value == CCI.score_records(records)
    assert -100 <= found.low < found.value < found.high <= 100
    assert found.groups == sum(record.answered is not None for record in records)
    assert estimate(CCI, [[record for record in records if record.fields["vlm_causality"]]]) is None


SEEN: tuple[tuple[str, str, str, dict[str, float]], ...] = (
    ("causalvqa_paired", "blind", "pair_accuracy", {"Blind Qwen2.5-72B-Instruct": 25.09}),
    ("causalvqa_paired_blind", "blind", "pair_accuracy_reasoning", {"Blind Qwen2.5-72B-Instruct": 25.15}),
    ("causalvqa_paired", "single_frame", "single_accuracy", {"Single Frame Human": 71.83}),
    ("causalvqa_paired", "single_frame_last", "pair_accuracy", {"Single Frame Qwen2.5VL-7B-Instruct": 21.69}),
    ("causalvqa_paired", "single_frame_first", "pair_accuracy", {}), ("causalvqa_paired", "", "pair_accuracy", {}),
    ("causalvqa_debug_paired", "blind", "pair_accuracy", {}),
    ("mvp_mini", "blind", "pair_accuracy", {"Any text model": 0.0}),
    ("mvp", "single_frame_centre", "pair_accuracy", {"LLaVA-OV (Qwen2-7B)": 11.8, "Qwen2-VL (7B)": 16.7}),
    ("mvbench_object_interaction", "blind", "mvbench_accuracy", {"Llama 3-8B": 29.0, "Llama 3-70B": 29.0}),
    ("mvbench", "video_only", "mvbench_accuracy", {"VideoChat2 (Mistral)": 50.0}),
    ("mvbench", "", "mvbench_accuracy", {"GPT-4V": 44.0, "VideoChat2 (Mistral)": 61.0}),
)  # fmt: skip


def test_what_is_published_of_a_view() -> None:
    for task, view, score, values in SEEN:
        folder = find_benchmark("causalvqa" if task.startswith("causalvqa") else "mvp").folder
        entries = [one for one in published_of_view(folder, task, view) if one.score == score]
        assert {one.model: pytest.approx(one.value) for one in entries} == values and len(entries) == len(values)
        assert all(one.people == ("Human" in one.model) for one in entries)


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
