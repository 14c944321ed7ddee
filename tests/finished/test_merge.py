"""What is not all parts of one run is refused, with every reason at once, before anything is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logged_runs import TASK, weak, write_run
from releases import Question, write_causalvqa
from typer.testing import CliRunner

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.finished.merge import PREPARE, _ranges
from lmms_eval_tasks.registry import read_card, registry
from lmms_eval_tasks.runs.run_card import CARD
from lmms_eval_tasks.utils.data.home import read_manifest

RESULTS = "20261121_results.json"
LOG = f"20261121_samples_{TASK}.jsonl"
GROUPS = 4
ITEMS = 2 * GROUPS

Change = Callable[[dict[str, Any]], None]


def write_part(folder: Path, part: int, of: int, items: int = ITEMS, version: str = "") -> Path:
    """The run of a part that has every `of`-th group of a small run."""
    known = registry().find_version(TASK)
    right = {name: flags for number, (name, flags) in enumerate(weak(GROUPS).items()) if number % of == part - 1}
    run = write_run(folder, right, version=version or str(known))
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
    (run / f"20261121{CARD}").write_text(json.dumps(card), encoding="utf-8")
    return run


def change(file: Path, alter: Change) -> None:
    values = json.loads(file.read_text(encoding="utf-8"))
    alter(values)
    file.write_text(json.dumps(values), encoding="utf-8")


def card_of(run: Path) -> Path:
    return run / f"20261121{CARD}"


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    return [write_part(tmp_path / str(part), part, 3) for part in (1, 2, 3)]


def refusal(tmp_path: Path, *runs: Path, problems: int) -> list[str]:
    """The lines of the refusal of a merge that leaves nothing behind."""
    result = CliRunner().invoke(app, ["merge", *map(str, runs), "--out", str(tmp_path / "out")])
    first, *lines = result.stderr.splitlines()
    counted = f"{problems} problem{'s' if problems > 1 else ''}"
    assert (result.exit_code, result.stdout) == (1, ""), result
    assert first == f"These runs cannot be merged: {counted}, nothing was written."
    assert not (tmp_path / "out").exists() and len(lines) == problems
    return [line.strip().replace(f"{tmp_path}/", "") for line in lines]


def test_parts_that_lack(parts: list[Path], tmp_path: Path) -> None:
    assert refusal(tmp_path, parts[1], problems=1) == ["parts: Expected all 3, but there is no run of 1, 3."]
    assert _ranges([3, 5, 6, 7, 64]) == "3, 5-7, 64"


def test_parts_that_are_there_twice(parts: list[Path], tmp_path: Path) -> None:
    again = Path(shutil.copytree(parts[0], tmp_path / "again"))
    assert refusal(tmp_path, *parts, again, problems=1) == [
        f"part 1/3: Expected one run of it, but got 1/{RESULTS}, again/{RESULTS}."
    ]


def test_parts_of_another_number_of_parts(parts: list[Path], tmp_path: Path) -> None:
    other = write_part(tmp_path / "other", 2, 4)
    assert refusal(tmp_path, *parts, other, problems=1) == [
        f"other/{RESULTS}: Expected one of 3 parts, but got part 2/4."
    ]


def test_whole_runs_runs_without_cards_and_what_is_no_run(parts: list[Path], tmp_path: Path) -> None:
    whole = write_run(tmp_path / "whole", weak(2))
    card_of(parts[0]).unlink()
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path, *parts, whole, tmp_path / "empty", problems=4) == [
        f"1/{RESULTS}: Expected its run card, 20261121{CARD}, but there is none.",
        "whole: Expected a run of a part, with LMMS_EVAL_TASKS_SHARD=i/N, but got a whole run.",
        "empty: empty holds no run: Expected a file *_results.json, as lmms-eval writes it to --output_path.",
        "parts: Expected all 3, but there is no run of 1.",
    ]


def test_a_part_that_was_cut_short(parts: list[Path], tmp_path: Path) -> None:
    first = (parts[1] / LOG).read_text(encoding="utf-8").split("\n")[0]
    (parts[1] / LOG).write_text(first, encoding="utf-8")
    cut, missing = refusal(tmp_path, *parts, problems=2)
    assert cut.startswith(
        f"2: 2/{RESULTS} is of a run that was cut short while its sample logs were written: 1 problem."
    )
    assert missing == "parts: Expected all 3, but there is no run of 2."


def test_parts_that_were_made_otherwise(parts: list[Path], tmp_path: Path) -> None:
    def alter(card: dict[str, Any]) -> None:
        card[f"task {TASK}"] |= {"prompt": "mine", "data sha256": "1" * 64}
        card["model"]["name"] = "other"
        card["software"]["torch"] = "2.16"
        card["run"] |= {"limit": 4, "ranks": 2}
        card["hardware"] = {"GPUs": "none"}

    def count(results: dict[str, Any]) -> None:
        results["shard"]["n-samples"] = {TASK: {"original": 4, "effective": 4}, "mmmu": {"original": 4, "effective": 4}}
        results["config"]["gen_kwargs"] = "max_new_tokens=8"

    change(card_of(parts[1]), alter)
    change(parts[1] / RESULTS, count)
    alike = "Expected the same in all parts, but got"
    assert refusal(tmp_path, *parts, problems=9) == [
        f"{TASK}, items of the whole run: {alike} 8 in part 1/3, 3/3; 4 in part 2/3.",
        f"mmmu, items of the whole run: {alike} none in part 1/3, 3/3; 4 in part 2/3.",
        "mmmu: Expected a task or view of a benchmark that is installed here, but it is none.",
        f"{TASK}, prompt: {alike} mcq in part 1/3, 3/3; mine in part 2/3.",
        f"{TASK}, data sha256: {alike} {'0' * 64} in part 1/3, 3/3; {'1' * 64} in part 2/3.",
        f"run, limit: {alike} none in part 1/3, 3/3; 4 in part 2/3.",
        f"model, name: {alike} model in part 1/3, 3/3; other in part 2/3.",
        f"software, torch: {alike} 2.15 in part 1/3, 3/3; 2.16 in part 2/3.",
        f"configuration, gen_kwargs: {alike} none in part 1/3, 3/3; max_new_tokens=8 in part 2/3.",
    ]


def test_items_that_are_in_no_part_or_in_two_and_other_data(tmp_path: Path, home: Path) -> None:
    prepare(write_causalvqa(tmp_path, "debug", [Question("1", "descriptive", "easy", (1, 2))]))
    parts = [write_part(tmp_path / str(part), part, 3, ITEMS + 2) for part in (1, 2, 3)]
    second = (parts[1] / LOG).read_text(encoding="utf-8").replace('"doc_id": 2,', '"doc_id": 0,')
    (parts[1] / LOG).write_text(second, encoding="utf-8")
    now = read_manifest(read_card("causalvqa")).splits["debug"].table_sha256[:8]
    assert refusal(tmp_path, *parts, problems=3) == [
        f"{TASK}: Expected the data of the parts, 00000000, but what is prepared here is {now}. Remedy: {PREPARE}",
        f"{TASK}: Expected all 10 items in the parts, but there is no 2, 8-9.",
        f"{TASK}: Expected each item in one part, but got again 0.",
    ]


def test_a_folder_that_holds_a_run(parts: list[Path]) -> None:
    result = CliRunner().invoke(app, ["merge", *map(str, parts[:1]), "--out", str(parts[1])])
    assert result.exit_code == 1 and "there is no run of 2-3" in result.stderr
