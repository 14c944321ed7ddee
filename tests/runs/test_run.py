"""Reading finished runs: records, cards and limits; which part of a run it is; and what reports call runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from logged_runs import TASK, weak, write_run
from refusals import refusal

from lmms_eval_tasks.runs.folder import Run, name_runs, read_run, read_values
from lmms_eval_tasks.runs.run_files import SampleCount, Shard, parse_shard, read_shard
from lmms_eval_tasks.utils.core.text import SHARD
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.manifest import RemovedGroups
from lmms_eval_tasks.utils.data.sampling import Drawn, Sampled
from lmms_eval_tasks.utils.scoring.record import GradedItem, Outcome, Record

RECORD, OTHER = (Record(f"1_{member}", "1", {}, "A", "A", Outcome.CORRECT) for member in (0, 1))
LOG = f"20261121_samples_{TASK}.jsonl"


def write(folder: Path, config: Mapping[str, object], *lines: Mapping[str, object]) -> Path:
    """A run of a task `t` beside a task of others."""
    groups: dict[str, list[str]] = {"both": ["t"], "mixed": ["t", "theirs"], "none": []}
    results = {"configs": {"t": {}, "theirs": {}}, "group_subtasks": groups, "config": config}
    (folder / "1_results.json").write_text(json.dumps(results), encoding="utf-8")
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "1_samples_t.jsonl").write_text(text, encoding="utf-8")
    (folder / "1_samples_theirs.jsonl").write_text('{"doc_id": 0, "acc": 1.0}\n', encoding="utf-8")
    return folder


def test_a_run_comes_back_as_it_was_logged(tmp_path: Path) -> None:
    # Any end of a line in a response ends no line.
    submission = {"predict": "a\u2028b\x85c\x0bd"}
    first, second = ({**record.to_json(), "data_set": {"kind": "sample"}} for record in (RECORD, OTHER))
    lines = [{"record": first, "submission_rows": submission}, {"record": second}]
    config = {"model": "replay", "model_args": "pretrained=org/some-model,dtype=float16"}
    run = read_run(write(tmp_path, config, *lines))
    assert (run.records, run.groups, run.name) == ({"t": (RECORD, OTHER)}, {"both": ("t",)}, "replay some-model")
    assert tuple(item.graded() for item in run.items_of("t")) == (GradedItem(RECORD, submission), GradedItem(OTHER))
    assert (run.set_of("t"), run.card) == (DataSet(kind=SetKind.SAMPLE), {})
    card = {"run": {"limit": "none", "offset": 0}}
    (tmp_path / "1_run_card.json").write_text(json.dumps(card), encoding="utf-8")
    assert read_run(tmp_path).card == card
    limits: list[tuple[dict[str, object], str]] = [
        ({}, ""),
        ({"limit": None, "offset": 0}, ""),
        ({"limit": -1}, ""),
        ({"limit": 8.0, "offset": 0}, "--limit 8"),
        ({"limit": 0.5, "offset": 3}, "--limit 0.5, --offset 3"),
    ]
    for settings, limited in limits:
        assert read_run(write(tmp_path, settings, *lines)).limited == limited


def test_what_cannot_be_read_is_refused(tmp_path: Path, expected: Expected) -> None:
    for name in ("spoilt", "unlogged", "theirs"):
        write_run(tmp_path / name, weak(1), ("theirs",) if name == "theirs" else (TASK,), card={})
    (tmp_path / "empty").mkdir()
    (tmp_path / "theirs" / "20261121_samples_theirs.jsonl").write_text("{}\n", encoding="utf-8")
    (tmp_path / "unlogged" / LOG).unlink()
    log = tmp_path / "spoilt" / LOG
    log.write_bytes(b"\xff" + log.read_bytes() + b"\nno item\n")
    (tmp_path / "spoilt" / "20261121_run_card.json").write_text('{"run": []}', encoding="utf-8")
    expected("\n".join(refusal(read_run, tmp_path / name) for name in ("empty", "theirs", "unlogged", "spoilt")))


def drawn(group: str, stratum: str | None = None, item: str = "") -> Record:
    """A record of a group, perhaps one of two that were asked of the ten of its stratum."""
    of = Drawn(stratum=stratum, asked=2, groups=10) if stratum else None
    return replace(RECORD, item_id=item or group, group_id=group, drawn=of)


def test_what_a_run_says_of_its_tasks_and_of_what_it_lacks() -> None:
    whole = Run(
        Path("r"), "m", {"a": (drawn("1"), drawn("2")), "b_blind": (replace(drawn("1"), view="blind"), drawn("3"))},
        groups={"both": ("a", "b_blind")}, versions={}, sets={"a": DataSet(kind=SetKind.OFFICIAL)},
    )  # fmt: skip
    assert (whole.title, replace(whole, label="mine").title, whole.incomplete) == ("m", "mine", "")
    asked = [whole.tasks_of(name) for name in ("", "both", "a", "c")]
    assert asked == [("a", "b_blind"), ("a", "b_blind"), ("a",), ("c",)]
    unknown = "data that is not known to be the official release"
    assert [whole.apart(tasks) for tasks in (["a"], ["b_blind"], ["a", "b_blind", "c"])] == ["", unknown, unknown]
    cut = replace(whole, logged={"a": (1, 2_000), "b": (3, 4)}, limited="--limit 3")
    assert cut.incomplete == "1 of 2,000 items of a, 3 of 4 items of b"
    assert [cut.apart(tasks) for tasks in (["a"], ["b"])] == [
        "--limit 3, cut short",
        f"{unknown}, --limit 3, cut short",
    ]
    # A filter names tasks without their view.
    assert whole.without(RemovedGroups("f", {"b_blind": frozenset("1"), "a": frozenset("9")})) is None
    left = cut.without(RemovedGroups("f", {"b": frozenset("1"), "a": frozenset("12")}))
    assert left is not None and {task: len(records) for task, records in left.records.items()} == {"a": 0, "b_blind": 1}
    assert (left.limited, left.label, left.is_filtered) == ("--limit 3, 3 items left out (f)", "m, filtered", True)


def test_scores_of_a_sample_are_from_the_groups_of_all_strata_of_all_tasks() -> None:
    records = {
        "a": tuple(drawn(group, "x") for group in "12"),
        "b": (*(drawn(group, stratum, f"{group}{place}") for group, stratum in ("3x", "4y") for place in "01"),),
        "whole": tuple(drawn(group) for group in "567"),
    }
    run = Run(Path("r"), "m", records, {}, {})
    for tasks, asked in ((["a"], (2, 10)), (["b"], (2, 20)), (["a", "whole", "none"], (5, 13)), (records, (7, 33))):
        found = run.sampled(tasks)
        assert found is not None and (found.asked, found.groups, found.unit) == (*asked, "groups")
    assert run.sampled(["whole"]) is run.sampled([]) is None
    assert str(Sampled(1_000, 2_000, "pairs")) == "from 1,000 of 2,000 pairs"


def runs(*paths: str, model: str = "m") -> list[Run]:
    return [Run(Path(path), model, {}, {}, {}) for path in paths]


def titles(*paths: str, names: tuple[str, ...] = ()) -> list[str]:
    return [run.title for run in name_runs(runs(*paths), names)]


def test_runs_of_one_model_are_told_apart_by_their_folders_or_named(expected: Expected) -> None:
    for paths, shown in (
        (("out/s0/org__m/1_results.json", "out/s1/org__m/2_results.json"), ["m (s0)", "m (s1)"]),
        (("out/1_results.json", "out/2_results.json"), ["m (1)", "m (2)"]),
        (("a/x/1_results.json", "a/y/1_results.json", "b/x/1_results.json"), ["m (a/x)", "m (a/y)", "m (b/x)"]),
        (("a/1_results.json", "a/b/1_results.json"), ["m (1)", "m (b)"]),
    ):
        assert titles(*paths) == shown
    named = name_runs([*runs("out/a/1_results.json"), *runs("out/b/1_results.json", model="other")])
    assert [run.title for run in named] == ["m", "other"]
    pair = ("a/1_results.json", "b/1_results.json")
    assert titles(*pair, names=("base", "tuned")) == ["base", "tuned"]
    assert [run.name for run in name_runs(runs(pair[0]), ["base"])] == ["m"]
    wrong = (("base",), ("base", "base"), ("base", ""), ("a", "b", "c"))
    expected("\n".join(refusal(titles, *pair, names=names) for names in wrong))


def numbers(name: str, *folders: str) -> list[float]:
    return [value.number for value in read_values(name, list(map(Path, folders)))]


def test_values_of_a_series_are_read_from_folders(expected: Expected) -> None:
    for name, folders, values in (
        ("step", ("out/ckpt-500", "out/ckpt-1000"), [500, 1000]),
        ("step", ("out/qwen2.5-vl-7b-ckpt-100", "out/qwen2.5-vl-7b-ckpt-2000"), [100, 2000]),
        ("step", ("out/a_global_step100_lr1", "out/b_global_Step-20_lr2"), [100, 20]),
        ("step", ("out/1000/eval", "out/2000/eval"), [1000, 2000]),
        ("step", ("old/ckpt-1", "new7/ckpt-2"), [1, 2]),
        ("epoch", ("r/epoch=0.5", "r/epoch=1.5"), [0.5, 1.5]),
        ("seed", ("out/seed7",), [7]),
        ("step", ("out/ckpt-500",), [500]),
        ("lr", ("out/lr-1e-5", "out/lr-3e-4"), [1e-5, 3e-4]),
        ("step", ("out/step-500/20261125_02_results.json", "out/step-1000/20261125_03_results.json"), [500, 1000]),
    ):
        assert numbers(name, *folders) == values
    assert [one.title for one in read_values("step", [Path("c/k-1000000"), Path("c/k-0.25")])] == [
        "step 1000000", "step 0.25",
    ]  # fmt: skip
    refused = (
        ("out/ckpt-500", "out/final"), ("out/step-1k", "out/step-500"), ("out/best",),
        ("out/lr1-ckpt2", "out/lr2-ckpt4"), ("out/v2-ckpt-500",), ("a/step-5", "b/step-5", "a/step-6"),
    )  # fmt: skip
    expected("\n".join(refusal(numbers, "step", *folders) for folders in refused))


@given(st.integers(1, 10**8), st.integers(0, 10**8))
def test_a_part_is_read_as_it_is_written(part: int, more: int) -> None:
    shard = Shard(part, part + more)
    assert parse_shard(str(shard)) == shard


def test_which_part_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: dict[str, Any] = {"": None, "2/3": Shard(2, 3), "02/3": Shard(2, 3)}
    for text, shard in parts.items():
        monkeypatch.setenv(SHARD, text)
        assert read_shard() == shard
    for text in (
        "3", "0/7", "8/7", "1/0", "-1/7", "1.0/7", "1/7/2", " 1/7", "1/7\n", "a/b", "/", "1/1000000000", "١/٧", "x",
    ):  # fmt: skip
        monkeypatch.setenv(SHARD, text)
        assert refusal(read_shard) == (
            f"Expected LMMS_EVAL_TASKS_SHARD to be i/N, one of N parts counted from 1, such as 3/7, but got {text!r}."
        )
    monkeypatch.delenv(SHARD)
    assert read_shard() is None


def test_of_a_task_whose_first_items_are_passed_over_as_many_are_asked_as_are_left() -> None:
    count = SampleCount(original=10, effective=4)
    assert [count.after(offset) for offset in (0, 6, 8, 10, 12)] == [4, 4, 2, 0, 0]
