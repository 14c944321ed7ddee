"""The command `mine pairs`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import printed, refusal

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


def test_nothing_is_written_where_something_is_wrong(expected: Any) -> None:
    said = [refusal("mine", "pairs", *WORLD, "--out", "pairs.txt")]
    Path("ids.txt").write_text("a.mp4\n")
    said.append(refusal("mine", "pairs", *WORLD, "--out", "pairs.jsonl"))
    said.append(refusal("mine", "pairs", "causalvqa:test", *WORLD[1:], "--out", "pairs.csv"))
    expected("\n".join(said))
    assert not list(Path().glob("pairs.*"))
