"""Two models' public predictions, as their authors' script reads them, are valid."""

from __future__ import annotations

import json
from pathlib import Path

from oracles import oracle_path

from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.finished.submit import validate

ORACLE = oracle_path("cast_bench")


def test_public_predictions_and_metrics_are_valid(home: Path, tmp_path: Path) -> None:
    prepare(str(ORACLE / "castbench_hf.jsonl"))
    for file in sorted(ORACLE.glob("*_predictions.jsonl")):
        found = validate("cast_bench", file)
        assert (found.rows, found.empty) == (80, 0), file
        assert "against the prepared split test" in found.checked
    runs = json.loads((ORACLE / "expected.json").read_text("utf-8"))["runs"]
    for run in runs:
        config = {name: value for name, value in run["settings"].items() if name != "bbox_format"}
        whole = {
            "overall_per_qa": run["overall_per_qa"],
            "missing_pred_files": run["missing_pred_files"],
            "config": {**config, "pred_path": run["pred_file"]},
        }
        (tmp_path / "metrics.json").write_text(json.dumps(whole))
        assert validate("cast_bench", tmp_path / "metrics.json").rows == 80
