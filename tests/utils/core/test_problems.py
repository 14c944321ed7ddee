from __future__ import annotations

import pytest

from lmms_eval_tasks.utils.core.errors import InputError, Problems


def test_no_problem_raises_nothing() -> None:
    Problems().raise_if_any("x.csv cannot be read")


def test_one_problem() -> None:
    problems = Problems()
    problems.add("x.csv, row 3", "Expected a letter, but got 9.")
    with pytest.raises(InputError) as caught:
        problems.raise_if_any("x.csv cannot be read")
    assert str(caught.value) == "x.csv cannot be read: 1 problem.\n  x.csv, row 3: Expected a letter, but got 9."


def test_problems_keep_their_order_and_the_rest_is_counted() -> None:
    problems, others = Problems(), Problems()
    problems.add("first", "Expected a, but got b.", remedy="write a.")
    for row in range(21):
        others.add(f"row {row}", "Expected c, but got d.")
    problems.extend(others)
    assert len(problems) == 22
    with pytest.raises(InputError) as caught:
        problems.raise_if_any("x.zip cannot be prepared", "nothing was written")
    lines = str(caught.value).splitlines()
    assert lines[:3] == [
        "x.zip cannot be prepared: 22 problems, nothing was written.",
        "  first: Expected a, but got b. Remedy: write a.",
        "  row 0: Expected c, but got d.",
    ]
    assert lines[20:] == ["  row 18: Expected c, but got d.", "  … and 2 more"]


def test_faults_are_one_problem_per_kind() -> None:
    issues = Problems()
    issues.raise_if_any("x is wrong")
    for line in range(1, 1008):
        issues.add("name", "Expected a text, but got", f"`7` (line {line})")
    issues.add("rows", "Expected two, but", "there is one", "write another.")
    assert len(issues) == 2
    both = Problems()
    both.add("y.csv", "Expected a file, but there is none.")
    both.extend(issues, "x.csv, ", "ask again.")
    assert len(both) == 3 and both.first[1].startswith("x.csv, name: Expected a text, but got `7` (line 1), ")
    assert both.first[1].endswith("1,002 more. Remedy: ask again.") and both.first[2].endswith("Remedy: write another.")
    with pytest.raises(InputError) as caught:
        issues.raise_if_any("x is wrong", "nothing was written")
    assert str(caught.value).splitlines() == [
        "x is wrong: 2 problems, nothing was written.",
        "  name: Expected a text, but got `7` (line 1), `7` (line 2), `7` (line 3), `7` (line 4), `7` (line 5), "
        "… and 1,002 more.",
        "  rows: Expected two, but there is one. Remedy: write another.",
    ]


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


def test_the_former_name_warns() -> None:
    with pytest.warns(FutureWarning, match="GroupedIssues is called lmms_eval_tasks.api.Problems now"):
        from lmms_eval_tasks.api import GroupedIssues
    assert GroupedIssues is Problems
