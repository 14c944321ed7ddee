"""The commands `filter single-frame` and `filter blind`, on runs as lmms-eval writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import call, printed, refusal
from logged_runs import TASK, write_run

from lmms_eval_tasks.utils.data.card import SetKind

SUBSET = "mvp_mini_robot_object_interactions"
SOLVED = {"a": (True, True), "b": (True, False)}
UNSOLVED = {"a": (False, True), "b": (True, False)}


def frame_runs(folder: Path, models: int = 5) -> list[Path]:
    """Runs of several models with two seeds; the last model solves nothing of the pair *a* with the second."""
    return [
        write_run(
            folder / f"seed{seed}" / f"model{number}",
            SOLVED if seed == 1 or number < 3 else UNSOLVED,
            (f"{SUBSET}_single_frame_random{seed}",),
            view=f"single_frame_random{seed}",
            frame=7 * seed,
        )
        for number in range(models)
        for seed in (1, 2)
    ]


def listed(path: Path) -> dict[str, dict[str, Any]]:
    return {line["group_id"]: line for line in map(json.loads, path.read_text().splitlines())}


def test_pairs_that_single_frames_solve_are_listed(expected: Any, tmp_path: Path) -> None:
    runs, out = frame_runs(tmp_path), tmp_path / "pairs.jsonl"
    text = printed("filter", "single-frame", *runs, "--out", out)
    # Of the second frame's models three of five are right on the first clip.
    assert listed(out)["a"]["members"] == {
        "a_0": {"frames": 2, "solvable": [7]}, "a_1": {"frames": 2, "solvable": [7, 14]},
    }  # fmt: skip
    assert [listed(out)[name]["removed"] for name in "ab"] == [True, False]
    assert f"{SUBSET} 2 1 50.0 [9.5, 90.5] 1 0" in " ".join(text.split())
    expected(f"{text}\n{out.read_text()}")
    printed("filter", "single-frame", *runs, "--out", out, "--frame-share", "0.6")
    assert listed(out)["a"]["removed"] is False


def test_runs_that_cannot_be_filtered_are_refused(expected: Any, tmp_path: Path) -> None:
    runs, out = frame_runs(tmp_path, models=2), tmp_path / "pairs.jsonl"
    whole = write_run(tmp_path / "whole", SOLVED, (SUBSET,))
    other = write_run(tmp_path / "other", SOLVED, ("mvp_single_frame",), view="single_frame", frame=7)
    keys = write_run(tmp_path / "keys", {"a": (True, True)}, (f"{SUBSET}_single_frame",), view="single_frame", frame=7)
    refused: list[tuple[Any, ...]] = [
        ("single-frame", *runs),
        ("single-frame", *runs, whole, other, keys),
        ("single-frame", runs[0], *runs[2:], "--models", "2"),
        ("single-frame", *runs, "--model-share", "0"),
        ("blind", runs[0]),
    ]
    expected("\n".join(refusal("filter", *words, "--out", out) for words in refused))
    assert not out.exists()


@pytest.mark.parametrize(("models", "removed", "kind"), [(1, ["a", "c"], SetKind.SAMPLE), (2, ["a"], SetKind.OFFICIAL)])
def test_pairs_that_are_solved_blind_are_listed(tmp_path: Path, models: int, removed: list[str], kind: SetKind) -> None:
    runs = [
        write_run(tmp_path / name, {**SOLVED, "c": (True, right)}, (f"{TASK}_blind",), view="blind", kind=kind)
        for name, right in (("one", True), ("two", False))
    ]
    out = tmp_path / "pairs.jsonl"
    words = " ".join(printed("filter", "blind", *runs, "--models", models, "--out", out).split())
    assert [name for name, group in listed(out).items() if group["removed"]] == removed
    published = f"published, {TASK}: 39.0, percent of questions that a text model got right in both versions"
    assert ("SAMPLE DATA, not the benchmark" in words) == (kind is SetKind.SAMPLE) != (published in words)


def test_what_a_filter_removed_is_left_out_of_scores(tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    printed("filter", "single-frame", *frame_runs(tmp_path), "--out", out)
    whole = [write_run(tmp_path / f"whole{number}", SOLVED, (SUBSET,)) for number in (1, 2)]
    shown = " ".join(printed("report", whole[0], "--without", out).split())
    # Before the filter one of two pairs is right, after it none of the one that is left.
    assert "replay whole1 50.0" in shown and "replay whole1, filtered 0.0" in shown
    assert "was run with 2 items left out (pairs.jsonl)." in shown
    # Random pairs, which have none of these groups, stand beside them.
    drawn = write_run(tmp_path / "random", {"random_000001": (True, True)}, (SUBSET,))
    both = printed("report", whole[0], drawn, "--without", out)
    assert "whole1, filtered" in both and "replay random" in both and "random, filtered" not in both
    assert "run 1: replay whole1, filtered" in printed("compare", *whole, "--without", out)
    for old, new in (("true", "false"), ('"a"', '"z"')):
        (tmp_path / "other.jsonl").write_text(out.read_text().replace(old, new))
        refused = " ".join(call("report", whole[0], "--without", tmp_path / "other.jsonl").err.split())
        assert "other.jsonl cannot be used: replay whole1 has none of its groups." in refused
