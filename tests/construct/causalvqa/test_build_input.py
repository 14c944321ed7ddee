"""What annotators' files and configurations may hold: all that is wrong is listed at once, and nothing is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from causalvqa_world import write_annotations, write_build_config
from numbered_clips import write_numbered

from lmms_eval_tasks.construct.causalvqa import build
from lmms_eval_tasks.construct.causalvqa.rows import PairBuildConfig, read_questions
from lmms_eval_tasks.utils.core.errors import InputError

NOWHERE = "http://127.0.0.1:9/v1"
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


def test_rows_of_csv_and_of_json_lines_are_the_same(clips: Path, tmp_path: Path) -> None:
    rows = [GOOD, {**GOOD, "start": 2, "type": "descriptive"}]
    table = read(write_annotations(tmp_path / "rows.csv", rows), clips)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(tmp_path / "rows.jsonl", clips) == table
    assert [(row.start, row.end, row.type, row.question) for row in table] == [
        (1.0, 3.5, "planning", "what now"),
        (2.0, 3.5, "descriptive", "what now"),
    ]


def test_a_questions_name_does_not_depend_on_other_rows(clips: Path, tmp_path: Path) -> None:
    other = {**GOOD, "answer": "a block"}
    one = read(write_annotations(tmp_path / "one.csv", [GOOD]), clips)
    both = read(write_annotations(tmp_path / "both.csv", [other, GOOD]), clips)
    assert both[1] == one[0] and both[0].id != one[0].id
    named = read(write_annotations(tmp_path / "named.csv", [{"qid": "my-1", **GOOD}]), clips)
    assert named[0].id == "my-1"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"type": "why"}, "Expected type to be one of anticipation, counterfactual, descriptive, hypothetical, planning"),
    ({"question": " "}, "Expected question to be a text of 1 to 600 characters, but got ``"),
    ({"answer": "?!"}, "Expected answer to be a text of 1 to 300 characters, but got `?!`"),
    ({"answer": "x" * 301}, "Expected answer to be a text of 1 to 300 characters"),
    ({"clip": "../a.mp4"}, "to name a file in"),
    ({"clip": "b.mp4"}, "b.mp4, but there is none"),
    ({"clip": "text.mp4"}, "text.mp4 to be a video, but it cannot be opened"),
    ({"start": 3.5}, "within the 8.00 seconds of a.mp4, but got 3.5 to 3.5"),
    ({"start": -1}, "but got -1 to 3.5"),
    ({"end": 8.2}, "but got 1 to 8.2"),
    ({"start": "0:01"}, "Expected start in seconds, but got `0:01`"),
    ({"end": "nan"}, "Expected end in seconds, but got `nan`"),
    ({"qid": "a b"}, "Expected qid to be letters, digits, dots and hyphens, but got `a b`"),
]


def test_every_problem_is_listed_with_its_row(clips: Path, tmp_path: Path) -> None:
    rows = [{"qid": f"q{place}", **GOOD, **change} for place, (change, _) in enumerate(BAD)]
    source = write_annotations(tmp_path / "rows.csv", [*rows, {"qid": "q0", **GOOD, "start": "x", "type": "why"}])
    with pytest.raises(InputError) as caught:
        read(source, clips)
    head, *lines = str(caught.value).splitlines()
    assert head == f"rows.csv cannot be built from: {len(BAD) + 3} problems, nothing was asked."
    for place, (_, message) in enumerate(BAD):
        (line,) = (line for line in lines if f"line {place + 2}:" in line)
        assert message in line
    last = [line for line in lines if f"line {len(BAD) + 2}:" in line]
    assert [line.partition(": Expected ")[2][:18] for line in last] == [
        "start in seconds, ", "type to be one of ", "each question once",
    ]  # fmt: skip


def test_json_lines_that_are_of_another_form(clips: Path, tmp_path: Path) -> None:
    rows = [{**GOOD, "start": "1"}, {**GOOD, "end": None}, {**GOOD, "more": 1}, {"clip": "a.mp4"}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n")
    with pytest.raises(InputError) as caught:
        read(tmp_path / "rows.jsonl", clips)
    message = str(caught.value)
    for part in ("start: Expected a number", "`more` (line 3)", "answer: Expected this field", "line 5"):
        assert part in message


def test_files_that_cannot_be_read(clips: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("clip,start,end,type,question,answer\n")
    (tmp_path / "few.csv").write_text("clip,start,end\n")
    for name, message in {
        "empty.csv": "Expected questions in empty.csv, but got none",
        "few.csv": "type, question, answer are missing",
        "none.csv": "none.csv cannot be used",
        "none.jsonl": "none.jsonl cannot be used",
    }.items():
        with pytest.raises(InputError, match=message):
            read(tmp_path / name, clips)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"difficulty": None}, "Expected either responses, .* but got neither"),
        ({"responses": "people.csv"}, "Expected either responses, .* but got both"),
        ({"difficulty": "medium"}, "difficulty"),
        ({"frames": 0}, "frames"),
        ({"reviewers": 2}, "reviewers: Expected no such name"),
    ],
)
def test_configurations_that_cannot_be_used(values: dict[str, Any], message: str, clips: Path, tmp_path: Path) -> None:
    write_annotations(tmp_path / "rows.csv", [GOOD])
    config = write_build_config(tmp_path / "build.yaml", NOWHERE, **{"clips": str(clips), **values})
    with pytest.raises(InputError, match=message):
        build(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_reviews_and_responses_that_cannot_be_used(clips: Path, tmp_path: Path) -> None:
    write_annotations(tmp_path / "rows.csv", [GOOD])
    columns = "item,version,reviewer,choice,flags,type,start,end,comment"
    reviews = f"{columns}\nq,2,r1,A,a,,,,\nq,0,r1,A,ag,,,,\nq,0,r1,A,,,,,\n"
    (tmp_path / "reviews.csv").write_text(reviews)
    (tmp_path / "people.csv").write_text("item,version\n")
    config = write_build_config(tmp_path / "one.yaml", NOWHERE, clips=str(clips), reviews=["reviews.csv"])
    with pytest.raises(InputError) as caught:
        build(config, tmp_path / "out")
    for part in ("3 problems", "version to be 0 or 1, but got `2`", "flags a to f, but got `g`", "review of a version"):
        assert part in str(caught.value)
    people = {"responses": "people.csv", "difficulty": None}
    config = write_build_config(tmp_path / "two.yaml", NOWHERE, clips=str(clips), **people)
    with pytest.raises(InputError, match="annotator, choice are missing"):
        build(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_dry_run_says_what_would_be_asked(clips: Path, tmp_path: Path) -> None:
    write_annotations(tmp_path / "rows.csv", [GOOD, {**GOOD, "start": 2}])
    config = write_build_config(tmp_path / "build.yaml", NOWHERE, clips=str(clips))
    built = build(config, tmp_path / "out", dry_run=True)
    steps = [cells[0] for cells in built.tables[0].rows]
    assert steps == [
        "description", "first answer", "seed distractors", "plain English", "distractors", "second version",
        "blind filter", "all",
    ]  # fmt: skip
    assert not (tmp_path / "out").exists()
