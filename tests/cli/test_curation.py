"""The commands `mine pairs`, `filter single-frame` and `filter blind`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import printed, refusal
from logged_runs import TASK, write_run
from pyarrow.parquet import read_table

from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.scoring.bootstrap import METHOD

ROWS = """item_id,clip,question,answer,skill
1,a.mp4,Which way?,left,motion
2,b.mp4,Which way?,right,motion
3,c.mp4,Which way?,left,motion
4,d.mp4,How many?,one,count
5,e.mp4,How many?,two,count
6,f.mp4,How many?,One.,count
"""
WORLD = ("c.csv", "--embeddings", "v.npy", "--ids", "ids.txt")


@pytest.fixture(autouse=True)
def world(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six clips of two skills, and their vectors; nothing is prepared."""
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text(ROWS)
    np.save("v.npy", np.array([[1, 0], [1, 1], [0, 1], [1, 0], [3, 4], [4, 3]], dtype=np.float16))
    Path("ids.txt").write_text("".join(f"{name}.mp4\n" for name in "abcdef"))


def mined(*options: str) -> list[dict[str, Any]]:
    """The pairs that are written."""
    printed("mine", "pairs", *WORLD, *options, "--out", "pairs.jsonl")
    return [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]


def test_pairs_are_written_and_counted(expected: Any) -> None:
    lines = mined()
    # Both 1 and 3 are at 45 degrees of 2.
    found = [("count", "5", "6"), ("motion", "1", "2")]
    assert [(line["skill"], line["item_id_1"], line["item_id_2"]) for line in lines] == found
    assert lines[0]["cosine"] == pytest.approx(0.96, abs=1e-7)
    texts = {name: lines[0][name] for name in ("question", "clip_1", "answer_1", "clip_2", "answer_2")}
    assert list(texts.values()) == ["How many?", "e.mp4", "two", "f.mp4", "One."]
    expected(printed("mine", "pairs", *WORLD, "--out", "pairs.csv"))
    with Path("pairs.csv").open(newline="") as file:
        assert [row["clip_2"] for row in csv.DictReader(file)] == ["f.mp4", "b.mp4"]
    assert len(mined("--total", "1")) == 1
    # Questions of one meaning are paired where that is asked for.
    Path("c.csv").write_text(ROWS.replace("b.mp4,Which way?", "b.mp4,Which way does it go?"))
    pairs = [("5", "6"), ("1", "2")]
    for options, wanted in (((), pairs[:1]), (("--question-encoder", "tfidf", "--question-cosine", "0.5"), pairs)):
        assert [(line["item_id_1"], line["item_id_2"]) for line in mined(*options)] == wanted


@pytest.mark.parametrize(("file", "wanted"), [("cand.csv", [("1", "2")]), ("cand2.csv", [])])
def test_opposites_are_not_joined_and_what_entails_is_no_pair(file: str, wanted: list[tuple[str, str]]) -> None:
    # Rows 1 and 2 ask one question, rows 3 and 4 are the paper's own example; in the other file all are opposites.
    case = Path(__file__).parents[1] / "construct" / "curation" / file
    Path("c.csv").write_bytes(case.read_bytes())
    found = mined("--question-encoder", "tfidf")
    assert [(line["item_id_1"], line["item_id_2"]) for line in found] == wanted


def test_nothing_is_written_where_something_is_wrong(expected: Any) -> None:
    said = [refusal("mine", "pairs", *WORLD, "--out", "pairs.txt")]
    Path("ids.txt").write_text("a.mp4\n")
    said.append(refusal("mine", "pairs", *WORLD, "--out", "pairs.jsonl"))
    said.append(refusal("mine", "pairs", "causalvqa:test", *WORLD[1:], "--out", "pairs.csv"))
    expected("\n".join(said))
    assert not list(Path().glob("pairs.*"))


def test_a_table_of_pairs_names_its_rules_and_what_was_left_out_of_each_skill() -> None:
    Path("c.csv").write_text(f"{ROWS}7,a.mp4,Why?,It fell.,cause\n")

    def table(*options: str) -> tuple[str, list[dict[str, Any]]]:
        shown = json.loads(printed("mine", "pairs", *WORLD, *options, "--out", "pairs.csv", "--format", "json"))
        (found,) = shown["tables"]
        return found["signature"], [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]

    signature, rows = table()
    assert signature == "c.csv; rule not-entailed; at most any of a skill, any in all"
    assert {row["skill"]: (row["pairs"], row["one answer"], row["no partner"]) for row in rows} == {
        "cause": (0, 1, 0), "count": (1, 0, 1), "motion": (1, 0, 1),
    }  # fmt: skip
    joining = ("--question-encoder", "tfidf", "--question-cosine", "0.5")
    signature, rows = table("--rule", "differ", "--per-skill", "2", "--total", "1", *joining)
    joined = "questions joined by tfidf from 0.5"
    assert signature == f"c.csv; rule differ; at most 2 of a skill, 1 in all; {joined}"
    assert sum(row["pairs"] for row in rows) == 1 and len(Path("pairs.csv").read_text().splitlines()) == 2


def test_vectors_of_the_clips_of_a_folder_or_of_candidates_are_written(
    monkeypatch: pytest.MonkeyPatch, expected: Any
) -> None:
    asked: list[dict[str, Path]] = []

    def embed(model: str, paths: dict[str, Path], progress: object) -> dict[str, Any]:
        asked.append(paths)
        return {name: np.array([place, 2.0, 3.0]) for place, name in enumerate(paths)}

    monkeypatch.setattr("lmms_eval_tasks.construct.curation.vectors.VisionModel", str)
    monkeypatch.setattr("lmms_eval_tasks.construct.curation.vectors.embed_clips", embed)
    for name in ("b.mp4", "in/a.mp4", "note.txt"):
        Path("clips", name).parent.mkdir(parents=True, exist_ok=True)
        Path("clips", name).write_bytes(b"")
    command = ("--model", "m", "--out", "v.parquet")
    assert printed("mine", "embed", "clips", *command) == "2 clips, 3 dimensions: v.parquet\n"
    assert read_table("v.parquet")["clip"].to_pylist() == ["b.mp4", "in/a.mp4"]
    assert printed("mine", "embed", "c.csv", "--clips", "clips", *command) == "6 clips, 3 dimensions: v.parquet\n"
    assert read_table("v.parquet")["embedding"].to_pylist()[4] == [4.0, 2.0, 3.0]
    assert asked == [
        {name: Path("clips", name) for name in names}
        for names in (["b.mp4", "in/a.mp4"], [f"{name}.mp4" for name in "abcdef"])
    ]
    said = [refusal("mine", "embed", "c.csv", *command), refusal("mine", "embed", "clips", "--clips", ".", *command)]
    expected("\n".join([*said, refusal("mine", "embed", "clips", "--model", "m", "--out", "v.npy")]))


SUBSET = "mvp_mini_robot_object_interactions"
SOLVED = {"a": (True, True), "b": (True, False)}
UNSOLVED = {"a": (False, True), "b": (True, False)}
OUT = "pairs.jsonl"


def frame_runs(models: int = 5) -> list[Path]:
    """Runs of several models with two seeds; the last models solve nothing of the pair *a* with the second."""
    return [
        write_run(
            Path(f"seed{seed}", f"model{number}"),
            SOLVED if seed == 1 or number < 3 else UNSOLVED,
            (f"{SUBSET}_single_frame_random{seed}",),
            view=f"single_frame_random{seed}",
            frame=7 * seed,
        )
        for number in range(models)
        for seed in (1, 2)
    ]


def listed() -> dict[str, dict[str, Any]]:
    return {line["group_id"]: line for line in map(json.loads, Path(OUT).read_text().splitlines())}


def test_pairs_that_single_frames_solve_are_listed_and_left_out_of_scores(expected: Any) -> None:
    runs = frame_runs()
    text = printed("filter", "single-frame", *runs, "--out", OUT)
    # Of the second frame's models three of five are right on the first clip.
    assert listed()["a"]["members"] == {
        "a_0": {"frames": 2, "solvable": [7]}, "a_1": {"frames": 2, "solvable": [7, 14]},
    }  # fmt: skip
    assert [listed()[name]["removed"] for name in "ab"] == [True, False]
    expected(f"{text}\n{Path(OUT).read_text()}")
    (table,) = json.loads(printed("filter", "single-frame", *runs, "--out", OUT, "--format", "json"))["tables"]
    tasks = ", ".join(f"{SUBSET}_single_frame_random{seed} version 1-A" for seed in (1, 2))
    models = ", ".join(f"replay model{number}" for number in range(5))
    assert table["signature"] == f"{tasks}; models {models}; {METHOD}"
    whole = [write_run(Path(f"whole{number}"), SOLVED, (SUBSET,)) for number in (1, 2)]
    shown = " ".join(printed("report", whole[0], "--without", OUT).split())
    # Before the filter one of two pairs is right, after it none of the one that is left.
    assert "replay whole1 50.0" in shown and "replay whole1, filtered 0.0" in shown
    assert "was run with 2 items left out (pairs.jsonl)." in shown
    # Random pairs, which have none of these groups, stand beside them.
    drawn = write_run(Path("random"), {"random_000001": (True, True)}, (SUBSET,))
    both = printed("report", whole[0], drawn, "--without", OUT)
    assert "whole1, filtered" in both and "replay random" in both and "random, filtered" not in both
    assert "run 1: replay whole1, filtered" in printed("compare", *whole, "--without", OUT)
    for old, new in (("true", "false"), ('"a"', '"z"')):
        Path("other.jsonl").write_text(Path(OUT).read_text().replace(old, new))
        refused = " ".join(refusal("report", whole[0], "--without", "other.jsonl").split())
        assert "other.jsonl cannot be used: replay whole1 has none of its groups." in refused
    printed("filter", "single-frame", *runs, "--out", OUT, "--frame-share", "0.6")
    assert listed()["a"]["removed"] is False


def test_a_view_that_asks_for_no_guess_is_named() -> None:
    """The paper's filter asks for a guess; that in the middle, its Table 4's control, is asked in the task's words."""
    centre = write_run(Path("centre"), SOLVED, (f"{SUBSET}_single_frame",), view="single_frame", frame=7)
    drawn, *_ = frame_runs(models=1)
    one = ("--models", "1", "--out", OUT)
    said = [" ".join(printed("filter", "single-frame", run, *one).split()) for run in (centre, drawn)]
    assert [f"{SUBSET}_single_frame was asked in the task's own words" in text for text in said] == [True, False]
    assert "own words" not in said[1]
    # Of a task that is not known here, and of a benchmark that has no such prompt, there is nothing to say.
    for task in ("others_task", TASK):
        run = write_run(Path(task), SOLVED, (f"{task}_single_frame",), view="single_frame", frame=7)
        assert "own words" not in " ".join(printed("filter", "single-frame", run, *one).split())


def test_runs_that_cannot_be_filtered_are_refused(expected: Any) -> None:
    runs = frame_runs(models=2)
    whole = write_run(Path("whole"), SOLVED, (SUBSET,))
    other = write_run(Path("other"), SOLVED, ("mvp_single_frame",), view="single_frame", frame=7)
    keys = write_run(Path("keys"), {"a": (True, True)}, (f"{SUBSET}_single_frame",), view="single_frame", frame=7)
    refused: list[tuple[Any, ...]] = [
        ("single-frame", *runs),
        ("single-frame", *runs, whole, other, keys),
        ("single-frame", runs[0], *runs[2:], "--models", "2"),
        ("single-frame", *runs, "--model-share", "0"),
        ("blind", runs[0]),
    ]
    expected("\n".join(refusal("filter", *words, "--out", OUT) for words in refused))
    assert not Path(OUT).exists()


@pytest.mark.parametrize(("models", "removed", "kind"), [(1, ["a", "c"], SetKind.SAMPLE), (2, ["a"], SetKind.OFFICIAL)])
def test_pairs_that_are_solved_blind_are_listed(models: int, removed: list[str], kind: SetKind) -> None:
    runs = [
        write_run(Path(name), {**SOLVED, "c": (True, right)}, (f"{TASK}_blind",), view="blind", kind=kind)
        for name, right in (("one", True), ("two", False))
    ]
    words = " ".join(printed("filter", "blind", *runs, "--models", models, "--out", OUT).split())
    assert [name for name, group in listed().items() if group["removed"]] == removed
    published = f"published, {TASK}: 39.0, percent of questions that a text model got right in both versions"
    assert ("SAMPLE DATA, not the benchmark" in words) == (kind is SetKind.SAMPLE) != (published in words)
