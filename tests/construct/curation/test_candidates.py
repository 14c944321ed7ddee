"""Candidates for pairs: the three forms of a file, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from expected import Expected
from refusals import refusal
from releases import latin_text

from lmms_eval_tasks.construct.curation.candidates import Candidate, read_candidates

ROWS: list[dict[str, object]] = [
    {"item_id": "1", "clip": "x.mp4", "question": "Where?", "answer": "A", "options": ["left", "right"], "kind": "k"},
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


def test_all_problems_are_listed(tmp_path: Path, expected: Expected) -> None:
    row = {"item_id": "1", "clip": "x", "question": "Q?", "answer": "A", "options": ["left", "right"], "skill": "s"}
    other = {**row, "item_id": "2", "answer": "C"}
    bad = [row, row, other, {**other, "item_id": "3", "answer": "up", "skill": ""}, {**other, "item_id": 4}]
    bad += [{**row, "item_id": "5", "clip": " "}, {"item_id": "6"}, []]
    lines = write_lines(tmp_path / "c.jsonl", *bad)
    (tmp_path / "empty.csv").write_text("item_id,clip,question,answer\n")
    (tmp_path / "list.csv").write_text("item_id,clip,question,answer,options\n1,x,Q?,A,[\n")
    (tmp_path / "bytes.parquet").write_bytes(b"")
    others = [tmp_path / name for name in ("none.jsonl", "c.txt", "empty.csv", "list.csv")]
    said = [refusal(read_candidates, file) for file in (lines, *others)]
    said += [refusal(read_candidates, write_lines(tmp_path / "d.jsonl", *ROWS), "skills")]
    expected("\n\n".join(said))
    pa.parquet.write_table(pa.table({"item_id": latin_text()}), tmp_path / "latin.parquet")
    for name in ("bytes.parquet", "latin.parquet"):
        text = refusal(read_candidates, tmp_path / name)
        assert text.startswith(f"{name} cannot be used: it is not a parquet table with texts in UTF-8 (")
    (tmp_path / "folder.parquet").mkdir()
    assert refusal(read_candidates, tmp_path / "folder.parquet") == "folder.parquet cannot be used: Is a directory."
