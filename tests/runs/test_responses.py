"""Responses of saved files and finished runs, to be replayed."""

from __future__ import annotations

import json
from pathlib import Path

from expected import Expected
from refusals import refusal

from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.scoring.record import NOT_ASKED, PredictionLines


def write(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def logged(item_id: str, **fields: object) -> dict[str, object]:
    return {"record": {"item_id": item_id, "fields": {}}, "filtered_resps": "A", **fields}


def test_lines_of_a_file_serve_the_task_that_they_name_or_every_one(tmp_path: Path, expected: Expected) -> None:
    path = write(
        tmp_path / "r.jsonl",
        {"id": "q_0", "response": "A"},
        {"id": "q_1", "response": ""},
        {"id": "named", "response": "B", "task": "one"},
        {"id": "torn", "response": "\ud800 é \U0001f600"},
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    saved = read_responses(path)
    assert [saved.find("one", item) for item in ("q_0", "q_1", "named", "other")] == ["A", "", "B", None]
    assert [saved.find("two", item) for item in ("q_0", "named")] == ["A", None]
    # A lone surrogate is replaced.
    assert saved.find("one", "torn") == "? é \U0001f600"
    # A folder that holds nothing, and every bad line of a file.
    kinds = [PredictionLines(lambda line: None, fields="a guess", options="")]
    path.write_bytes(b'{"id": "q", "response": "A"}\n[1]\nnot json\n\xff\xfe\n{"id": "q", "response": "B"}\n')
    (tmp_path / "empty").mkdir()
    expected("\n".join(refusal(read_responses, source, kinds) for source in (tmp_path / "empty", path)))


def test_of_several_logs_in_a_folder_those_of_one_run_are_replayed(tmp_path: Path, expected: Expected) -> None:
    tasks, one, two, three = (tmp_path / name for name in ("tasks", "dates", "models", "launch"))
    write(tasks / "m" / "d_samples_one.jsonl", logged("q"))
    write(tasks / "m" / "d_samples_two.jsonl", logged("q", resps=[["<think>x</think>B"]], filtered_resps="B"))
    saved = read_responses(tasks)
    assert (saved.find("one", "q"), saved.find("two", "q")) == ("A", "<think>x</think>B")
    # An item that was never asked stays so.
    line = {"record": {"item_id": "q", "unscored_reason": "no clip"}, "filtered_resps": "A"}
    assert read_responses(write(tmp_path / "d_samples_one.jsonl", line)).find("one", "q") == NOT_ASKED
    write(one / "20261101_samples_one.jsonl", logged("q"))
    write(one / "20261102_samples_one.jsonl", logged("q", filtered_resps="B"))
    saved = read_responses(one)
    assert saved.find("one", "q") == "B"
    # Two models are not mixed.
    for model in ("this", "that"):
        write(two / model / "20261101_samples_one.jsonl", logged("q"))
    expected(f"{saved.note}\n{refusal(read_responses, two)}")
    write(two / "this" / "20261101_samples_two.jsonl", logged("q"))
    assert set(read_responses(two / "this").by_item) == {("one", "q"), ("two", "q")}
    # The parts of a launch are left to the run that they were merged into.
    write(three / "m" / "20261102_samples_one.jsonl", logged("q"), logged("r"))
    write(three / "parts" / "1-of-2" / "m" / "20261102_samples_one.jsonl", logged("q"))
    write(three / "parts" / "launch.json", {})
    assert set(read_responses(three).by_item) == {("one", "q"), ("one", "r")}
