"""Candidates for pairs: the three forms of a file, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from lmms_eval_tasks.construct.curation.candidates import Candidate, join_questions, read_candidates
from lmms_eval_tasks.construct.engine.encoders import encode_texts, tfidf_encoder
from lmms_eval_tasks.utils.core.errors import InputError

ROWS = [
    {
        "item_id": "1",
        "clip": "x.mp4",
        "question": "Where?",
        "answer": "A",
        "options": ["left", "right"],
        "kind": "k",
    },
    {"item_id": "2", "clip": "y.mp4", "question": "Where?", "answer": "right", "options": None, "kind": "l"},
]
CANDIDATES = (
    Candidate("1", "x.mp4", "Where?", "left", "k"),
    Candidate("2", "y.mp4", "Where?", "right", "l"),
)


def write_lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_three_forms_of_a_file(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "c.jsonl", *ROWS)
    pa.parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet")
    cells = '1,x.mp4,Where?,A,"[""left"", ""right""]",k\n2,y.mp4,Where?,right,,l\n'
    (tmp_path / "c.csv").write_text("item_id,clip,question,answer,options,kind\n" + cells)
    for file in (lines, tmp_path / "c.parquet", tmp_path / "c.csv"):
        assert read_candidates(file, "kind") == CANDIDATES
        assert {candidate.skill for candidate in read_candidates(file)} == {"all"}


def test_all_problems_are_listed(tmp_path: Path) -> None:
    row = {"item_id": "1", "clip": "x", "question": "Q?", "answer": "A", "options": ["left", "right"], "skill": "s"}
    other = {**row, "item_id": "2", "answer": "C"}
    lines = write_lines(
        tmp_path / "c.jsonl",
        row,
        row,
        other,
        {**other, "item_id": "3", "answer": "up", "skill": ""},
        {**other, "item_id": 4},
        {**row, "item_id": "5", "clip": " "},
        {"item_id": "6"},
        [],
    )
    with pytest.raises(InputError) as refused:
        read_candidates(lines)
    assert str(refused.value).splitlines() == [
        "c.jsonl cannot be used: 9 problems.",
        "  item_id: Expected a text, but got `4` (line 5).",
        "  clip: Expected this field, but it is missing from line 7.",
        "  question: Expected this field, but it is missing from line 7.",
        "  answer: Expected this field, but it is missing from line 7.",
        "  rows: Expected an object, but got a list (line 8).",
        "  item_id: Expected each once, but got again `1` (line 2, as in line 1).",
        "  answer: Expected the letter or the text of one of the options, but got `C` (line 3), `up` (line 4).",
        "  skill: Expected a text, but got none in line 4.",
        "  clip: Expected a text, but got none in line 6.",
    ]


def test_columns_and_files_that_are_not_there(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "c.jsonl", *ROWS)
    with pytest.raises(InputError, match=r"Expected a column `skills` with the skill, but the others are kind\."):
        read_candidates(lines, "skills")
    with pytest.raises(InputError, match=r"^Expected candidates in a file .csv, .jsonl or .parquet, but got c.txt\."):
        read_candidates(tmp_path / "c.txt")
    with pytest.raises(InputError, match=r"^none.jsonl cannot be used: No such file"):
        read_candidates(tmp_path / "none.jsonl")
    (tmp_path / "c.csv").write_text("item_id,clip,question,answer,options\n1,x,Q?,A,[\n")
    with pytest.raises(InputError, match=r"options: Expected a JSON list of texts, but got no JSON .*\(line 2\)"):
        read_candidates(tmp_path / "c.csv")
    (tmp_path / "e.csv").write_text("item_id,clip,question,answer\n")
    with pytest.raises(InputError, match="it holds no candidates"):
        read_candidates(tmp_path / "e.csv")
    (tmp_path / "c.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="it is not a parquet table"):
        read_candidates(tmp_path / "c.parquet")


def test_questions_of_one_meaning_get_one_wording_within_a_skill() -> None:
    asked = [
        ("1", "Where does the red ball go?", "k"),
        ("2", "The red ball: where does it go?", "k"),
        ("3", "How many boxes are there?", "k"),
        ("4", "The red ball: where does it go?", "l"),
    ]
    candidates = [Candidate(item, f"{item}.mp4", question, "left", skill) for item, question, skill in asked]
    texts = encode_texts([one.question for one in candidates], tfidf_encoder())
    joined = join_questions(candidates, texts.similarities, 0.8)
    assert [one.question for one in joined] == [asked[1][1], asked[1][1], asked[2][1], asked[3][1]]
    assert [one.question for one in join_questions(candidates, texts.similarities, 1.0)] == [one[1] for one in asked]
