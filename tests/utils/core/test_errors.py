"""Problems of an input, in one message."""

from __future__ import annotations

from expected import Expected
from refusals import refusal

from lmms_eval_tasks.utils.core.errors import Problems


def message(problems: Problems, *outcome: str) -> str:
    return refusal(problems.raise_if_any, "x.csv cannot be prepared", *outcome)


def test_problems_keep_their_order_and_the_rest_is_counted(expected: Expected) -> None:
    problems, others = Problems(), Problems()
    problems.raise_if_any("nothing is wrong")
    problems.add("first", "Expected a, but got b.", remedy="write a.")
    alone = message(problems)
    for row in range(21):
        others.add(f"row {row}", "Expected c, but got d.")
    problems.extend(others)
    assert len(problems) == 22
    expected(f"{alone}\n{message(problems, 'nothing was written')}")


def test_faults_are_one_problem_per_kind(expected: Expected) -> None:
    issues, both = Problems(), Problems()
    for line in range(1, 1008):
        issues.add("name", "Expected a text, but got", f"`7` (line {line})")
    issues.add("rows", "Expected two, but", "there is one", "write another.")
    both.add("y.csv", "Expected a file, but there is none.")
    both.extend(issues, "x.csv, ", "ask again.")
    assert (len(issues), len(both)) == (2, 3)
    expected(f"{message(issues, 'nothing was written')}\n{message(both)}")


def test_oddities_are_one_warning_per_kind() -> None:
    problems = Problems()
    assert problems.warnings() == ()
    for name in range(6):
        problems.warn("x.csv: rows without a colour", f"row {name}")
    problems.warn("x.csv: rows without a taste", "row 9")
    problems.warn("x.csv: rows without a colour", "row 7")
    assert problems.warnings() == (
        "x.csv: rows without a colour: 7 (row 0, row 1, row 2, row 3, row 4, … and 2 more).",
        "x.csv: rows without a taste: 1 (row 9).",
    )
