"""The command `mine pairs`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["mine", "pairs", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | Path]:
    """Six clips of two skills, and their vectors; nothing is prepared."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    (tmp_path / "c.csv").write_text(
        "item_id,clip,question,answer,skill\n"
        "1,a.mp4,Which way?,left,motion\n2,b.mp4,Which way?,right,motion\n3,c.mp4,Which way?,left,motion\n"
        "4,d.mp4,How many?,one,count\n5,e.mp4,How many?,two,count\n6,f.mp4,How many?,One.,count\n"
    )
    np.save(tmp_path / "v.npy", np.array([[1, 0], [1, 1], [0, 1], [1, 0], [3, 4], [4, 3]], dtype=np.float16))
    (tmp_path / "ids.txt").write_text("".join(f"{name}.mp4\n" for name in "abcdef"))
    return [tmp_path / "c.csv", "--embeddings", tmp_path / "v.npy", "--ids", tmp_path / "ids.txt"]


def test_pairs_are_written_and_counted(world: list[str | Path], tmp_path: Path) -> None:
    status, out, err = run(*world, "--out", tmp_path / "pairs.jsonl")
    assert (status, err) == (0, "")
    lines = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert [(line["skill"], line["item_id_1"], line["item_id_2"]) for line in lines] == [
        ("count", "5", "6"),
        # Both 1 and 3 are at 45 degrees of 2.
        ("motion", "1", "2"),
    ]
    assert lines[0]["cosine"] == pytest.approx(0.96, abs=1e-7)
    assert {name: lines[0][name] for name in ("question", "clip_1", "answer_1", "clip_2", "answer_2")} == {
        "question": "How many?",
        "clip_1": "e.mp4",
        "answer_1": "two",
        "clip_2": "f.mp4",
        "answer_2": "One.",
    }
    rows = [line.split() for line in out.splitlines()]
    assert ["count", "3", "1", "0.960", "to", "0.960", "1"] in rows
    assert run(*world, "--out", tmp_path / "pairs.csv")[0] == 0
    with (tmp_path / "pairs.csv").open(newline="") as file:
        assert [row["clip_2"] for row in csv.DictReader(file)] == ["f.mp4", "b.mp4"]
    assert run(*world, "--total", "1", "--out", tmp_path / "one.jsonl")[0] == 0
    assert len((tmp_path / "one.jsonl").read_text().splitlines()) == 1


def test_nothing_is_written_where_something_is_wrong(world: list[str | Path], tmp_path: Path) -> None:
    assert run(*world, "--out", tmp_path / "pairs.txt") == (
        1,
        "",
        f"Expected --out to end in .jsonl or .csv, but got {tmp_path}/pairs.txt.\n",
    )
    (tmp_path / "ids.txt").write_text("a.mp4\n")
    status, out, err = run(*world, "--out", tmp_path / "pairs.jsonl")
    assert (status, out) == (1, "") and err.startswith("v.npy cannot be used: 2 problems.\n")
    assert not (tmp_path / "pairs.jsonl").exists()
    assert run("causalvqa:test", *world[1:], "--out", tmp_path / "p.csv")[2].startswith(
        "causalvqa:test cannot be used:"
    )


def test_questions_of_one_meaning_are_paired(world: list[str | Path], tmp_path: Path) -> None:
    source = tmp_path / "c.csv"
    source.write_text(source.read_text().replace("b.mp4,Which way?", "b.mp4,Which way does it go?"))
    found = []
    for options in ([], ["--question-encoder", "tfidf", "--question-cosine", "0.5"]):
        status, _, _ = run(*world, *options, "--out", tmp_path / "pairs.jsonl")
        assert status == 0
        lines = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
        found.append([(line["item_id_1"], line["item_id_2"]) for line in lines])
    assert found == [[("5", "6")], [("5", "6"), ("1", "2")]]
