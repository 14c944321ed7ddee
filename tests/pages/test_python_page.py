"""The page "Python", its notebook, and `load_runs`, which they show."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import generated_docs
import pandas as pd
import pytest
from expected import Expected
from host_run import environment, warm_host
from logged_runs import TASK, strong, weak, write_records, write_run
from refusals import refusal
from sample_runs import prepared_sample

from lmms_eval_tasks.api.runs import load_runs
from lmms_eval_tasks.report.score_tables import score_tables
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

STRATUM = {"type": "descriptive", "difficulty": "easy"}
READ = {"official_correct": True}


@pytest.mark.host
def test_the_notebook_is_the_page_and_runs_in_a_process_of_its_own(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its cells in their order; what the last expression of a cell is worth, a notebook would show."""
    written = (generated_docs.DOCS / "python.ipynb").read_text(encoding="utf-8")
    assert written == generated_docs.write_notebook(), "Run `make docs-files`."
    page = (generated_docs.DOCS / "python.md").read_text(encoding="utf-8")
    cells = ["".join(cell["source"]) for cell in json.loads(written)["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == page.count("```python\n") >= 5
    script = tmp_path / "cells.py"
    lines = [f"exec(compile(ast.Interactive(ast.parse({cell!r}).body), 'cell', 'single'))" for cell in cells]
    script.write_text("\n".join(["import ast", *lines, ""]), encoding="utf-8")
    env = environment(prepared_sample(tmp_path_factory))
    made = warm_host().run([str(script)], tmp_path, env)
    assert made.returncode == 0, made.stdout + made.stderr
    assert all(shown in made.stdout for shown in ("seed 0", "seed 1", "SAMPLE DATA, not the benchmark"))
    assert "lmms-eval-tasks report" not in made.stdout, "a Python program prints what it wants"
    for seed in (0, 1):
        found = {path.name.split("_", 2)[2] for path in (tmp_path / "out" / f"python-{seed}").rglob("*.json*")}
        assert {"results.json", "run_card.json", "scores.json", f"samples_{TASK}.jsonl"} <= found


def test_scores_are_those_of_the_report_with_types_that_missing_values_keep(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / name, of(), stratum=STRATUM) for name, of in (("weak", weak), ("strong", strong))]
    scores, items = load_runs(*folders)
    (table,) = score_tables([read_run(folder) for folder in folders])
    leading = scores[scores.leading]
    assert list(leading["run"]) == list(map(str, folders)) and list(leading["title"]) == ["pair accuracy"] * 2
    for row, (_, shown, *_) in zip(leading.itertuples(), table.rows, strict=True):
        assert isinstance(shown, Number)
        assert (row.value, row.low, row.high, row.n, row.unit) == (shown.value, shown.low, shown.high, shown.n, "%")
    assert not scores.duplicated(["run", "task", "metric"]).any()
    counts = scores[scores.metric == "pairs_scored"]
    assert counts.low.isna().all() and list(counts.value) == [60, 60]
    assert len(items) == 240 and not items.duplicated(["run", "task", "item_id"]).any()
    assert items.groupby("run", sort=False).correct.mean().tolist() == [70 / 120, 105 / 120]
    assert set(items.stratum_type) == {"descriptive"} and items.reason.isna().all()
    types = {name: str(scores.dtypes[name]) for name in ("leading", "value", "low", "n")}
    assert types == {"leading": "bool", "value": "float64", "low": "float64", "n": "Int64"}
    assert str(items.correct.dtype) == "boolean" and isinstance(items.outcome.dtype, pd.CategoricalDtype)
    assert list(items.outcome.cat.categories) == ["correct", "wrong", "unparsed", "unscored"]
    assert set(load_runs(folders[0], names=["one"]).scores["run"]) == {"one"}
    none = load_runs()
    assert list(none.scores) == list(scores) and len(none.scores) == len(none.items) == 0


def test_runs_that_cannot_be_told_apart_or_read_are_refused(tmp_path: Path, expected: Expected) -> None:
    folder = write_run(tmp_path / "weak", weak(), stratum=STRATUM)
    plain = write_run(tmp_path / "plain", weak())
    said = [refusal(load_runs, folder, folder), refusal(load_runs, folder, tmp_path, names=["a"])]
    expected("\n".join([*said, refusal(load_runs, tmp_path / "nothing"), refusal(load_runs, plain)]))


def test_importing_the_package_stays_cheap() -> None:
    heavy = "pandas", "numpy", "pydantic"
    code = f"import sys, lmms_eval_tasks; print([name for name in {heavy} if name in sys.modules])"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout == "[]\n"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        __import__("lmms_eval_tasks").nothing  # noqa: B018


def test_each_sample_of_an_item_has_its_row_and_its_number(tmp_path: Path) -> None:
    first, second = (
        Record("a", "g", STRATUM, "A", "A", Outcome.CORRECT, fields=READ, sample=number) for number in (1, 2)
    )
    several = [replace(first, samples=(second,))]
    alone = [replace(first, sample=None)]
    folders = [write_records(tmp_path / name, {TASK: records}) for name, records in (("many", several), ("one", alone))]
    _, items = load_runs(*folders, names=["many", "one"])
    assert list(zip(items["run"], items["sample"], strict=True)) == [("many", 1), ("many", 2), ("one", 1)]
