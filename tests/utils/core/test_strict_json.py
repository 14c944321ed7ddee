from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.forms import read_json, read_released_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**200), 10**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_json_has_is_read(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NaN", "NaN, which JSON does not have"),
        ('{"a": [-Infinity]}', "-Infinity, which JSON does not have"),
        ('{"a": 1, "b": {"a": 1, "a": 2}}', "the field `a` twice"),
        ("{} {}", "text after the value from character 4 on"),
        ('{"a": 1', "no JSON from character 8 on"),
        ("", "no JSON from character 1 on"),
        ("1" * 301, "a number of 301 digits"),
        ("[" * 1_000_000, "values nested too deeply"),
    ],
)
def test_what_json_has_not_is_said(text: str, found: str) -> None:
    with pytest.raises(ValueError, match=r"^") as refused:
        read_json(text)
    assert str(refused.value) == found


@given(st.text())
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        read_json(text)
    except ValueError as error:
        assert str(error)


@pytest.mark.parametrize("text", ['"\\ud83d\\ude00"', '["é", NaN, 1e400]', '{"a": 1, "a": 2}', '"\\\\ud800"'])
def test_a_release_may_hold_what_python_reads(text: str) -> None:
    assert repr(read_released_json(f"\ufeff{text}".encode())) == repr(json.loads(text))


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\uDFFF": 1}', '["\\ude00\\ud83d"]', "[" * 100_000, "[", b"\xff"])
def test_a_release_holds_no_lone_surrogate(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"surrogate|deeply|Expecting|utf-8"):
        read_released_json(text)
