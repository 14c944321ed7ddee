"""The command `humans`."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from beside_people import EXAMPLE, FIRST, SECOND, make_record, write_example_run
from logged_runs import TASK, write_records
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.runs.run_files import BYPASS

pytestmark = pytest.mark.usefixtures("hundred_columns")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["humans", *(str(argument) for argument in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_worked_example(tmp_path: Path) -> None:
    out = tmp_path / "questions.csv"
    arguments = (EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv", "--by", "type,difficulty")
    status, printed, err = run(*arguments, "--out", out)
    assert (status, err) == (0, "")
    rows = [line.split() for line in printed.splitlines()]
    assert ["descriptive", "hard", "2", "58.33"] in [row[:4] for row in rows]
    assert ["all", "5", "78.33"] in [row[:3] for row in rows]
    assert printed.splitlines()[0] == "36 responses of 6 annotators to 6 questions"
    assert "difficulty by these responses: 2 easy, 1 medium, 2 hard, 1 dropped" in printed.splitlines()
    assert max(map(len, printed.splitlines()[:-1])) <= 100
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "item,version,modal,agreement,responses,percent_right,difficulty,disputed"
    assert lines[9:11] == ["q5,0,B|C|E,33.33,3,50.00,hard,0", "q5,1,A,66.67,3,50.00,hard,0"]
    assert run(*arguments)[1] in printed


def test_a_table_with_difficulties_is_compared(tmp_path: Path) -> None:
    items, responses = tmp_path / "items.csv", tmp_path / "responses.csv"
    items.write_text("item,version,answer,difficulty\nq1,0,A,easy\nq2,0,A,easy\nq3,0,B,hard\n", encoding="utf-8")
    responses.write_text("item,version,annotator,choice\nq1,0,p,A\nq2,0,p,B\n", encoding="utf-8")
    status, out, _ = run(responses, "--items", items)
    assert status == 0
    assert "without a response: 1 questions (q3)" in out.splitlines()
    assert "other than in the table: 1 (q2)" in out.splitlines()
    # Two questions of the table's easy ones, however few got them right.
    assert ["easy", "2", "50.00"] in [line.split()[:3] for line in out.splitlines()]


def test_disputed_questions_are_named_and_left_out_when_asked(tmp_path: Path) -> None:
    items, responses = tmp_path / "items.csv", tmp_path / "responses.csv"
    items.write_text("item,version,answer,difficulty\nq1,0,A,easy\nq1,1,B,easy\nq2,0,A,easy\n", encoding="utf-8")
    rows = [("q1", 0, f"a{n}", "A") for n in range(9)] + [("q1", 1, f"b{n}", "C") for n in range(9)]
    rows += [("q2", 0, "a1", "A")]
    lines = ["item,version,annotator,choice", *(",".join(map(str, row)) for row in rows), ""]
    responses.write_text("\n".join(lines), encoding="utf-8")
    status, out, _ = run(responses, "--items", items)
    assert status == 0
    assert "most frequent answer is not the key: 1 questions (50.0%): q1" in out.splitlines()
    assert (
        "versions not equally hard: 1 of 1 questions: q1 9/9 and 0/9 (Fisher's exact test, Holm, p < 0.05)"
        in out.splitlines()
    )
    assert ["all", "2", "75.00"] in [line.split()[:3] for line in out.splitlines()]
    status, out, _ = run(responses, "--items", items, "--drop-disputed")
    assert "most frequent answer is not the key: 1 questions (50.0%): q1, left out below" in out.splitlines()
    assert ["all", "1", "100.00"] in [line.split()[:3] for line in out.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--items", "nothing.csv"], "nothing.csv cannot be used: there is no nothing.csv.\n"),
        (["--by", "colour"], "Expected stratum columns, any of difficulty, but got colour.\n"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, arguments: list[str], expected: str) -> None:
    path = tmp_path / "responses.csv"
    path.write_text("item,version,annotator,choice,correct\nq,0,p,A,1\n", encoding="utf-8")
    assert run(path, *arguments) == (1, "", expected)


def test_runs_beside_people(tmp_path: Path) -> None:
    """The worked example; its figures are worked out in tests/pages/test_statistics_page.py."""
    runs = [write_example_run(tmp_path / name, answers) for name, answers in (("one", FIRST), ("two", SECOND))]
    people = (EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv")
    out = tmp_path / "questions.csv"
    arguments = (*people, "--run", runs[0], "--run", runs[1])
    status, printed, err = run(*arguments, "--out", out)
    assert (status, err) == (0, "")
    assert run(*people)[1] in printed and run(*arguments)[1] in printed
    assert max(len(line) for line in printed.splitlines() if str(tmp_path) not in line) <= 100
    assert f"{TASK}: 12 items in 6 groups, 3 people each" in printed
    rows = [" ".join(line.split()) for line in printed.splitlines()]
    assert "run 1, people 12 58.3 69.4 66.7 53.2 0.29 [0.02, 0.64] -0.54 0.76" in rows
    assert "people, people 12 69.4 69.4 61.1 57.6 0.08 [-0.24, 0.54] -0.44 1.00" in rows
    assert any(row.startswith("run 1, run 2 12 58.3 83.3 58.3 55.6 0.06 [") for row in rows)
    assert "run 1 12 0.43 [-0.20, 0.80] 2 75.0% 25.0% +50.0 [+0.0, +100.0]" in rows
    assert any(row.startswith("all runs 12 0.08 [") for row in rows)
    assert "every run wrong, every person right: 1 of 12 items, 8.3% [0.0, 33.3] (q2_0)" in printed
    assert "every run right, no person right: 0 of 12 items, 0.0% [0.0, 39.0]" in printed
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[0].endswith(f',"run 1, {TASK}","run 2, {TASK}"')
    assert [line.split(",")[-2:] for line in lines[9:11]] == [["unparsed", "correct"], ["correct", "correct"]]
    status, written, _ = run(*arguments, "--format", "json")
    (consistency,) = [
        table for table in json.loads(written)["tables"] if table["title"].startswith(f"{TASK}: 12 items")
    ]
    kappa = consistency["rows"][0][consistency["columns"].index("kappa")]
    assert (status, kappa["n"]) == (0, 6) and kappa["low"] < kappa["value"] < kappa["high"]
    # Question q4 is disputed.
    assert f"{TASK}: 10 items in 5 groups" in run(*arguments, "--drop-disputed")[1]


def test_what_only_one_side_has_is_named(tmp_path: Path) -> None:
    records = [
        make_record("q1_0", "q1", "A", "A"),
        make_record("q2_0", "q2", "C", "C"),
        make_record("x", "x", "A", "A"),
    ]
    folder = write_records(tmp_path / "one", {TASK: records})
    status, printed, _ = run(EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv", "--run", folder)
    assert status == 0
    assert "run 1, left out, with another key: 1 (q2_0)" in printed
    assert "run 1, left out, no person answered: 1 (x)" in printed
    assert "run 1, left out, only people answered: 10 (q1_1, q2_1, q3_0, q3_1, q4_0, … and 5 more)" in printed
    # One item that everybody gets right has no kappa.
    assert "run 1, people 1 100.0 100.0 100.0 100.0 – – –" in [" ".join(line.split()) for line in printed.splitlines()]


def test_runs_that_cannot_be_set_beside_people(tmp_path: Path) -> None:
    other = write_records(tmp_path / "other", {TASK: [make_record("x", "x", "A", "A")]})
    people = (EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv")
    status, _, err = run(*people, "--run", other)
    assert (status, err.splitlines()) == (
        1,
        [
            "Expected runs with scores on items that people answered, but there are none.",
            f"  {TASK}, run 1, no person answered: 1 (x)",
            f"  {TASK}, run 1, only people answered: 12 (q1_0, q1_1, … and 10 more)",
        ],
    )
    assert run(*people, "--run", other, "--task", "mvp")[2].startswith("Expected a task or group of these runs, any of")
    assert run(*people, "--task", TASK) == (1, "", "Expected --task only with --run.\n")
    marked = tmp_path / "responses.csv"
    marked.write_text("item,version,annotator,choice,correct\nq,0,p,A,1\n", encoding="utf-8")
    expected = "Expected --items with --run, so that responses can be matched to the run's items.\n"
    assert run(marked, "--run", other) == (1, "", expected)
    items = tmp_path / "items.csv"
    items.write_text("item,version,answer\nq,0,A\n", encoding="utf-8")
    assert run(marked, "--items", items, "--run", other)[2].startswith(
        "Expected --items with a column item_id, which has the ids of the run's items, but 1 lack one: q 0."
    )
    items.write_text("item,version,answer,item_id\nq,0,A,x\nq,1,B,x\n", encoding="utf-8")
    assert "line 3: Expected each item_id once, but `x` is there twice." in run(marked, "--items", items)[2]
    assert "--run in the mode links" in run(marked, "--items", "x:y", "--mode", "links", "--run", other)[2]


def test_a_page_shows_what_people_and_runs_share(tmp_path: Path) -> None:
    runs = [write_example_run(tmp_path / name, answers) for name, answers in (("one", FIRST), ("two", SECOND))]
    people = ("--people", EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv")
    # A run whose answers were kept and not scored has no place on the page.
    predicted = write_example_run(tmp_path / "predicted")
    (log,) = predicted.glob("*_samples_*.jsonl")
    lines = [json.loads(line) | {BYPASS: 999} for line in log.read_text(encoding="utf-8").splitlines()]
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["report", *map(str, (*runs, predicted, "--html", page, *people))])
    assert result.exit_code == 0, result.output
    written = page.read_text(encoding="utf-8")
    assert "<caption>12 items in 6 groups, 3 people each</caption>" in written
    assert "0.29 [0.02, 0.64]" in written and "+50.0 [+0.0, +100.0]" in written
    # What only people get right is a link to where the page shows it.
    counted = "every run wrong, every person right: 1 of 12 items, 8.3% [0.0, 33.3]"
    assert f'<li>{counted}: <a href="#task={TASK}&amp;item=q2_0">q2_0</a></li>' in written
    with (EXAMPLE / "responses.csv").open(encoding="utf-8") as file:
        annotators = {row["annotator"] for row in csv.DictReader(file)}
    assert len(annotators) == 6 and not annotators & set(re.findall(r"[\w-]+", written))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--people", "people.csv"), "Expected --people with --html; `humans` with --run prints the same."),
        (("--people", "people.csv", "--html", "page.html"), "Expected --people and --items together, but got one"),
        (("--items", "mvp:mini"), "Expected --people and --items together, but got one"),
    ],
)
def test_people_on_a_page_need_their_items(tmp_path: Path, arguments: tuple[str, ...], expected: str) -> None:
    result = CliRunner().invoke(app, ["report", str(write_example_run(tmp_path / "one")), *arguments])
    assert result.exit_code == 1 and expected in result.output
