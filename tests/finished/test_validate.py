"""Files for leaderboards: whatever one holds, `validate` says all that is wrong with it; official ones are valid."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from hook_runs import FILES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import oracle_path

from lmms_eval_tasks.cast_bench.benchmark import prepare
from lmms_eval_tasks.finished.submit import validate
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.prepare import Preparation

PLAIN = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
BENCHMARKS = ("causalvqa", "mvp", "intphys2", "cast_bench", "yocausal")
KEYS = st.sampled_from(
    ["data_name", "task", "row_id", "model_answer", "prompt", "predict", "label", "overall_per_qa", "config", "id",
     "model_info", "eval_settings", "per_dataset_metrics", "overall_metrics", "per_video_results", "winner"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["causalvqa", "mvp", "7_0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
CONTENTS = st.binary(max_size=200) | st.lists(VALUES, max_size=4).map(
    lambda values: "\n".join(json.dumps(value) for value in values).encode()
)
ILL_MEANT = (
    b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b'{"row_id": "\\ud800"}', b"\xff\xfe", b"null", b"\x00", b"1e999",
)  # fmt: skip


def refusal(benchmark: str, content: bytes, folder: Path) -> str | None:
    """The message by which a file is refused, None where it is not; anything else that is raised is a failure."""
    path = folder / "file"
    path.write_bytes(content)
    try:
        validate(benchmark, path)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", BENCHMARKS)
@PLAIN
@given(content=CONTENTS, data=st.data())
def test_any_bytes_and_a_file_spoilt_anywhere_are_refused_in_words(
    benchmark: str, content: bytes, data: st.DataObject, world: Path, run: Path, tmp_path: Path
) -> None:
    message = refusal(benchmark, content, tmp_path)
    assert message is not None and " problem" in message.splitlines()[0]
    assert all(char.isprintable() or char == "\n" for char in message) and len(message) < 10_000
    good = (run / FILES[benchmark, ""]).read_bytes()
    start = data.draw(st.integers(0, len(good)))
    stop = data.draw(st.integers(start, min(len(good), start + 5)))
    refusal(benchmark, good[:start] + data.draw(st.binary(max_size=5)) + good[stop:], tmp_path)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_ill_meant_files_and_what_is_no_file(benchmark: str, world: Path, tmp_path: Path) -> None:
    for content in ILL_MEANT:
        message = refusal(benchmark, content, tmp_path)
        assert message is not None
        message.encode("utf-8")
    others = {"/dev/null": "something that is no file", str(tmp_path): "a folder", str(tmp_path / "none"): "nothing"}
    for path, got in others.items():
        with pytest.raises(InputError, match=rf"is no valid submission to .*: Expected a file, but got {got}\.$"):
            validate(benchmark, Path(path))


CASES = json.loads((Path(__file__).parent / "broken.json").read_text("utf-8"))


def break_file(content: bytes, edits: Sequence[Mapping[str, Any]]) -> bytes:
    """The file after the edits, in their order; it is taken for Latin-1, so that an edit can name any byte.

    Lines are counted from 1, and the entries of a list in a path from 0.
    """
    text = content.decode("latin-1")
    for edit in edits:
        lines = text.splitlines(keepends=True)
        match edit:
            case {"replace": [old, new], "line": number}:
                assert old in lines[number - 1]
                lines[number - 1] = lines[number - 1].replace(old, new, 1)
                text = "".join(lines)
            case {"replace": [old, new]}:
                assert old in text
                text = text.replace(old, new)
            case {"drop": numbers}:
                text = "".join(line for number, line in enumerate(lines, 1) if number not in numbers)
            case {"repeat": number}:
                text += lines[number - 1]
            case {"set": path} | {"delete": path}:
                value = inner = json.loads(text)
                *parents, last = path.split(".")
                for part in parents:
                    inner = inner[int(part) if isinstance(inner, list) else part]
                inner[last] = edit.get("to")
                if "delete" in edit:
                    del inner[last]
                text = json.dumps(value)
            case _:
                text = edit.get("prepend", "") + text + edit.get("append", "")
    return text.encode("latin-1")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['benchmark']}: {case['change']}")
def test_a_broken_file_is_refused(
    case: dict[str, Any],
    world: Path,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    expected: Expected,
) -> None:
    good = (run / FILES[case["benchmark"], case.get("part", "")]).read_bytes()
    monkeypatch.chdir(tmp_path)
    if not case.get("prepared", True):
        monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "empty"))
    Path("good").write_bytes(good)
    validate(case["benchmark"], Path("good"))
    Path("broken").write_bytes(break_file(good, case["edits"]))
    with pytest.raises(InputError) as refused:
        validate(case["benchmark"], Path("broken"))
    expected(str(refused.value))


ORACLE = oracle_path("cast_bench")


def test_public_predictions_and_metrics_are_valid(home: Path, tmp_path: Path) -> None:
    prepare(Preparation(), str(ORACLE / "castbench_hf.jsonl"))
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
