"""What is not all parts of one run is refused, with every reason at once, before anything is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import refusal
from expected import Expected
from lmms_eval.models.model_utils.efficiency_metrics import build_efficiency_summary
from logged_runs import TASK, weak, write_run
from releases import question_row, write_causalvqa

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.finished.merge import _ranges, merge_cards, merge_results
from lmms_eval_tasks.registry import read_card, registry
from lmms_eval_tasks.runs.run_card import CARD, NOT_KNOWN, Sections
from lmms_eval_tasks.utils.core.text import SHARD
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.data.prepare import Preparation

RESULTS = "20261121_results.json"
RUN_CARD = f"20261121{CARD}"
LOG = f"20261121_samples_{TASK}.jsonl"
GROUPS = 4
ITEMS = 2 * GROUPS


def write_part(folder: Path, part: int, of: int, items: int = ITEMS) -> Path:
    """The run of a part that has every `of`-th group of a small run."""
    right = {name: flags for number, (name, flags) in enumerate(weak(GROUPS).items()) if number % of == part - 1}
    run = write_run(folder, right, version=str(registry().find_version(TASK)))
    lines = [json.loads(line) for line in (run / LOG).read_text(encoding="utf-8").split("\n")]
    for line in lines:
        group, index = map(int, line["record"]["item_id"].split("_"))
        line |= {"doc_id": 2 * group + index, "doc_hash": "x", "filtered_resps": "A"}
    (run / LOG).write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")

    def say_part(results: dict[str, Any]) -> None:
        results["config"]["model_args"] = "pretrained=org/model"
        results["n-samples"] = {TASK: {"original": items, "effective": len(lines)}}
        whole = {TASK: {"original": items, "effective": items}}
        results["shard"] = {"part": part, "of": of, "n-samples": whole}

    change(run / RESULTS, say_part)
    card = {
        f"task {TASK}": {"items": len(lines), "prompt": "mcq", "data sha256": "0" * 64},
        "model": {"name": "model"},
        "run": {"shard": f"{part}/{of}", "limit": "none", "ranks": 1},
        "software": {"torch": "2.15"},
    }
    (run / RUN_CARD).write_text(json.dumps(card), encoding="utf-8")
    return run


def change(file: Path, alter: Callable[[dict[str, Any]], None]) -> None:
    values = json.loads(file.read_text(encoding="utf-8"))
    alter(values)
    file.write_text(json.dumps(values), encoding="utf-8")


def summed(*numbers: int) -> dict[str, Any]:
    """What lmms-eval counts of requests with so many tokens of output each."""
    asked, said = 10 * len(numbers), sum(numbers)
    return {"input_tokens": asked, "output_tokens": said, "total_tokens": asked + said, "n_api_calls": len(numbers)}


def test_tokens_of_the_parts_are_those_of_the_whole_run_and_means_are_taken_anew() -> None:
    def run(*items: tuple[int, float]) -> dict[str, Any]:
        """The results of a run of items, each with its tokens of output and whether it is right."""
        samples = [
            {"token_counts": [{"input_tokens": 10, "output_tokens": said}], "score": right} for said, right in items
        ]
        tokens = summed(*(said for said, _ in items))
        limits = {"budget_exceeded": False, "budget_total_tokens": None}
        fixed = {"date": "20261121", "start_time": 0.0, "total_evaluation_time_seconds": "1.0"}
        return {
            **{name: {TASK: {}} for name in ("results", "configs", "n-samples")},
            "group_subtasks": {TASK: []},
            "shard": {"n-samples": {TASK: {}}},
            "usage": {"total": tokens, "by_task": {TASK: tokens}, "by_source": {"model": tokens}, **limits},
            "efficiency": build_efficiency_summary({"samples": {TASK: samples}}),
            **fixed,
        }

    first, second = [(3, 1.0), (8, 0.0)], [(40, 1.0)]
    merged, whole = merge_results([run(*first), run(*second)]), run(*first, *second)
    assert [merged[name] for name in ("usage", "efficiency")] == [whole[name] for name in ("usage", "efficiency")]
    assert merged["efficiency"]["overall"]["avg_output_tokens_per_sample"] == (3 + 8 + 40) / 3
    assert merged["total_evaluation_time_seconds"] == "2.0"


def test_results_have_the_tasks_of_all_parts_in_the_order_of_the_whole_run() -> None:
    def part(task: str, date: str, start: float, seconds: str, **more: Any) -> dict[str, Any]:
        return {
            "results": {task: {"accuracy": start}, "group": {"alias": "group", task: 1}},
            "configs": {task: {"repeats": 1}},
            "versions": {task: "2-A", "group": "N/A"},
            "group_subtasks": {"group": [task], task: []},
            "n-samples": {task: {"effective": 1}},
            "shard": {"n-samples": {"a": {"effective": 2}, "b": {"effective": 3}}},
            "throughput": {"tokens": 1},
            **{"date": date, "start_time": start, "total_evaluation_time_seconds": seconds},
            **more,
        }  # fmt: skip

    counts = {"total_output_tokens": 4, "docs_with_token_counts": 0, "total_correct_score": 0.0}
    efficiency = {"overall": {**counts, "source": "model"}, "by_task": {"a": counts}}
    nothing = {**part("a", "1", 5.0, "0.25"), "results": {}, "configs": {}, "n-samples": {}, "versions": {}}
    parts = [nothing, part("b", "2", 10.0, "1.5"), part("a", "3", 20.0, "2.25", efficiency=efficiency)]
    merged = merge_results(parts)
    no_means = {"avg_output_tokens_per_sample": 0.0, "tokens_per_correct_answer": None}
    assert merged == {
        "results": {
            "group": {"alias": "group", "a": 1, "b": 1}, "a": {"accuracy": 20.0}, "b": {"accuracy": 10.0},
        },
        "configs": {"a": {"repeats": 1}, "b": {"repeats": 1}},
        "versions": {"a": "2-A", "b": "2-A", "group": "N/A"},
        "group_subtasks": {"group": ["a", "b"], "a": [], "b": []},
        "n-samples": {"a": {"effective": 2}, "b": {"effective": 3}},
        "efficiency": {
            "overall": {**counts, "source": "model", **no_means}, "by_task": {"a": {**counts, **no_means}},
        },
        "date": "3", "start_time": 10.0, "end_time": 14.0, "total_evaluation_time_seconds": "4.0",
    }  # fmt: skip
    assert list(merged["results"]) == ["group", "a", "b"]
    assert [list(merged[name]) for name in ("configs", "versions")] == [["a", "b"], ["a", "b", "group"]]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [([], ""), ([3], "3"), ([1, 2], "1-2"), ([1, 2, 3, 5, 7, 8], "1-3, 5, 7-8"), ([0, 2, 4], "0, 2, 4")],
)
def test_numbers_in_a_row_are_named_by_their_ends(numbers: list[int], said: str) -> None:
    assert _ranges(numbers) == said


def test_fields_of_cards_are_joined_as_their_nature_asks() -> None:
    """Times and numbers are added, and rates are taken anew; of other fields all values are named."""
    first: Sections = {
        "model": {"name": "m", "revision": None},
        "task b": {"items": 3, "prompt": "mcq", "extractor": None},
        "throughput": {
            "seconds": 10.04, "questions": 100, "clips": 7, "prompt tokens": 200, "prompt tokens reused": 50,
            "questions an hour": 5, "share of prompt tokens reused in %": 99.0,
        },
        "cost of b": {"answers": 2, "seconds": 1.5, "model": "m"},
        "run": {
            "shard": "1/2", "date": "20260102_000000", "command": "one", "limit": "none", "ranks": 1, "tasks": None,
            "wall time in s": 1.5, "answers kept from before": 2,
        },
        "settings": {SHARD: "1/2", "LMMS_EVAL_TASKS_MISSING": "skip"},
        NOT_KNOWN: {"model.revision": "a folder", "task b.extractor": "none", "run.tasks": "one asks"},
    }  # fmt: skip
    second: Sections = {
        "task a": {"items": 1},
        "task b": {"items": 4, "prompt": "mine", "extractor": "reader 1"},
        "model": {"name": "m", "revision": None},
        "throughput": {
            "seconds": 20.0, "questions": 50, "clips": None, "prompt tokens": 300, "prompt tokens reused": 75,
        },
        "cost of b": {"answers": 3, "seconds": 2.26, "model": "m"},
        "run": {
            "shard": "2/2", "date": "20260101_000000", "command": "two", "limit": 8, "ranks": 1, "tasks": None,
            "wall time in s": 2.26, "answers kept from before": 1,
        },
        "settings": {SHARD: "2/2", "LMMS_EVAL_TASKS_MISSING": "skip"},
        NOT_KNOWN: {"model.revision": "a folder", "run.tasks": "another asks", "throughput.clips": "none"},
    }  # fmt: skip
    merged = merge_cards([first, second])
    assert merged == {
        "task a": {"items": 1},
        "task b": {"items": 7, "prompt": "mcq; mine", "extractor": "reader 1"},
        "model": {"name": "m", "revision": None},
        "throughput": {
            "seconds": 30.0, "questions": 150, "clips": 7, "prompt tokens": 500, "prompt tokens reused": 125,
            "questions an hour": 18_000, "clips an hour": 840, "share of prompt tokens reused in %": 25.0,
        },
        "cost of b": {"answers": 5, "seconds": 3.8, "model": "m"},
        "run": {
            "shard": "none", "date": "20260102_000000", "command": "one", "limit": "none; 8", "ranks": 1, "tasks": None,
            "wall time in s": 3.8, "answers kept from before": 3,
        },
        "settings": {"LMMS_EVAL_TASKS_MISSING": "skip"},
        NOT_KNOWN: {"model.revision": "a folder", "run.tasks": "one asks; another asks"},
    }  # fmt: skip
    assert list(merged)[:4] == ["task a", "task b", "model", "throughput"]
    for rates in ({"questions": 3}, {"questions": 3, "seconds": 0.0}, {"questions": None, "seconds": 2.0}):
        (found,) = (merge_cards([{"throughput": {**rates, "prompt tokens": 0}}])["throughput"],)
        assert found == {**rates, "prompt tokens": 0}
    plain = merge_cards([{"throughput": {"prompt tokens": 8, "clips": 1}}])["throughput"]
    assert plain == {"prompt tokens": 8, "clips": 1, "share of prompt tokens reused in %": 0.0}


def refused(tmp_path: Path, *runs: Path) -> str:
    """The refusal of a merge that leaves nothing behind."""
    shown = refusal("merge", *runs, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    return shown


@pytest.mark.slow
def test_a_reason_is_kept_for_what_no_part_knows() -> None:
    reasons = {"model.revision": "a folder", "model.clip reader": "another adapter"}
    parts: list[Sections] = [
        {"model": {"revision": None, "clip reader": reader}, NOT_KNOWN: dict(reasons)} for reader in (None, "decord")
    ]
    merged = merge_cards(parts)
    assert merged["model"] == {"revision": None, "clip reader": "decord"}
    assert merged[NOT_KNOWN] == {"model.revision": "a folder"}
    known: list[Sections] = [{"model": {"revision": "main"}, NOT_KNOWN: dict(reasons)}]
    assert NOT_KNOWN not in merge_cards(known)


def test_what_is_not_all_parts_of_one_run(tmp_path: Path, expected: Expected) -> None:
    def alter(card: dict[str, Any]) -> None:
        card[f"task {TASK}"] |= {"prompt": "mine", "data sha256": "1" * 64}
        card["model"]["name"] = "other"
        card["software"]["torch"] = "2.16"
        card["run"] |= {"limit": 4, "ranks": 2}
        card["hardware"] = {"GPUs": "none"}

    def count(results: dict[str, Any]) -> None:
        results["shard"]["n-samples"] = {TASK: {"original": 4, "effective": 4}, "mmmu": {"original": 4, "effective": 4}}
        results["config"]["gen_kwargs"] = "max_new_tokens=8"

    one, two, three = parts = [write_part(tmp_path / str(part), part, 3) for part in (1, 2, 3)]
    again, bare, cut, other = (
        Path(shutil.copytree(part, tmp_path / name))
        for name, part in {"again": one, "bare": one, "cut": two, "other": two}.items()
    )
    (bare / RUN_CARD).unlink()
    (cut / LOG).write_text((cut / LOG).read_text(encoding="utf-8").split("\n")[0], encoding="utf-8")
    change(other / RUN_CARD, alter)
    change(other / RESULTS, count)
    (tmp_path / "empty").mkdir()
    whole, of_four = write_run(tmp_path / "whole", weak(2)), write_part(tmp_path / "of_four", 2, 4)
    refusals = [
        refused(tmp_path, *runs)
        for runs in (
            [two],
            [*parts, again],
            [*parts, of_four],
            [bare, two, three, whole, tmp_path / "empty"],
            [one, cut, three],
            [one, other, three],
        )
    ]
    # A folder that holds a run is not looked into before the parts are whole.
    refusals.append(refusal("merge", one, "--out", two))
    expected("\n".join(refusals))


def test_items_that_are_in_no_part_or_in_two_and_other_data(tmp_path: Path, home: Path, expected: Expected) -> None:
    prepare(Preparation(), write_causalvqa(tmp_path, "debug", [question_row("1", "descriptive", "easy", (1, 2))]))
    parts = [write_part(tmp_path / str(part), part, 3, ITEMS + 2) for part in (1, 2, 3)]
    second = (parts[1] / LOG).read_text(encoding="utf-8").replace('"doc_id": 2,', '"doc_id": 0,')
    (parts[1] / LOG).write_text(second, encoding="utf-8")
    now = read_manifest(read_card("causalvqa")).splits["debug"].table_sha256[:8]
    expected(refused(tmp_path, *parts).replace(now, "{what is prepared}"))
