import json
from pathlib import Path

from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines


def test_rows_are_lines_in_order_with_the_same_bytes(tmp_path: Path) -> None:
    rows = [{"row_id": "b", "model_answer": "它"}, {"row_id": "a", "model_answer": ""}]
    first, second = tmp_path / "x" / "1.jsonl", tmp_path / "x" / "2.jsonl"
    for path in (first, second):
        write_file(path, as_lines(rows))
    assert first.read_bytes() == second.read_bytes()
    assert first.read_text(encoding="utf-8") == (
        '{"row_id": "b", "model_answer": "它"}\n{"row_id": "a", "model_answer": ""}\n'
    )


def test_a_lone_surrogate_does_not_lose_the_file(tmp_path: Path) -> None:
    row = {"row_id": "a", "model_answer": "\\\ud800 它 \ud83d"}
    write_file(tmp_path / "1.jsonl", as_lines([row]))
    assert json.loads((tmp_path / "1.jsonl").read_bytes()) == row
