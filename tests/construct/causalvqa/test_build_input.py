"""What annotators' files and configurations may hold: all that is wrong is listed at once, and nothing is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from numbered_clips import write_numbered
from played import MODEL
from refusals import refusal

from lmms_eval_tasks.construct.causalvqa import build
from lmms_eval_tasks.construct.causalvqa.rows import PairBuildConfig, read_questions
from lmms_eval_tasks.sample.files import write_csv

GOOD = {
    "clip": "a.mp4", "start": 1.0, "end": 3.5, "type": "Planning", "question": "what  now", "answer": "a ball",
}  # fmt: skip


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    write_numbered(folder / "a.mp4", 100)
    (folder / "text.mp4").write_text("no video")
    return folder


def read(source: Path, clips: Path) -> list[Any]:
    return list(read_questions(PairBuildConfig(annotations=source, clips=clips, difficulty="easy")))


def write_annotations(path: Path, rows: list[dict[str, Any]]) -> Path:
    write_csv(path, list(rows[0]), rows)
    return path


def write_config(folder: Path, **values: Any) -> Path:
    values = {"annotations": "rows.csv", "frames": 3, "difficulty": "easy", "roles": {"default": MODEL}, **values}
    given = {name: value for name, value in values.items() if value is not None}
    (folder / "build.yaml").write_text(json.dumps(given))
    return folder / "build.yaml"


def write_lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_of_csv_and_of_json_lines_are_the_same_and_named_by_what_they_hold(clips: Path, tmp_path: Path) -> None:
    rows = [GOOD, {**GOOD, "start": 2, "type": "descriptive"}]
    table = read(write_annotations(tmp_path / "rows.csv", rows), clips)
    assert read(write_lines(tmp_path / "rows.jsonl", *rows), clips) == table
    assert [(row.start, row.end, row.type, row.question) for row in table] == [
        (1.0, 3.5, "planning", "what now"),
        (2.0, 3.5, "descriptive", "what now"),
    ]
    other = write_annotations(tmp_path / "other.csv", [{"qid": "my-1", **rows[1]}, {"qid": "", **GOOD}])
    named, unnamed = read(other, clips)
    assert named.id == "my-1" and unnamed == table[0] and table[0].id != table[1].id


BAD: list[dict[str, Any]] = [
    {"type": "why"}, {"question": " "}, {"answer": "?!"}, {"answer": "x" * 301}, {"clip": "../a.mp4"},
    {"clip": "b.mp4"}, {"clip": "text.mp4"}, {"start": 3.5}, {"start": -1}, {"end": 8.2}, {"start": "0:01"},
    {"end": "nan"}, {"qid": "a b"}, {"qid": "q0", "start": "x", "type": "why"},
]  # fmt: skip


def test_every_problem_is_listed_with_its_row(clips: Path, tmp_path: Path, expected: Expected) -> None:
    rows = [{"qid": f"q{place}", **GOOD, **change} for place, change in enumerate(BAD)]
    lines = [{**GOOD, "start": "1"}, {**GOOD, "end": None}, {**GOOD, "more": 1}, {"clip": "a.mp4"}]
    (tmp_path / "empty.csv").write_text("clip,start,end,type,question,answer\n")
    (tmp_path / "few.csv").write_text("clip,start,end\n")
    with write_lines(tmp_path / "rows.jsonl", *lines).open("a") as file:
        file.write("{\n")
    sources = [write_annotations(tmp_path / "rows.csv", rows)]
    sources += [tmp_path / name for name in ("rows.jsonl", "empty.csv", "few.csv", "none.csv", "none.jsonl")]
    expected("\n\n".join(refusal(read, source, clips) for source in sources).replace(str(clips), "CLIPS"))


def test_configurations_reviews_and_responses_that_cannot_be_used(
    clips: Path, tmp_path: Path, expected: Expected
) -> None:
    write_annotations(tmp_path / "rows.csv", [GOOD])
    columns = "item,version,reviewer,choice,flags,type,start,end,comment"
    reviews = ("q,2,r1,A,a,,,,", "q,0,r1,A,ag,,,,", "q,0,r1,A,,,,,")
    (tmp_path / "reviews.csv").write_text("\n".join([columns, *reviews, ""]))
    (tmp_path / "people.csv").write_text("item,version\n")
    said = []
    for values in (
        {"difficulty": None}, {"responses": "people.csv"}, {"difficulty": "medium"}, {"frames": 0}, {"reviewers": 2},
        {"reviews": ["reviews.csv"]}, {"responses": "people.csv", "difficulty": None},
    ):  # fmt: skip
        config = write_config(tmp_path, clips=str(clips), **values)
        said.append(f"{values}\n{refusal(build, config, tmp_path / 'out')}")
    expected("\n\n".join(said))
    assert not (tmp_path / "out").exists()


def test_a_dry_run_says_what_would_be_asked(clips: Path, tmp_path: Path, expected: Expected) -> None:
    write_annotations(tmp_path / "rows.csv", [GOOD, {**GOOD, "start": 2}])
    config = write_config(tmp_path, clips=str(clips))
    built = build(config, tmp_path / "out", dry_run=True)
    expected("\n".join(map(" | ".join, built.tables[0].rows)))
    assert not (tmp_path / "out").exists()
