"""The command `humans`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app

EXAMPLE = Path(__file__).parent / "utils" / "stats" / "human_example"


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
