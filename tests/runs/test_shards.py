"""How a part of a run is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.runs.run_files import Shard, parse_shard, read_shard
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import SHARD


@given(st.integers(1, 10**8), st.integers(0, 10**8))
def test_a_part_is_read_as_it_is_written(part: int, more: int) -> None:
    shard = Shard(part, part + more)
    assert parse_shard(str(shard)) == shard


@pytest.mark.parametrize(
    "text",
    ["3", "0/7", "8/7", "1/0", "-1/7", "1.0/7", "1/7/2", " 1/7", "1/7\n", "a/b", "/", "1/1000000000", "١/٧", "x"],
)
def test_what_is_no_part_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARD, text)
    with pytest.raises(InputError) as error:
        read_shard()
    assert str(error.value) == (
        f"Expected LMMS_EVAL_TASKS_SHARD to be i/N, one of N parts counted from 1, such as 3/7, but got {text!r}."
    )


@pytest.mark.parametrize(("text", "shard"), [(None, None), ("", None), ("2/3", Shard(2, 3)), ("02/3", Shard(2, 3))])
def test_the_variable(text: str | None, shard: Shard | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SHARD, raising=False)
    if text is not None:
        monkeypatch.setenv(SHARD, text)
    assert read_shard() == shard
