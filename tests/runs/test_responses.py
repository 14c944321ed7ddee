import json
from pathlib import Path

import pytest

from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.record import NOT_ASKED, PredictionLines


def write(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def logged(item_id: str, **fields: object) -> dict[str, object]:
    return {"record": {"item_id": item_id, "fields": {}}, **fields}


def test_plain_lines_serve_every_task(tmp_path: Path) -> None:
    saved = read_responses(write(tmp_path / "r.jsonl", {"id": "q_0", "response": "A"}, {"id": "q_1", "response": ""}))
    assert saved.find("causalvqa_paired", "q_0") == "A"
    assert saved.find("mvp_mini_x", "q_1") == ""
    assert saved.find("causalvqa_paired", "other") is None


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"id": "q", "response": "A"})
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_responses(path).find("one", "q") == "A"


def test_a_named_task_keeps_its_responses_to_itself(tmp_path: Path) -> None:
    saved = read_responses(write(tmp_path / "r.jsonl", {"id": "q", "response": "A", "task": "one"}))
    assert saved.find("one", "q") == "A"
    assert saved.find("two", "q") is None


def test_a_folder_of_sample_logs_keeps_tasks_apart(tmp_path: Path) -> None:
    write(tmp_path / "m" / "d_samples_one.jsonl", logged("q", filtered_resps="A"))
    write(tmp_path / "m" / "d_samples_two.jsonl", logged("q", resps=[["<think>x</think>B"]], filtered_resps="B"))
    saved = read_responses(tmp_path)
    assert saved.find("one", "q") == "A"
    assert saved.find("two", "q") == "<think>x</think>B"


def test_an_item_that_was_never_asked_stays_so(tmp_path: Path) -> None:
    line = {"record": {"item_id": "q", "unscored_reason": "no clip"}, "filtered_resps": "A"}
    assert read_responses(write(tmp_path / "d_samples_one.jsonl", line)).find("one", "q") == NOT_ASKED


def test_every_bad_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"id": "q", "response": "A"}\n[1]\nnot json\n\xff\xfe\n{"id": "q", "response": "B"}\n')
    with pytest.raises(InputError) as caught:
        read_responses(path, [PredictionLines(lambda line: None, fields="a guess", options="")])
    expected = "Expected an object with id and response, or with a guess, or a line of a sample log of one of our tasks"
    assert str(caught.value) == (
        f"{path} cannot be replayed: 4 problems.\n"
        f"  r.jsonl, line 2: {expected}, but got '[1]'.\n"
        f"  r.jsonl, line 3: {expected}, but got 'not json'.\n"
        "  r.jsonl, line 4: Expected UTF-8 text, but byte 1 of the line is not.\n"
        "  r.jsonl, line 5: Expected one response per item, but q is also at r.jsonl, line 1."
    )


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_responses(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} cannot be replayed: Expected a file of responses or a folder of sample logs "
        "(*_samples_*.jsonl), but found none."
    )


def test_a_lone_surrogate_is_replaced(tmp_path: Path) -> None:
    saved = read_responses(write(tmp_path / "r.jsonl", {"id": "q", "response": "\ud800 é \U0001f600"}))
    assert saved.find("any", "q") == "? é \U0001f600"


def test_of_two_runs_in_one_folder_the_latest_is_read(tmp_path: Path) -> None:
    write(tmp_path / "20261101_samples_one.jsonl", logged("q", filtered_resps="A"))
    write(tmp_path / "20261102_samples_one.jsonl", logged("q", filtered_resps="B"))
    saved = read_responses(tmp_path)
    assert saved.find("one", "q") == "B"
    assert saved.note == (
        f"{tmp_path} holds 2 runs: 20261101_results.json, 20261102_results.json; of each task the latest whole one is "
        "replayed."
    )


def test_two_models_in_one_folder_are_not_mixed(tmp_path: Path) -> None:
    for model in ("this", "that"):
        write(tmp_path / model / "20261101_samples_one.jsonl", logged("q", filtered_resps="A"))
    with pytest.raises(InputError) as error:
        read_responses(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} holds 2 runs: that/20261101_results.json, this/20261101_results.json. One can be replayed: name "
        "its folder."
    )
    write(tmp_path / "this" / "20261101_samples_two.jsonl", logged("q", filtered_resps="A"))
    assert set(read_responses(tmp_path / "this").by_item) == {("one", "q"), ("two", "q")}


def test_the_parts_of_a_launch_are_left_to_the_run_that_they_were_merged_into(tmp_path: Path) -> None:
    write(
        tmp_path / "m" / "20261102_samples_one.jsonl", logged("q", filtered_resps="A"), logged("r", filtered_resps="B")
    )
    write(tmp_path / "parts" / "1-of-2" / "m" / "20261102_samples_one.jsonl", logged("q", filtered_resps="A"))
    write(tmp_path / "parts" / "launch.json", {})
    assert set(read_responses(tmp_path).by_item) == {("one", "q"), ("one", "r")}
