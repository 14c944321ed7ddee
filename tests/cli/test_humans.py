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

from lmms_eval_tasks.report.people_baseline import show_checks
from lmms_eval_tasks.runs.run_files import BYPASS
from lmms_eval_tasks.utils.core.output import Output
from lmms_eval_tasks.utils.people.baseline import summarise
from lmms_eval_tasks.utils.people.responses import AskedQuestion, Response

PEOPLE = (EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv")
BY = ("--by", "type,difficulty")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hundred_columns: None) -> None:
    monkeypatch.chdir(tmp_path)


def write_table(name: str, *lines: str) -> str:
    Path(name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    return name


def rows_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_worked_example(expected: Any) -> None:
    text = printed("humans", *PEOPLE, *BY, "--out", "questions.csv")
    assert any(row.startswith("descriptive hard 2 58.33 ") for row in rows_of(text))
    assert any(row.startswith("all 5 78.33 ") for row in rows_of(text)) and max(map(len, text.splitlines())) <= 100
    expected(f"{text}\n{Path('questions.csv').read_text('utf-8')}")
    assert printed("humans", *PEOPLE, *BY) in text


def test_a_table_with_difficulties_is_compared_and_disputed_questions_are_left_out_when_asked(expected: Any) -> None:
    heading, answered = "item,version,answer,difficulty", "item,version,annotator,choice"
    items = ("--items", write_table("items.csv", heading, "q1,0,A,easy", "q2,0,A,easy", "q3,0,B,hard"))
    # Two questions of the table's easy ones, however few got them right.
    texts = [printed("humans", write_table("few.csv", answered, "q1,0,p,A", "q2,0,p,B"), *items)]
    write_table("items.csv", heading, "q1,0,A,easy", "q1,1,B,easy", "q2,0,A,easy")
    nine = [line for n in range(9) for line in (f"q1,0,a{n},A", f"q1,1,b{n},C")]
    many = write_table("many.csv", answered, *nine, "q2,0,a1,A")
    texts += [printed("humans", many, *items), printed("humans", many, *items, "--drop-disputed")]
    # Half of the answers to the versions of q1 are right.
    assert [re.findall(r"all +(\d) +([\d.]+)", text)[-1] for text in texts[1:]] == [("2", "75.00"), ("1", "100.00")]
    expected("\n".join(texts))


@pytest.mark.parametrize(
    ("pairs", "warned"),
    [
        (False, "without a response: 1 questions (q2)"),
        (True, "without a response to both clips: 1 pairs (q2)"),
    ],
)
def test_who_has_no_response_is_named(pairs: bool, warned: str) -> None:
    answers = [Response("q1", "0", "p", "A", 1.0)]
    asked = {(item, "0"): AskedQuestion("A") for item in ("q1", "q2")}
    output = Output("humans")
    assert show_checks(output, answers, summarise(answers), asked, False, pairs) == []
    assert output.document.warnings == [warned]


@pytest.mark.slow
def test_runs_beside_people(expected: Any) -> None:
    """The worked example; its figures are worked out in tests/pages/test_page_commands.py."""
    runs = [write_example_run(Path(name), answers) for name, answers in (("one", FIRST), ("two", SECOND))]
    words = ("humans", *PEOPLE, "--run", runs[0], "--run", runs[1])
    text = printed(*words, "--out", "questions.csv")
    assert printed("humans", *PEOPLE) in text and printed(*words) in text
    assert max(map(len, text.splitlines())) <= 100
    assert "run 1, people 12 58.3 69.4 66.7 53.2 0.29 [0.02, 0.64] -0.54 0.76" in rows_of(text)
    assert "run 1 12 0.43 [-0.20, 0.80] 2 75.0% 25.0% +50.0 [+0.0, +100.0]" in rows_of(text)
    expected(f"{text}\n{Path('questions.csv').read_text('utf-8')}")
    tables = json.loads(printed(*words, "--format", "json"))["tables"]
    (consistency,) = [table for table in tables if table["title"].startswith(f"{TASK}: 12 items")]
    kappa = consistency["rows"][0][consistency["columns"].index("kappa")]
    assert kappa["n"] == 6 and kappa["low"] < kappa["value"] < kappa["high"]
    # Question q4 is disputed.
    assert f"{TASK}: 10 items in 5 groups" in printed(*words, "--drop-disputed")
    # What only one side has is named, and one item that everybody gets right has no kappa.
    records = [make_record(name, name[:2], key, key) for name, key in (("q1_0", "A"), ("q2_0", "C"), ("x", "A"))]
    text = printed("humans", *PEOPLE, "--run", write_records(Path("other"), {TASK: records}))
    expected("\n".join(row for row in rows_of(text) if "run 1" in row))


def test_what_cannot_be_used(expected: Any) -> None:
    other = write_records(Path("other"), {TASK: [make_record("x", "x", "A", "A")]})
    marked = write_table("responses.csv", "item,version,annotator,choice,correct", "q,0,p,A,1")
    lacking = write_table("lacking.csv", "item,version,answer", "q,0,A")
    twice = write_table("twice.csv", "item,version,answer,item_id", "q,0,A,x", "q,1,B,x")
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
    of_report = [("--people", "p.csv"), ("--people", "p.csv", "--layout", "paper"), ("--items", "mvp:mini")]
    of_page = [(), ("--people", "p.csv", "--out", "page.html"), ("--items", "mvp:mini", "--out", "page.html")]
    run = write_example_run(Path("one"))
    done = [call("humans", *words) for words in refused] + [call("report", run, *words) for words in of_report]
    done += [call("page", run, *words) for words in of_page]
    assert {one.status for one in done} == {1}
    expected("\n".join(one.err for one in done))


@pytest.mark.slow
def test_a_page_shows_what_people_and_runs_share() -> None:
    runs = [write_example_run(Path(name), answers) for name, answers in (("one", FIRST), ("two", SECOND))]
    # A run whose answers were kept and not scored has no place on the page.
    predicted = write_example_run(Path("predicted"))
    (log,) = predicted.glob("*_samples_*.jsonl")
    lines = [json.loads(line) | {BYPASS: 999} for line in log.read_text(encoding="utf-8").splitlines()]
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    printed("page", *runs, predicted, "--out", "page.html", "--people", *PEOPLE)
    written = Path("page.html").read_text(encoding="utf-8")
    assert "12 items in 6 groups, 3 people each. " in written
    assert "0.29 [0.02, 0.64]" in written and "+50.0 [+0.0, +100.0]" in written
    # What only people get right is a link to where the page shows it.
    counted = "every run wrong, every person right: 1 of 12 items, 8.3% [0.0, 33.3]"
    assert f'<li>{counted}: <a href="#task={TASK}&amp;item=q2_0">q2_0</a></li>' in written
    with (EXAMPLE / "responses.csv").open(encoding="utf-8") as file:
        annotators = {row["annotator"] for row in csv.DictReader(file)}
    assert len(annotators) == 6 and not annotators & set(re.findall(r"[\w-]+", written))
