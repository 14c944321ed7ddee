"""Runs of sets with and without opposite verdicts, compared: each score on the items that count in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from expected import Expected
from logged_runs import write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app


@pytest.mark.usefixtures("hundred_columns")
def test_questions_without_an_opposite_are_compared_as_they_are_reported(tmp_path: Path, expected: Expected) -> None:
    """A set by the paper's rules alone has no pairs, and a complete run of it is compared whole."""

    def compare(name: str, *right: Mapping[str, tuple[bool, ...]]) -> str:
        stratum = {"interaction": "H2H", "level": "L1", "rule": "adjacent_linked"}
        fields = {"stratum": stratum, "judged": None, "agreement": None, "judge": None}
        runs = [write_run(tmp_path / f"{name}{n}", one, ("countervqa",), **fields) for n, one in enumerate(right)]
        result = CliRunner().invoke(app, ["compare", *map(str, runs)])
        assert result.exit_code == 0, result.output
        return result.stdout

    single = compare("single", *({str(index): (index % every > 0,) for index in range(60)} for every in (2, 3)))
    # 12 + 6 + 3 of 30 verdicts, 6 of 12 pairs.
    pairs = {f"pair{index}": (True, index % 2 > 0) for index in range(12)}
    right = {**pairs, **{f"single{index}": (index < 3,) for index in range(6)}}
    expected(single + compare("both", right, {**right, "pair0": (False, False)}))
