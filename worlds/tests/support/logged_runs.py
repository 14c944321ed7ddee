"""Runs in the form in which lmms-eval leaves them, for commands that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from lmms_eval_tasks.api import Record


def write_records(folder: Path, records: Mapping[str, Sequence[Record]]) -> Path:
    """A run's output folder, whose name is the model's, with the records of each task."""
    folder.mkdir(parents=True)
    results = {
        "results": {task: {} for task in records},
        "configs": {task: {} for task in records},
        "group_subtasks": {task: [] for task in records},
        "versions": dict.fromkeys(records, "1-A"),
        "config": {"model": "replay", "model_args": f"pretrained=org/{folder.name}"},
    }
    (folder / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    of_set = {"data_set": {"kind": "official", "items": 2, "of": 4}}
    for task, found in records.items():
        lines = [json.dumps({"record": of_set | record.to_json()}) for record in found]
        (folder / f"20261121_samples_{task}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder
