"""The best of several runs in a report: which stand beside each other, and what is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logged_runs import write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.best_of import OPTIMISTIC, find_several
from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.benchmark.benchmark import TaskKind
from lmms_eval_tasks.utils.core.table import cell_text
from lmms_eval_tasks.utils.scoring.metrics import SINGLE_ACCURACY

TASK = next(name for name, task in registry().tasks.items() if task.kind.best_of)
KIND = registry().tasks[TASK].kind
FIELDS = {"pair": "1", "coding": "1", "official_answered": "A"}


def answers(seed: int, groups: int = 60) -> dict[str, tuple[bool, ...]]:
    return {str(group): ((group * (seed + 3)) % 7 < 4, (group * (seed + 5)) % 11 < 5) for group in range(groups)}


def run(folder: Path, seed: int, model: str = "model", **kinds: object) -> Path:
    right = answers(seed, int(str(kinds.pop("groups", 60))))
    stratum = dict.fromkeys(registry().tasks[TASK].benchmark.card.strata_columns, "unknown")
    return write_run(folder / model, right, tasks=(TASK,), stratum=stratum, **{**FIELDS, **kinds})  # type: ignore[arg-type]


def report(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert result.exit_code == 0, result.stderr or result.exception
    return result.stdout


@pytest.mark.usefixtures("hundred_columns")
def test_runs_of_a_model_have_a_best(tmp_path: Path) -> None:
    runs = [run(tmp_path / str(seed), seed) for seed in range(3)]
    (several,) = find_several([read_run(folder) for folder in runs])
    assert several.found is not None and several.found.runs == 3
    assert several.at_chance == pytest.approx(50 + several.found.inflation)
    printed = report(*runs)
    assert max(map(len, printed.splitlines())) <= 100
    row = f"{several.model} {' '.join(filter(None, map(cell_text, several.cells())))}"
    assert row in {" ".join(line.split()) for line in printed.splitlines()}
    tables = json.loads(report(*runs, "--format", "json"))["tables"]
    (table,) = [one for one in tables if one["title"] == several.title]
    best = table["rows"][0][table["columns"].index("best")]
    assert (best["value"], best["n"]) == (several.found.best.value, several.found.best.groups)
    assert OPTIMISTIC in table["caption"] and table["signature"].startswith(f"{TASK}, version 1-A; ")
    told = " ".join(printed.split())
    assert " ".join(OPTIMISTIC.split()) in told
    assert f"3 runs at chance would show {several.at_chance:.1f}." in told
    page = build_page([read_run(folder) for folder in runs])
    assert OPTIMISTIC in page and f"gain by choosing +{several.found.inflation:.1f}" in page


def test_one_run_has_none_and_neither_have_two_models(tmp_path: Path) -> None:
    one = run(tmp_path / "one", 0)
    other = run(tmp_path / "two", 1, model="other")
    assert OPTIMISTIC.split(".")[0] not in " ".join(report(one).split())
    assert list(find_several([read_run(one), read_run(other)])) == []


@pytest.mark.parametrize("other", [{"groups": 40}, {"version": "2-A"}, {"keys": "BA"}])
def test_runs_that_were_asked_otherwise_are_named_and_not_compared(other: dict[str, object], tmp_path: Path) -> None:
    first, second = run(tmp_path / "1", 0), run(tmp_path / "2", 1)
    third = run(tmp_path / "3", 2, **other)
    (alone,) = find_several([read_run(first), read_run(third)])
    assert alone.found is None and len(alone.apart) == 2
    assert "not compared with each other, because they have other items, another version" in " ".join(
        report(first, third).split()
    )
    (several,) = find_several([read_run(folder) for folder in (first, second, third)])
    assert several.found is not None and several.found.runs == 2
    assert [entry.run.path for entry in several.apart] == [read_run(third).path]
    assert "not compared with them" in " ".join(report(first, second, third).split())


def test_the_score_has_to_be_one_of_the_kind() -> None:
    with pytest.raises(ValueError, match="Expected best_of, one of single_accuracy, but got other"):
        TaskKind(metrics=(SINGLE_ACCURACY,), best_of="other")
