"""The command `humans`, and people beside runs on the page of `report`."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from beside_people import EXAMPLE, FIRST, SECOND, make_record, write_example_run
from commands import call, printed
from logged_runs import TASK, write_records

from lmms_eval_tasks.runs.run_files import BYPASS

pytestmark = pytest.mark.usefixtures("hundred_columns")
PEOPLE = (EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv")


def test_the_worked_example(expected: Any, tmp_path: Path) -> None:
    out = tmp_path / "questions.csv"
    text = printed("humans", *PEOPLE, "--by", "type,difficulty", "--out", out)
    rows = [line.split() for line in text.splitlines()]
    assert ["descriptive", "hard", "2", "58.33"] in [row[:4] for row in rows]
    assert ["all", "5", "78.33"] in [row[:3] for row in rows]
    assert max(map(len, text.splitlines()[:-1])) <= 100
    expected(f"{text}\n{out.read_text(encoding='utf-8')}")
    assert printed("humans", *PEOPLE, "--by", "type,difficulty") in text


def write_table(path: Path, *lines: str) -> Path:
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def test_a_table_with_difficulties_is_compared_and_disputed_questions_are_left_out_when_asked(
    expected: Any, tmp_path: Path
) -> None:
    heading, answered = "item,version,answer,difficulty", "item,version,annotator,choice"
    items = write_table(tmp_path / "items.csv", heading, "q1,0,A,easy", "q2,0,A,easy", "q3,0,B,hard")
    responses = write_table(tmp_path / "responses.csv", answered, "q1,0,p,A", "q2,0,p,B")
    # Two questions of the table's easy ones, however few got them right.
    texts = [printed("humans", responses, "--items", items)]
    items = write_table(tmp_path / "items.csv", heading, "q1,0,A,easy", "q1,1,B,easy", "q2,0,A,easy")
    nine = [line for n in range(9) for line in (f"q1,0,a{n},A", f"q1,1,b{n},C")]
    responses = write_table(tmp_path / "responses.csv", answered, *nine, "q2,0,a1,A")
    texts += [printed("humans", responses, "--items", items, *more) for more in ((), ("--drop-disputed",))]
    # Half of the answers to the versions of q1 are right.
    assert all(
        re.search(row, text) for row, text in zip([r"all +2 +75\.00", r"all +1 +100\.00"], texts[1:], strict=True)
    )
    expected("\n".join(texts))


def test_runs_beside_people(expected: Any, tmp_path: Path) -> None:
    """The worked example; its figures are worked out in tests/pages/test_statistics_page.py."""
    runs = [write_example_run(tmp_path / name, answers) for name, answers in (("one", FIRST), ("two", SECOND))]
    out = tmp_path / "questions.csv"
    arguments = ("humans", *PEOPLE, "--run", runs[0], "--run", runs[1])
    text = printed(*arguments, "--out", out)
    assert printed("humans", *PEOPLE) in text and printed(*arguments) in text
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 100
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "run 1, people 12 58.3 69.4 66.7 53.2 0.29 [0.02, 0.64] -0.54 0.76" in rows
    assert "run 1 12 0.43 [-0.20, 0.80] 2 75.0% 25.0% +50.0 [+0.0, +100.0]" in rows
    expected(f"{text}\n{out.read_text(encoding='utf-8')}")
    tables = json.loads(printed(*arguments, "--format", "json"))["tables"]
    (consistency,) = [table for table in tables if table["title"].startswith(f"{TASK}: 12 items")]
    kappa = consistency["rows"][0][consistency["columns"].index("kappa")]
    assert kappa["n"] == 6 and kappa["low"] < kappa["value"] < kappa["high"]
    # Question q4 is disputed.
    assert f"{TASK}: 10 items in 5 groups" in printed(*arguments, "--drop-disputed")


def test_what_only_one_side_has_is_named(tmp_path: Path) -> None:
    records = [make_record(name, name[:2], key, key) for name, key in (("q1_0", "A"), ("q2_0", "C"), ("x", "A"))]
    text = printed("humans", *PEOPLE, "--run", write_records(tmp_path / "one", {TASK: records}))
    assert "run 1, left out, with another key: 1 (q2_0)" in text
    assert "run 1, left out, no person answered: 1 (x)" in text
    assert "run 1, left out, only people answered: 10 (q1_1, q2_1, q3_0, q3_1, q4_0, … and 5 more)" in text
    # One item that everybody gets right has no kappa.
    assert "run 1, people 1 100.0 100.0 100.0 100.0 – – –" in [" ".join(line.split()) for line in text.splitlines()]


def test_what_cannot_be_used(expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    other = write_records(tmp_path / "other", {TASK: [make_record("x", "x", "A", "A")]})
    marked = write_table(tmp_path / "responses.csv", "item,version,annotator,choice,correct", "q,0,p,A,1")
    lacking = write_table(tmp_path / "lacking.csv", "item,version,answer", "q,0,A")
    twice = write_table(tmp_path / "twice.csv", "item,version,answer,item_id", "q,0,A,x", "q,1,B,x")
    refused: list[tuple[Any, ...]] = [
        (marked, "--items", "nothing.csv"),
        (marked, "--by", "colour"),
        (*PEOPLE, "--run", other),
        (*PEOPLE, "--run", other, "--task", "mvp"),
        (*PEOPLE, "--task", TASK),
        (marked, "--run", other),
        (marked, "--items", lacking, "--run", other),
        (marked, "--items", twice, "--run", other),
        (marked, "--items", "x:y", "--mode", "links", "--run", other),
    ]
    on_page = [("--people", "p.csv"), ("--people", "p.csv", "--html", "page.html"), ("--items", "mvp:mini")]
    run = write_example_run(tmp_path / "one")
    done = [call("humans", *words) for words in refused] + [call("report", run, *words) for words in on_page]
    assert {one.status for one in done} == {1}
    expected("\n".join(one.err for one in done))


def test_a_page_shows_what_people_and_runs_share(tmp_path: Path) -> None:
    runs = [write_example_run(tmp_path / name, answers) for name, answers in (("one", FIRST), ("two", SECOND))]
    # A run whose answers were kept and not scored has no place on the page.
    predicted = write_example_run(tmp_path / "predicted")
    (log,) = predicted.glob("*_samples_*.jsonl")
    lines = [json.loads(line) | {BYPASS: 999} for line in log.read_text(encoding="utf-8").splitlines()]
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    page = tmp_path / "page.html"
    assert call("report", *runs, predicted, "--html", page, "--people", *PEOPLE).status == 0
    written = page.read_text(encoding="utf-8")
    assert "<caption>12 items in 6 groups, 3 people each</caption>" in written
    assert "0.29 [0.02, 0.64]" in written and "+50.0 [+0.0, +100.0]" in written
    # What only people get right is a link to where the page shows it.
    counted = "every run wrong, every person right: 1 of 12 items, 8.3% [0.0, 33.3]"
    assert f'<li>{counted}: <a href="#task={TASK}&amp;item=q2_0">q2_0</a></li>' in written
    with (EXAMPLE / "responses.csv").open(encoding="utf-8") as file:
        annotators = {row["annotator"] for row in csv.DictReader(file)}
    assert len(annotators) == 6 and not annotators & set(re.findall(r"[\w-]+", written))
