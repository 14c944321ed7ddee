"""What `submit` needs of a run beyond its records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.scoring.record import GradedItem, Outcome, Record

RECORD = Record("1_0", "1", {}, "A", "A", Outcome.CORRECT)
OTHER = Record("1_1", "1", {}, "A", "A", Outcome.CORRECT)


def write(folder: Path, config: dict[str, object], *lines: dict[str, object]) -> Path:
    results = {"configs": {"t": {}}, "group_subtasks": {}, "config": config}
    (folder / "1_results.json").write_text(json.dumps(results), encoding="utf-8")
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "1_samples_t.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("config", "limited"),
    [
        ({}, ""),
        ({"limit": None, "offset": 0}, ""),
        ({"limit": -1}, ""),
        ({"limit": 8.0, "offset": 0}, "--limit 8"),
        ({"limit": 0.5, "offset": 3}, "--limit 0.5, --offset 3"),
    ],
)
def test_whether_a_run_was_limited(config: dict[str, object], limited: str, tmp_path: Path) -> None:
    assert read_run(write(tmp_path, config, {"record": RECORD.to_json()})).limited == limited


def test_a_response_with_any_line_end_in_it_is_one_line(tmp_path: Path) -> None:
    submission = {"predict": "a\u2028b\x85c\x0bd"}
    lines = [{"record": RECORD.to_json(), "submission_rows": submission}, {"record": OTHER.to_json()}]
    run = read_run(write(tmp_path, {}, *lines))
    assert run.records["t"] == (RECORD, OTHER)
    assert tuple(item.graded() for item in run.items_of("t")) == (GradedItem(RECORD, submission), GradedItem(OTHER))
