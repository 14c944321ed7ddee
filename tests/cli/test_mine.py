"""The command `mine pairs`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import printed, refusal

World = list[str | Path]


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    """Six clips of two skills, and their vectors; nothing is prepared."""
    (tmp_path / "c.csv").write_text(
        "item_id,clip,question,answer,skill\n"
        "1,a.mp4,Which way?,left,motion\n2,b.mp4,Which way?,right,motion\n3,c.mp4,Which way?,left,motion\n"
        "4,d.mp4,How many?,one,count\n5,e.mp4,How many?,two,count\n6,f.mp4,How many?,One.,count\n"
    )
    np.save(tmp_path / "v.npy", np.array([[1, 0], [1, 1], [0, 1], [1, 0], [3, 4], [4, 3]], dtype=np.float16))
    (tmp_path / "ids.txt").write_text("".join(f"{name}.mp4\n" for name in "abcdef"))
    return [tmp_path / "c.csv", "--embeddings", tmp_path / "v.npy", "--ids", tmp_path / "ids.txt"]


def mined(world: World, out: Path, *options: str) -> list[dict[str, Any]]:
    """The pairs that are written."""
    printed("mine", "pairs", *world, *options, "--out", out)
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_pairs_are_written_and_counted(expected: Any, world: World, tmp_path: Path) -> None:
    lines = mined(world, tmp_path / "pairs.jsonl")
    # Both 1 and 3 are at 45 degrees of 2.
    found = [("count", "5", "6"), ("motion", "1", "2")]
    assert [(line["skill"], line["item_id_1"], line["item_id_2"]) for line in lines] == found
    assert lines[0]["cosine"] == pytest.approx(0.96, abs=1e-7)
    texts = {name: lines[0][name] for name in ("question", "clip_1", "answer_1", "clip_2", "answer_2")}
    assert list(texts.values()) == ["How many?", "e.mp4", "two", "f.mp4", "One."]
    expected(printed("mine", "pairs", *world, "--out", tmp_path / "pairs.csv"))
    with (tmp_path / "pairs.csv").open(newline="") as file:
        assert [row["clip_2"] for row in csv.DictReader(file)] == ["f.mp4", "b.mp4"]
    assert len(mined(world, tmp_path / "one.jsonl", "--total", "1")) == 1


def test_questions_of_one_meaning_are_paired(world: World, tmp_path: Path) -> None:
    source = tmp_path / "c.csv"
    source.write_text(source.read_text().replace("b.mp4,Which way?", "b.mp4,Which way does it go?"))
    pairs = [("5", "6"), ("1", "2")]
    alike = ("--question-encoder", "tfidf", "--question-cosine", "0.5")
    for options, found in (((), pairs[:1]), (alike, pairs)):
        lines = mined(world, tmp_path / "pairs.jsonl", *options)
        assert [(line["item_id_1"], line["item_id_2"]) for line in lines] == found


def test_nothing_is_written_where_something_is_wrong(expected: Any, world: World, tmp_path: Path) -> None:
    said = [refusal("mine", "pairs", *world, "--out", tmp_path / "pairs.txt")]
    (tmp_path / "ids.txt").write_text("a.mp4\n")
    said.append(refusal("mine", "pairs", *world, "--out", tmp_path / "pairs.jsonl"))
    said.append(refusal("mine", "pairs", "causalvqa:test", *world[1:], "--out", tmp_path / "pairs.csv"))
    expected("\n".join(said))
    assert not list(tmp_path.glob("pairs.*"))
