"""The commands `filter single-frame` and `filter blind`, on runs as lmms-eval writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logged_runs import TASK, write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.utils.data.card import SetKind

SUBSET = "mvp_mini_robot_object_interactions"
SOLVED = {"a": (True, True), "b": (True, False)}
UNSOLVED = {"a": (False, True), "b": (True, False)}


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["filter", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def frame_runs(folder: Path, models: int = 5, task: str = SUBSET) -> list[Path]:
    """Runs of several models with two seeds; the last model solves nothing of the pair *a* with the second."""
    return [
        write_run(
            folder / f"seed{seed}" / f"model{number}",
            SOLVED if seed == 1 or number < 3 else UNSOLVED,
            (f"{task}_single_frame_random{seed}",),
            view=f"single_frame_random{seed}",
            frame=7 * seed,
        )
        for number in range(models)
        for seed in (1, 2)
    ]


def listed(path: Path) -> dict[str, dict[str, object]]:
    return {line["group_id"]: line for line in map(json.loads, path.read_text().splitlines())}


def test_pairs_that_single_frames_solve_are_listed(tmp_path: Path) -> None:
    runs, out = frame_runs(tmp_path), tmp_path / "pairs.jsonl"
    status, printed, err = run("single-frame", *runs, "--out", out)
    assert (status, err) == (0, "")
    assert listed(out)["a"] == {
        "task": SUBSET,
        "group_id": "a",
        "removed": True,
        # Of the second frame's models three of five are right on the first clip.
        "why": "solvable frames: 1 of 2 and 2 of 2",
        "members": {"a_0": {"frames": 2, "solvable": [7]}, "a_1": {"frames": 2, "solvable": [7, 14]}},
    }
    assert listed(out)["b"]["removed"] is False
    words = " ".join(printed.split())
    assert f"{SUBSET} 2 1 50.0 [9.5, 90.5] 1 0" in words
    assert "published, mvp_mini_robot_object_interactions: 18.3, pair_accuracy, average of 5 VideoLLMs" in words
    assert "-22.3, pair_accuracy change vs previous row" in words
    assert "Pairs: 1 removed, 1 kept: " in words
    assert run("single-frame", *runs, "--out", out, "--frame-share", "0.6")[0] == 0
    assert listed(out)["a"]["removed"] is False


def test_runs_that_cannot_be_filtered_are_refused(tmp_path: Path) -> None:
    runs, out = frame_runs(tmp_path, models=2), tmp_path / "pairs.jsonl"
    assert run("single-frame", *runs, "--out", out)[2] == (
        "The runs cannot be used together: 1 problem.\n"
        "  models: Expected runs of 5 models or more, but got 2 (replay model0, replay model1). "
        "Runs of one name count as one model, whatever their seeds. "
        "Remedy: Add runs of other models, or name how many are enough with --models.\n"
    )
    whole = write_run(tmp_path / "whole", SOLVED, (SUBSET,))
    other = write_run(tmp_path / "other", SOLVED, ("mvp_single_frame",), view="single_frame", frame=7)
    keys = write_run(tmp_path / "keys", {"a": (True, True)}, (f"{SUBSET}_single_frame",), view="single_frame", frame=7)
    status, _, err = run("single-frame", *runs, whole, other, keys, "--out", out)
    assert (status, err.splitlines()) == (
        1,
        [
            "The runs cannot be used together: 3 problems.",
            f"  {whole}/20261121_results.json: Expected a run of the view single_frame, but its tasks are {SUBSET}.",
            f"  replay other: Expected the tasks of replay model0, {SUBSET}, but got mvp.",
            f"  replay keys, {SUBSET}: Expected the items of replay model0, but 2 are in one of the runs alone: "
            "b_0, b_1.",
        ],
    )
    status, _, err = run("single-frame", runs[0], *runs[2:], "--models", "2", "--out", out)
    assert status == 1 and "4 items were shown others: a_0, a_1, b_0, b_1" in err
    assert run("single-frame", *runs, "--model-share", "0", "--out", out)[2] == (
        "Expected --model-share above 0 and at most 1, but got 0.\n"
    )
    assert not out.exists()


@pytest.mark.parametrize(("models", "removed", "kind"), [(1, ["a", "c"], SetKind.SAMPLE), (2, ["a"], SetKind.OFFICIAL)])
def test_pairs_that_are_solved_blind_are_listed(tmp_path: Path, models: int, removed: list[str], kind: SetKind) -> None:
    runs = [
        write_run(tmp_path / name, {**SOLVED, "c": (True, right)}, (f"{TASK}_blind",), view="blind", kind=kind)
        for name, right in (("one", True), ("two", False))
    ]
    out = tmp_path / "pairs.jsonl"
    status, printed, _ = run("blind", *runs, "--models", models, "--out", out)
    assert status == 0
    assert [name for name, group in listed(out).items() if group["removed"]] == removed
    words = " ".join(printed.split())
    published = f"published, {TASK}: 39.0, percent of questions that a text model got right in both versions"
    assert ("SAMPLE DATA, not the benchmark" in words) == (kind is SetKind.SAMPLE) != (published in words)
    status, _, err = run("blind", frame_runs(tmp_path, 1)[0], "--out", out)
    assert status == 1 and "Expected a run of the view blind, but its tasks are" in err


def test_what_a_filter_removed_is_left_out_of_scores(tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    assert run("single-frame", *frame_runs(tmp_path), "--out", out)[0] == 0
    whole = [write_run(tmp_path / f"whole{number}", SOLVED, (SUBSET,)) for number in (1, 2)]
    shown = " ".join(CliRunner().invoke(app, ["report", str(whole[0]), "--without", str(out)]).output.split())
    # Before the filter one of two pairs is right, after it none of the one that is left.
    assert "replay whole1 50.0" in shown and "replay whole1, filtered 0.0" in shown
    assert "was run with 2 items left out (pairs.jsonl)." in shown
    # Random pairs, which have none of these groups, stand beside them.
    drawn = write_run(tmp_path / "random", {"random_000001": (True, True)}, (SUBSET,))
    both = CliRunner().invoke(app, ["report", str(whole[0]), str(drawn), "--without", str(out)]).output
    assert "whole1, filtered" in both and "replay random" in both and "random, filtered" not in both
    compared = CliRunner().invoke(app, ["compare", *map(str, whole), "--without", str(out)])
    assert compared.exit_code == 0 and "run 1: replay whole1, filtered" in compared.output
    (tmp_path / "kept.jsonl").write_text(out.read_text().replace("true", "false"))
    (tmp_path / "other.jsonl").write_text(out.read_text().replace('"a"', '"z"'))
    for name, why in (
        ("kept", "replay whole1 has none of its groups"),
        ("other", "replay whole1 has none of its groups"),
    ):
        refused = CliRunner().invoke(app, ["report", str(whole[0]), "--without", str(tmp_path / f"{name}.jsonl")])
        assert f"{name}.jsonl cannot be used: {why}." in " ".join(refused.output.split())
