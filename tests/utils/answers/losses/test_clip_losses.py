"""Losses of clips: what is read as some, and which clip has the lowest."""

from __future__ import annotations

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.utils.answers.losses import (
    NON_FINITE,
    TIE,
    ClipLosses,
    guess_losses,
    lowest_clip,
    read_clip_losses,
)
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

LOSSES = st.lists(st.floats(allow_nan=True), min_size=1, max_size=5)


@given(LOSSES)
def test_what_a_model_writes_is_read_the_same(losses: list[float]) -> None:
    for text in (json.dumps({"losses": losses}), ClipLosses(losses=losses).to_json()):
        read = read_clip_losses(text, len(losses))
        assert read is not None and read.losses is not None
        assert [str(one) for one in read.losses] == [str(one) for one in losses]
        assert read_clip_losses(text, len(losses) + 1) is None


OTHERS = (
    None, 7, "", "The second clip.", "[0.1, 0.2]", '{"losses": 0.1}', '{"losses": []}', '{"losses": [true, 1]}',
    '{"losses": ["0.1", 0.2]}', '{"losses": [[0.1], 0.2]}', '{"losses": [null, 0.2]}',
    '{"losses": [0.1, 0.2], "more": 1}', '{"losses": null}',
    '{"losses": [0.1, 0.2], "error": {"kind": "failed", "message": "?"}}', '{"losses": [0.1, 0.2], "timesteps": [1]}',
    '{"losses": [0.1, 0.2], "curves": [[1], [2]]}',
    '{"losses": [0.1, 0.2], "timesteps": [1], "curves": [[1], [1, 2]]}',
    '{"losses": [0.1, 0.2], "timesteps": [NaN], "curves": [[1], [2]]}', '{"losses": [1' + "0" * 400 + ", 0.2]}",
    "[" * 10_000,
)  # fmt: skip


def test_anything_else_is_none() -> None:
    assert [read_clip_losses(text, 2) for text in OTHERS] == [None] * len(OTHERS)


@settings(max_examples=50)
@given(st.text() | st.binary() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_nothing_raises(text: object) -> None:
    read_clip_losses(text, 2)


def test_an_error_stands_in_place_of_losses() -> None:
    read = read_clip_losses('{"error": {"kind": "unequal_clips", "message": "24 and 12 frames"}}', 2)
    assert read is not None and read.error is not None and read.losses is None
    assert UnscoredReason.of_error(read.error.kind) is UnscoredReason.UNEQUAL_CLIPS
    assert UnscoredReason.of_error("odd") is UnscoredReason.FAILED


@given(st.lists(st.floats(allow_nan=True), min_size=2, max_size=5))
def test_exchanging_clips_exchanges_the_lowest(losses: list[float]) -> None:
    there, back = lowest_clip(losses), lowest_clip(losses[::-1])
    if there in (TIE, NON_FINITE):
        assert back == there
        assert there == (TIE if all(map(math.isfinite, losses)) else NON_FINITE)
    else:
        assert "ABCDE".index(there) + "ABCDE".index(back) == len(losses) - 1
        assert losses["ABCDE".index(there)] == min(losses)


def test_each_guess_has_another_clip_lowest() -> None:
    for clips in (1, 2, 4):
        read = [read_clip_losses(guess, clips) for guess in guess_losses(clips)]
        assert [lowest_clip(one.losses) for one in read if one and one.losses] == list("ABCD"[:clips])


def test_a_name_is_the_settings_own() -> None:
    answer = ClipLosses(losses=[1.0], settings={"model": "a", "seed": 0}).named("b")
    assert answer.settings == {"model": "b", "seed": 0} and answer.losses == [1.0]
