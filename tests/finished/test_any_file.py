"""Whatever a file holds, `validate` says what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hook_runs import FILES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.finished.submit import validate
from lmms_eval_tasks.utils.core.errors import InputError

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
    for path, got in ((tmp_path, "a folder"), (tmp_path / "missing.jsonl", "nothing")):
        with pytest.raises(InputError, match=rf"is no valid submission to .*: Expected a file, but got {got}\.$"):
            validate(benchmark, path)
