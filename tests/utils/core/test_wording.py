from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.text import quote, summarize_names


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("left", "`left`"),
        (" left\n", "`left`"),
        (None, "`null`"),
        ("a\x1b[31m\nb", r"`a\x1b[31m\nb`"),
        (["\x9b2J", "\ud800"], r'`["\x9b2J", "\ud800"]`'),
        ("a" * 60, f"`{'a' * 60}`"),
        ("a" * 61, f"`{'a' * 60}…`"),
    ],
)
def test_quoted_values(value: object, quoted: str) -> None:
    assert quote(value) == quoted


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a, b"),
        (["a", "b", "c"], "a, b, … and 1 more"),
        (range(9), "0, 1, … and 7 more"),
    ],
)
def test_the_first_two_names(names: list[str], listed: str) -> None:
    assert summarize_names(iter(names), 2) == listed


@given(names=st.lists(st.text("xyz", min_size=1)), shown=st.integers(1, 9))
def test_no_name_is_lost(names: list[str], shown: int) -> None:
    lines = summarize_names(names, shown, separator="\n").splitlines()
    rest = int(lines.pop().split()[2]) if len(names) > shown else 0
    assert lines == names[:shown] and len(lines) + rest == len(names)
