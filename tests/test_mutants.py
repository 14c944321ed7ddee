"""The tool that draws faults: which it draws, which tests it tries, and what it says of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mutants
import pytest
import seen_tests
from changed_tests import SUITES
from coverage import CoverageData
from mutants import Guard, Mutant, Results, draw
from mutations import Change, changes, draw_change, is_other_code
from seen_tests import PARENTS, Sight

SOURCE = b'''"""A docstring with 1 + 1."""

import math

LIMIT: Literal["a"] = 3


def area(radius: float, doubled: bool = False) -> float:
    """The area."""
    if radius < 0 or not doubled:
        raise ValueError(f"{radius - 1}")
    return math.pi * radius**2
'''


def test_each_operator_changes_what_runs() -> None:
    assert {(one.operator, one.line, one.text) for one in changes(SOURCE)} == {
        ("off by one", 5, "4"),
        ("off by one", 5, "(2)"),
        ("constant", 8, "True"),
        ("boolean", 10, "(radius < 0 and (not doubled))"),
        ("comparison", 10, "(radius <= 0)"),
        ("off by one", 10, "1"),
        ("off by one", 10, "(-1)"),
        ("not", 10, "(doubled)"),
        ("removed statement", 11, "pass"),
        ("return value", 12, "return (math.pi * radius ** 2) + 1"),
        ("arithmetic", 12, "(math.pi / radius ** 2)"),
        ("arithmetic", 12, "(radius * 2)"),
        ("off by one", 12, "3"),
        ("off by one", 12, "(1)"),
    }


def test_a_change_replaces_its_place_alone() -> None:
    change = next(one for one in changes(SOURCE) if one.operator == "comparison")
    assert change.apply(SOURCE) == SOURCE.replace(b"radius < 0", b"(radius <= 0)")


def test_a_seed_draws_the_same_change_of_other_bytecode() -> None:
    drawn = [draw_change(SOURCE, str(seed)) for seed in range(40)]
    assert drawn == [draw_change(SOURCE, str(seed)) for seed in range(40)]
    assert len(set(drawn)) > 8
    assert all(one is not None and is_other_code(SOURCE, one.apply(SOURCE)) for one in drawn)
    assert draw_change(b'"""Nothing runs."""\n', "1") is None


def test_other_code_is_none_of_layout_or_of_broken_syntax() -> None:
    assert not is_other_code(b"a = 1 + b", b"a = (1 + b)")
    assert not is_other_code(b"def f(): return 1", b"def f(): return (")
    assert is_other_code(b"def f(): return 1", b"def f(): return 2")


@pytest.mark.slow
def test_at_most_one_mutant_of_a_file_is_drawn_and_more_add_to_fewer() -> None:
    drawn = draw(7, 60)
    assert len({one.path for one in drawn}) == len(drawn) == 60
    assert draw(7, 20) == drawn[:20] != draw(8, 20)
    assert all(one.file.is_file() and one.room in mutants.rooms() for one in drawn)


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one file, and what tests of it have run."""
    top = tmp_path / "top"
    (top / "package").mkdir(parents=True)
    (top / "package" / "area.py").write_bytes(SOURCE)
    monkeypatch.setattr(seen_tests, "SUITES", {"package": top / "tests"})
    monkeypatch.setattr(seen_tests, "PARENTS", {"package": top})
    monkeypatch.setattr(seen_tests, "ROOT", tmp_path)
    data = CoverageData(str(tmp_path / "package.seen"))
    for context, lines in {
        "": [1, 3, 5, 8],
        "test_area.py::test_small|run": [10, 12],
        "test_area.py::test_large|setup": [1, 3, 5, 8, 10, 11],
        "test_area.py::test_reads_what_is_made|run": [10],
        "test_other.py::test_error|run": [10, 11],
    }.items():
        data.set_context(context)
        data.add_lines({"/venv/site-packages/package/area.py": lines})
    data.write()
    return tmp_path


def names(tests: list[str]) -> list[str]:
    return [test.partition("::test_")[2] for test in tests]


def test_a_line_is_tried_by_tests_that_run_it_small_ones_first(noted: Path) -> None:
    sight = Sight(noted)
    assert sight.tests("package/area.py", 10)[0] == "top/test_area.py::test_reads_what_is_made"
    assert names(sight.tests("package/area.py", 10)) == ["reads_what_is_made", "small", "large", "error"]
    assert names(sight.tests("package/area.py", 9)) == ["reads_what_is_made", "small", "large", "error"]


def test_what_is_made_for_a_test_may_be_read_by_all_of_its_file(noted: Path) -> None:
    assert names(Sight(noted).tests("package/area.py", 11)) == ["reads_what_is_made", "small", "large", "error"]


def test_what_few_tests_run_an_import_may_have_run_for_the_others_of_the_file(noted: Path) -> None:
    assert names(Sight(noted).tests("package/area.py", 12)) == ["small", "reads_what_is_made", "large", "error"]


def test_what_an_import_runs_is_tried_by_all_tests_of_the_file_and_a_file_that_none_imports_by_those_beside_it(
    noted: Path,
) -> None:
    sight, beside = Sight(noted), noted / "top" / "package" / "loaded.py"
    beside.write_bytes(SOURCE)
    for path, line in (("area.py", 5), ("area.py", 8), ("loaded.py", 12)):
        assert names(sight.tests(f"package/{path}", line)) == ["reads_what_is_made", "small", "large", "error"]


def test_what_an_import_defines_may_be_looked_at_by_tests_that_run_no_line_of_the_file(noted: Path) -> None:
    """Of a package's file: those of the folder of its name, of a benchmark's also those of all benchmarks."""
    top = noted / "top"
    for folder in ("package/room", "package/quiz", "tests/room", "tests/quiz", "tests/benchmarks"):
        (top / folder).mkdir(parents=True)
    for name in ("package/room/area.py", "package/quiz/benchmark.py"):
        (top / name).write_bytes(SOURCE)
    data = CoverageData(str(noted / "package.seen"))
    data.read()
    for where in ("room", "quiz", "benchmarks"):
        data.set_context(f"tests/{where}/test_forms.py::test_{where}|run")
        data.add_lines({"/venv/site-packages/package/other.py": [1]})
        (top / "tests" / where / "test_lineless.py").touch()
    data.write()
    sight = Sight(noted)

    def beside(*folders: str) -> list[str]:
        tests = [f"top/tests/{one}/test_forms.py::test_{one}" for one in folders]
        return [*tests, *(f"top/tests/{one}/test_lineless.py" for one in folders)]

    for path, folders in (("room/area.py", ["room"]), ("quiz/benchmark.py", ["benchmarks", "quiz"])):
        assert sight.tests(f"package/{path}", 5) == beside(*folders) and sight.tests(f"package/{path}", 10) == []
    assert sight.tests("package/area.py", 5)[-6:] == beside("benchmarks", "quiz", "room")


def test_a_test_that_is_gone_leaves_the_others_and_a_new_one_comes_last(tmp_path: Path) -> None:
    """pytest runs none of the tests that it is given by name where one of them is not there."""

    def test(name: str) -> str:
        return f"worlds/tests/test_area.py::test_{name}"

    tests, noted = [test("large"), test("gone"), test("small")], {test("other"), test("large"), test("small")}
    guard = Guard(tests, frozenset(noted), tmp_path / "failed", SUITES["lmms_eval_worlds"])
    items: list[Any] = [
        SimpleNamespace(nodeid=test(name).removeprefix("worlds/")) for name in ("small", "other", "new", "large")
    ]
    guard.pytest_collection_modifyitems(items)
    assert names([item.nodeid for item in items]) == ["large", "small", "new"]


def test_results_are_kept_and_a_test_that_always_fails_kills_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PARENTS, "package", tmp_path)
    (tmp_path / "package").mkdir()
    drawn = []
    for number in range(5):
        (tmp_path / "package" / f"{number}.py").write_bytes(b"a = 1\n")
        drawn.append(Mutant("host" if number else "runs", f"package/{number}.py", Change("off by one", 1, 4, 5, "2")))
    results = Results(tmp_path / "1.jsonl", drawn)
    for mutant, killer in zip(drawn, ("mypy", "", "", "", ""), strict=True):
        results.add(mutant=mutant.key, stage="mypy", killer=killer)
    for mutant, killer in zip(drawn[1:], ("test_a", "test_flaky", "", ""), strict=True):
        results.add(mutant=mutant.key, stage="fast", killer=killer)
    results.add(test="test_a", sound=True)
    results.add(test="test_flaky", sound=False)
    results.add(mutant=drawn[3].key, stage="slow", killer="test_b")
    results.add(test="test_b", sound=True)
    for again in (results, Results(tmp_path / "1.jsonl", drawn)):
        assert [again.fate(mutant) for mutant in drawn] == ["mypy", "fast", "survived", "slow", "survived"]
        assert again.open_in("fast") == [drawn[2]], "its killer fails without a mutant too"
        assert again.open_in("slow") == [drawn[2], drawn[4]]
    rows = results.table().splitlines()
    assert [row.split() for row in rows if row.startswith(("host", "runs", "all"))] == [
        ["host", "4", "0", "1", "1", "2", "50%"],
        ["runs", "1", "1", "0", "0", "0"],
        ["all", "5", "1", "1", "1", "2", "50%"],
    ], results.table()
    results.forget_survivors()
    assert results.open_in("fast") == [drawn[2], drawn[4]]
    (tmp_path / "package" / "1.py").write_bytes(b"b = 1\n")
    changed = Mutant("host", "package/1.py", drawn[1].change)
    assert Results(tmp_path / "1.jsonl", [changed]).fate(changed) == "survived", "a changed file is another mutant's"
