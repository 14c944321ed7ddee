import json
from pathlib import Path

import pytest

from lmms_eval_tasks.utils.submission.files import write_rows


def test_rows_are_lines_in_order_with_the_same_bytes(tmp_path: Path) -> None:
    rows = [{"row_id": "b", "model_answer": "它"}, {"row_id": "a", "model_answer": ""}]
    first, second = tmp_path / "x" / "1.jsonl", tmp_path / "x" / "2.jsonl"
    assert write_rows(first, rows) == write_rows(second, rows) == 2
    assert first.read_bytes() == second.read_bytes()
    assert first.read_text(encoding="utf-8") == (
        '{"row_id": "b", "model_answer": "它"}\n{"row_id": "a", "model_answer": ""}\n'
    )


def test_a_lone_surrogate_does_not_lose_the_file(tmp_path: Path) -> None:
    row = {"row_id": "a", "model_answer": "\\\ud800 它 \ud83d"}
    write_rows(tmp_path / "1.jsonl", [row])
    assert json.loads((tmp_path / "1.jsonl").read_bytes()) == row


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    write_rows(path, [{"row_id": "old"}])
    with pytest.raises(TypeError):
        write_rows(path, [{"row_id": object()}])  # type: ignore[dict-item]
    assert path.read_text() == '{"row_id": "old"}\n'
