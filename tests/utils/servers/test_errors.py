"""What a failed request says about asking again."""

from __future__ import annotations

from email.utils import formatdate

from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.utils.servers.errors import retry_after, status_error


def test_a_wait_is_read_in_seconds_or_as_a_date() -> None:
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"Retry-After": "-3"}) == 0.0
    date = formatdate(4_102_444_800, usegmt=True)
    assert (retry_after({"retry-after": date}) or 0) > 1e9
    for silent in ({}, {"retry-after": ""}, {"retry-after": "soon"}, {"retry-after": "inf"}, {"retry-after": "nan"}):
        assert retry_after(silent) is None


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters()) | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]?\w+"))
def test_any_header_is_a_wait_or_none(text: str) -> None:
    wait = retry_after({"retry-after": text})
    assert wait is None or wait >= 0


def test_a_reason_never_quotes_a_refused_key() -> None:
    assert status_error(401, {}, "Incorrect API key provided: secret", None).reason == "key refused (401)"
