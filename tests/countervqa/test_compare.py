"""Runs of sets with and without opposite verdicts, compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from logged_runs import write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app


def compare(*runs: Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["compare", *map(str, runs)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def verdicts(folder: Path, right: Mapping[str, tuple[bool, ...]]) -> Path:
    stratum = {"interaction": "H2H", "level": "L1", "rule": "adjacent_linked"}
    return write_run(folder, right, ("countervqa",), stratum=stratum, judged=None, agreement=None, judge=None)


def test_questions_without_an_opposite_are_compared_as_they_are_reported(tmp_path: Path) -> None:
    """A set by the paper's rules alone has no pairs, and a complete run of it is compared whole."""
    one, two = ({str(index): (index % every > 0,) for index in range(60)} for every in (2, 3))
    status, out, _ = compare(verdicts(tmp_path / "a", one), verdicts(tmp_path / "b", two))
    assert status == 0
    lines = out.splitlines()
    (row,) = [line.split() for line in lines if "verdict accuracy" in line and "[" in line]
    assert row[2:6] == ["verdict", "accuracy", "50.0", "66.7"] and row[-4:-2] == ["10", "20"]
    assert "runs 1 and 2 share 60 items in 60 groups" in lines
    assert "  no pair accuracy: no item of both runs counts in it" in lines


def test_each_score_says_on_what_it_stands_where_that_differs(tmp_path: Path) -> None:
    pairs = {f"pair{index}": (True, index % 2 > 0) for index in range(12)}
    single = {f"single{index}": (index < 3,) for index in range(6)}
    right = {**pairs, **single}
    runs = [verdicts(tmp_path / "a", right), verdicts(tmp_path / "b", {**right, "pair0": (False, False)})]
    status, out, _ = compare(*runs)
    assert status == 0
    # 12 + 6 + 3 of 30 verdicts, 6 of 12 pairs.
    rows = {line.split("accuracy")[0].split()[-1]: line.split() for line in out.splitlines() if "[" in line}
    assert {"70.0"} <= set(rows["verdict"]) and {"50.0"} <= set(rows["pair"])
    told = [line for line in out.splitlines() if " share " in line or ": from " in line]
    assert told == [
        "runs 1 and 2 share 30 items in 18 groups",
        "  pair accuracy: from 24 items in 12 groups that count in both runs",
    ]
