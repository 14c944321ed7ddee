"""Losses of clips and of their windows: what is read as some, how they combine, and which clip has the lowest."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lmms_eval_tasks.models.video_diffusion.protocol import (
    ShortClip,
    available_frames,
    centred_positions,
    choose_timesteps,
    leading_positions,
    nearest_bucket,
    noise_seed,
    plan_windows,
)
from lmms_eval_tasks.utils.answers.losses import (
    NON_FINITE,
    TIE,
    ClipLosses,
    DenoisingResponse,
    Directed,
    ItemError,
    WindowRecord,
    combine_losses,
    guess_losses,
    lowest_clip,
    read_clip_losses,
    read_denoising,
    settings_digest,
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


CURVES = '{"losses": [0.1, 0.2], "timesteps": %s, "curves": %s}'
OTHERS = (
    None, 7, "", "The second clip.", "[0.1, 0.2]", '{"losses": 0.1}', '{"losses": []}', '{"losses": [true, 1]}',
    '{"losses": ["0.1", 0.2]}', '{"losses": [[0.1], 0.2]}', '{"losses": [null, 0.2]}', '{"losses": null}',
    '{"losses": [0.1, 0.2], "more": 1}', '{"losses": [0.1, 0.2], "error": {"kind": "failed", "message": "?"}}',
    CURVES % ("[1]", "null"), CURVES % ("null", "[[1], [2]]"), CURVES % ("[1]", "[[1], [1, 2]]"),
    CURVES % ("[1]", "[[1]]"), CURVES % ("[1]", "[[1], [1], [1]]"), CURVES % ("[]", "[[], []]"),
    CURVES % ("[NaN]", "[[1], [2]]"), '{"losses": [1' + "0" * 400 + ", 0.2]}", "[" * 10_000,
)  # fmt: skip


def test_anything_else_is_none_and_an_error_stands_in_place_of_losses() -> None:
    assert [read_clip_losses(text, 2) for text in OTHERS] == [None] * len(OTHERS)
    read = read_clip_losses('{"error": {"kind": "unequal_clips", "message": "24 and 12 frames"}}', 2)
    assert read is not None and read.error is not None and read.losses is None
    assert UnscoredReason.of_error(read.error.kind) is UnscoredReason.UNEQUAL_CLIPS
    assert UnscoredReason.of_error("odd") is UnscoredReason.FAILED
    for clips in (1, 2, 4):
        guesses = [read_clip_losses(guess, clips) for guess in guess_losses(clips)]
        assert [lowest_clip(one.losses) for one in guesses if one and one.losses] == list("ABCD"[:clips])


@given(st.lists(st.floats(allow_nan=True), min_size=2, max_size=5))
def test_exchanging_clips_exchanges_the_lowest(losses: list[float]) -> None:
    there, back = lowest_clip(losses), lowest_clip(losses[::-1])
    if there in (TIE, NON_FINITE):
        assert back == there == (TIE if all(map(math.isfinite, losses)) else NON_FINITE)
    else:
        assert "ABCDE".index(there) + "ABCDE".index(back) == len(losses) - 1
        assert losses["ABCDE".index(there)] == min(losses)


@st.composite
def drawn_clips(draw: Callable[..., Any]) -> tuple[int, int, int]:
    """Frames, window and temporal compression, the clip long enough."""
    compression = draw(st.sampled_from([1, 4, 6, 8]))
    window = 1 + compression * draw(st.integers(2, 12))
    return draw(st.integers(compression + 1, 5 * window)), window, compression


def seen_frames(latent: int, compression: int) -> range:
    """Positions within a window that went into one of its latent frames."""
    return range(0, 1) if latent == 0 else range(compression * (latent - 1) + 1, compression * latent + 1)


@pytest.mark.parametrize("layout", ["filled", "context"])
@given(clip=drawn_clips())
def test_every_used_frame_counts_once_and_no_borrowed_one_does(layout: str, clip: tuple[int, int, int]) -> None:
    frames, window, compression = clip
    windows = plan_windows(frames, window, compression, layout)
    counted: list[int] = []
    for part in windows:
        length = part.stop - part.start
        assert length % compression == 1 % compression
        latents = 1 + (length - 1) // compression
        for latent in range(part.skipped, latents):
            inside = seen_frames(latent, compression)
            assert inside.start >= part.borrowed
            counted += [part.start + position for position in inside]
    assert counted == list(range(windows[-1].stop))
    assert frames - windows[-1].stop < compression
    if layout == "filled" and frames >= window:
        assert all(part.stop - part.start == window for part in windows)
    if layout == "context":
        assert all(part.borrowed >= 4 for part in windows[1:])


def test_the_wan_scripts_cut_a_clip_at_its_end_and_let_borrowed_frames_count() -> None:
    assert plan_windows(48, 81, 4, "tail")[-1].stop == 45
    assert plan_windows(100, 33, 4, "tail")[-1].stop == 97
    for frames, borrowed, leaked in ((81 + 80, 1, 1), (81 + 76, 5, 4), (81 + 74, 9, 4), (81 + 4, 77, 4)):
        last = plan_windows(frames, 81, 4, "tail")[-1]
        assert (last.borrowed, last.skipped) == (borrowed, borrowed // 4)
        inside = [position for latent in range(last.skipped, 21) for position in seen_frames(latent, 4)]
        assert sum(position < last.borrowed for position in inside) == leaked
    with pytest.raises(ShortClip, match=r"Expected at least 5 frames .*, but the clip has"):
        plan_windows(4, 13, 4, "tail")
    with pytest.raises(ValueError, match="1 more than a multiple of 4 frames, at least 5, but got 80"):
        plan_windows(100, 80, 4)


@given(st.integers(2, 400), st.floats(0.2, 6), st.data())
def test_both_directions_are_shown_the_same_pictures(frames: int, step: float, data: st.DataObject) -> None:
    most = available_frames(frames, step)
    assume(most >= 1)
    used = data.draw(st.integers(1, most))
    positions = centred_positions(frames, step, used)
    assert len(positions) == used
    assert positions == sorted(positions)
    assert positions == [frames - 1 - position for position in reversed(positions)]
    assert positions[0] >= 0 and positions[-1] <= frames - 1
    assert sum(position % 1 != 0 for position in positions) <= (used % 2 == 1 and frames % 2 == 0)


def test_samples_at_the_clips_own_rate_and_from_its_first_picture_on() -> None:
    for used, first in ((1, 0), (7, 3), (200, 99)):
        assert centred_positions(used + 2 * first, 1.0, used) == [float(p) for p in range(first, first + used)]
    leading = [leading_positions(6, 1.0), leading_positions(6, 2.0), leading_positions(3, 0.5)]
    assert leading == [[0, 1, 2, 3, 4, 5], [0, 2, 4], [0, 0, 1, 1, 2, 2]]
    assert len(leading_positions(90, 30 / 16)) == 48


def test_timesteps_are_the_official_ones_and_snapped_ones_those_of_the_training() -> None:
    assert choose_timesteps("ddpm") == (90, 181, 272, 363, 454, 545, 636, 727, 818, 909)
    assert choose_timesteps("flow") == pytest.approx([1000 * index / 11 for index in range(1, 11)])
    assert choose_timesteps("ddpm", "snapped") == (91, 182, 272, 363, 454, 545, 636, 727, 817, 908)
    level = np.arange(1, 1001) / 1000
    training = 1000 * 5 * level / (1 + 4 * level)
    chosen, targets = choose_timesteps("flow", "snapped", shift=5.0), np.linspace(training[0], training[-1], 12)[1:-1]
    nearest = [float(training[np.abs(training - target).argmin()]) for target in targets]
    assert chosen == pytest.approx(nearest)


def test_seeds_and_digests_follow_from_what_they_are_for() -> None:
    own = (5, "item", 1, 2, 3)
    others = [(6, *own[1:]), (5, "itemx", *own[2:]), (5, "item", 2, 2, 3), (5, "item", 1, 3, 3), (5, "item", 1, 2, 4)]
    assert noise_seed(*own) == noise_seed(*own)
    seeds = {noise_seed(*one) for one in (own, *others)}
    assert len(seeds) == 6 and all(0 <= seed < 2**63 for seed in seeds)
    assert settings_digest({"a": 1, "b": [2]}) == settings_digest({"b": [2], "a": 1}) != settings_digest({"a": 1})
    buckets = ((480, 832), (832, 480), (480, 720), (720, 480), (544, 960), (960, 544), (720, 1280), (1280, 720))
    for size, bucket in (((480, 832), (480, 832)), ((1280, 720), (1280, 720)), ((256, 340), (480, 720))):
        assert nearest_bucket(*size, buckets) == bucket


def test_losses_combine_by_the_rule() -> None:
    losses, latents = [[1.0, 3.0], [4.0, 8.0]], [3, 1]
    assert combine_losses(losses, latents, "latents") == pytest.approx((3 * 2 + 1 * 6) / 4)
    assert combine_losses(losses, latents, "sum") == pytest.approx(8.0)
    assert combine_losses(losses, latents, "windows") == pytest.approx(4.0)
    assert math.isnan(combine_losses([[1.0, math.nan]], [1], "latents"))


def test_an_answer_survives_its_json_even_where_it_is_not_finite() -> None:
    answer = DenoisingResponse(
        item_id="a", loss=Directed(forward=math.nan, backward=math.inf), timesteps=[500.0],
        losses=Directed(forward=[[math.nan]], backward=[[math.inf]]),
        windows=[WindowRecord(start=0, stop=5, borrowed=0, skipped=0, latents=2)],
    )  # fmt: skip
    text = answer.to_json()
    assert '"loss":{"forward":"NaN","backward":"Infinity"}' in text
    back = read_denoising(text)
    assert back is not None and back.loss is not None and back.to_json() == text
    assert math.isnan(back.loss.forward) and back.loss.backward == math.inf


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_an_error_is_an_answer_and_what_is_none_is_read_as_none(other: str) -> None:
    text = DenoisingResponse(item_id="a", error=ItemError(kind="short_clip", message="too short")).to_json()
    back = read_denoising(text)
    assert back is not None and back.error is not None and back.error.kind == "short_clip"
    for wrong in ("", "A", "[]", "null", '{"item_id": "a"}', '{"item_id": "a", "loss": 3}', None, 7, other):
        assert read_denoising(wrong) is None
    read_clip_losses(other, 2)
