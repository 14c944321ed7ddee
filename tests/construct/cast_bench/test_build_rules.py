"""The rules of a build of CaST-Bench's kind: texts, times, pictures and measures."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_clips import number_of, write_numbered
from PIL import Image
from scipy import ndimage

from lmms_eval_tasks.cast_bench.card import CATEGORIES, read_type, type_definitions
from lmms_eval_tasks.construct.cast_bench.clip_steps import (
    Picture,
    blacken,
    blur_around,
    blur_of,
    clip_images,
    crop_around,
    crop_side,
    measure_clip,
    outline,
    read_entries,
    spread_seconds,
)
from lmms_eval_tasks.construct.cast_bench.questions import length_range, near_miss_fault, wanted_types
from lmms_eval_tasks.construct.cast_bench.rows import (
    LONGEST,
    CastBenchConfig,
    ClipRow,
    holds_id,
    is_legible,
    on_one_line,
    words_of,
)
from lmms_eval_tasks.construct.engine.steps import Asking, Models
from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.data.clips import PyavFrames
from lmms_eval_tasks.utils.data.pictures import as_jpeg
from lmms_eval_tasks.utils.judge.client import UnreadableReply

LENGTH, NOTHING = "near-miss: length not within 10%", "near-miss: nothing changed"
TWO = "near-miss: more than one attribute changed"
ANSWER = "Because the camera car was blocking their path, forcing them to wait."


@pytest.mark.parametrize(
    ("near_miss", "fault"),
    [
        ("Because the silver car was blocking their path, forcing them to wait.", ""),
        ("Because the camera car was blocking their path, forcing them to run.", ""),
        ("Because the barrier arm was blocking their path, forcing them to wait.", ""),
        (ANSWER, NOTHING),
        (ANSWER.upper().rstrip("."), NOTHING),
        ("Because the silver car was blocking their way, forcing them to wait.", TWO),
        ("Because one old silver van was blocking their path, forcing them to wait", TWO),
        (ANSWER + " And then it went on.", LENGTH),
        ("Because the car was in their path, so they had to wait.", LENGTH),
    ],
)  # fmt: skip
def test_a_near_miss_is_one_stretch_of_other_words_of_like_length(near_miss: str, fault: str) -> None:
    assert near_miss_fault(near_miss, ANSWER) == fault


@settings(max_examples=50)
@given(st.integers(1, 300))
def test_the_length_of_a_near_miss_is_within_a_tenth(length: int) -> None:
    shortest, longest = length_range("x" * length)
    assert shortest == min(n for n in range(length + 1) if 10 * abs(n - length) <= length)
    assert longest == max(n for n in range(length, 2 * length + 1) if 10 * abs(n - length) <= length)


@settings(max_examples=50)
@given(st.lists(st.sampled_from(("red", "ball", "hits", "the", "blue", "block")), min_size=4, max_size=12))
def test_of_two_words_that_are_others_and_apart_no_near_miss_is_made(words: list[str]) -> None:
    text = " ".join(words)
    assert near_miss_fault(" ".join(["x" * len(words[0]), *words[1:-1], "y" * len(words[-1])]), text) == TWO
    assert near_miss_fault(" ".join([*words[:-1], "w" * len(words[-1])]), text) == ""


def test_texts_are_compared_by_their_words() -> None:
    assert holds_id(["So does manual_instance_002."], ["a", "manual_instance_002"]) and holds_id(["P1?"], ["p1"])
    assert not holds_id(["A person and manual_instance_0021."], ["a", "person", "manual_instance_002"])
    assert len(words_of("It's a well-known, two-word text.")) == 5


def test_a_legible_text_is_printable_and_not_too_long() -> None:
    assert [is_legible("x" * number) for number in (0, LONGEST, LONGEST + 1)] == [True, True, False]
    assert not is_legible("a\nb") and not is_legible("a\u200bb") and on_one_line(" a\n b\u00a0c ") == "a b c"


def test_timed_lines_are_read_up_to_their_end() -> None:
    read = read_entries("[00:00]-[00:02] It rolls.\n\n [00:03] – [00:03]: It stops. \nEND\n")
    assert [(one.start, one.end, one.text) for one in read.entries] == [
        ("00:00", "00:02", "It rolls."),
        ("00:03", "00:03", "It stops."),
    ]
    read = read_entries("<think>I can't see\nmuch.</think>\n[00:00]-[00:02] It\u00a0rolls.\nEND")
    assert [one.text for one in read.entries] == ["It rolls."]
    for text, fault in (
        ("[00:00]-[00:02] It rolls.", "missing END"),
        ("", "missing END"),
        ("END", "no timed lines"),
        ("It rolls.\nEND", "no timed lines"),
        ("[00:00]-[00:02]\nEND", "no timed lines"),
        ("I'm sorry, I cannot see it.", "refusal"),
    ):
        with pytest.raises(UnreadableReply, match=f"^{fault}: "):
            read_entries(text)


def test_questions_begin_with_types_of_every_category() -> None:
    drawn = [wanted_types(6, f"0 clip {number}") for number in range(200)]
    for wanted in drawn:
        assert len(set(wanted)) == 6 and {read_type(name).category for name in wanted} == set(CATEGORIES)
    assert {name for wanted in drawn for name in wanted} == set(type_definitions())
    assert wanted_types(6, "0 clip 1") == drawn[1] and len(wanted_types(16, "")) == 16 and len(wanted_types(2, "")) == 2


def test_seconds_are_spread_from_the_first_to_the_last() -> None:
    assert spread_seconds(range(5), 9) == [0, 1, 2, 3, 4] and spread_seconds(range(10), 4) == [0, 3, 6, 9]
    assert spread_seconds([2, 5, 9], 1) == [5]


def test_a_crop_follows_its_boxes_and_is_black_beyond_the_frame() -> None:
    picture = np.full((100, 200, 3), 50, dtype=np.uint8)
    picture[40:60, 90:110] = 200
    corner = np.full((100, 200, 3), 50, dtype=np.uint8)
    corner[:20, :20] = 200
    boxes = {0: (90, 40, 110, 60), 1: (0, 0, 20, 20), 7: (0, 0, 40, 40)}
    assert crop_side(boxes) == 60 and crop_side({0: (0, 0, 2, 2)}) == 32
    crops = [crop_around(picture, boxes[0], 60), crop_around(corner, boxes[1], 60)]
    for crop in crops:
        assert crop.shape == (60, 60, 3) and (crop[20:40, 20:40] == 200).all()
    assert (crops[0][:20] == 50).all() and (crops[1][:20] == 0).all() and (crops[1][:, :20] == 0).all()
    assert (crops[1][40:, 20:] == 50).all()


def test_an_instance_is_outlined_or_all_else_is_blurred() -> None:
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (80, 120, 3), dtype=np.uint8)
    box = (30, 20, 60, 50)
    inside = (slice(20, 50), slice(30, 60))
    outlined, blurred = outline(picture, box), blur_around(picture, box)
    assert (outlined[inside] == picture[inside]).all() and (outlined[19, 29:61] == (255, 0, 0)).all()
    assert (outlined != picture).any(axis=2).sum() == 32 * 32 - 30 * 30
    assert (blurred[inside] == picture[inside]).all()
    assert blurred[60:].std() < 0.3 * picture[60:].std()


def test_pixels_are_black_while_their_box_is() -> None:
    picture = np.full((10, 10, 3), 9, dtype=np.uint8)
    boxes = [(1, 3, (2, 2, 4, 4)), (3, 5, (0, 0, 1.5, 1))]
    assert (blacken(picture, 2, boxes) == 0).sum() == 12 and (blacken(picture, 3, boxes) == 0).sum() == 6
    assert (blacken(picture, 0, boxes) == picture).all() and (picture == 9).all()


def test_pictures_are_those_of_whole_seconds_and_no_larger_than_wanted(tmp_path: Path) -> None:
    clip = write_numbered(tmp_path / "clip.mp4", 50, (160, 120))
    numbers = {}

    def note(second: int, picture: Picture) -> Picture:
        numbers[second] = number_of(picture)
        return picture

    config = CastBenchConfig(clips=tmp_path, tracks=tmp_path, side=80)
    row = ClipRow(id="clip", clip=clip.name, width=160, height=120, last=3, instances=())
    jpegs = clip_images(row, [0, 2, 3], config, Asking(Models(config, tmp_path)), note)
    assert numbers == {0: 0, 2: 25, 3: 37}
    assert {Image.open(io.BytesIO(jpeg)).size for jpeg in jpegs} == {(80, 60)}
    picture = PyavFrames(clip).read([25])[0]
    assert jpegs[1] == as_jpeg(picture, 80) and Image.open(io.BytesIO(as_jpeg(picture, 500))).size == (160, 120)


def test_blur_grows_with_blur() -> None:
    rng = np.random.default_rng(1)
    board = ndimage.gaussian_filter(rng.random((120, 160)).astype(np.float32), 1) * 255
    blurs = [blur_of(ndimage.gaussian_filter(board, sigma)) for sigma in (0, 1, 3, 6)]
    assert blurs == sorted(blurs) and 0 <= blurs[0] < 0.35 and blurs[-1] > 0.75
    assert blur_of(np.zeros((20, 20), dtype=np.float32)) == 1.0


def test_the_blur_of_a_step_by_hand() -> None:
    """A step of 1 becomes nine of a ninth, so that eight ninths of the edge are gone."""
    down, right = np.mgrid[:30, :40] >= np.array([15, 20])[:, None, None]
    steps = down.astype(np.float32) + right
    assert blur_of(steps) == pytest.approx(1 / 9, abs=1e-5)
    assert blur_of(down.astype(np.float32)) == 1.0, "there is no edge to the right"


def patches(seed: int, size: tuple[int, int] = (120, 160)) -> Picture:
    """A picture of soft patches, which an encoder changes little."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).random(size), 4, mode="wrap")
    grey = (40 + 160 * (noise - noise.min()) / np.ptp(noise)).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


@pytest.mark.parametrize(
    ("shades", "jump"),
    [
        ([60] * 6 + [111] * 6, 51 / 255),
        # What is as large before or after it is no cut.
        ([60] * 5 + [111] + [162] * 5, 0),
        ([60] * 5 + [111] + [60] * 5, 0),
        ([60] * 5 + [162] + [111] * 5, 51 / 255),
        ([60], 0),
    ],
)
def test_the_largest_jump_by_hand(shades: list[int], jump: float, tmp_path: Path) -> None:
    frames = np.stack([np.full((120, 160, 3), shade, dtype=np.uint8) for shade in shades])
    write_clip(tmp_path / "clip.mp4", frames, fps=8)
    assert measure_clip(tmp_path / "clip.mp4").jump == pytest.approx(jump, abs=0.01)


@pytest.mark.parametrize(
    ("fps", "places", "shake"),
    [
        # Of 160 pixels eight, there and back again: a shift changes by twice as much.
        (8, [(0, 0), (0, 8)] * 6, 2 * 8 / 160),
        (8, [(0, 0), (6, 8)] * 6, 2 * 10 / 160),
        # Shifts are looked at eight times a second, and at each frame of a slower clip.
        (16, [(0, 0), (0, 8)] * 12, 0),
        (16, [(0, 0), (0, 0), (0, 8), (0, 8)] * 6, 2 * 8 / 160),
        (4, [(0, 0), (0, 8)] * 6, 2 * 8 / 160),
        # Of one shift nothing changes, and of two one.
        (8, [(0, 0), (0, 8)], 0),
        (8, [(0, 0), (0, 8), (0, 0)], 2 * 8 / 160),
        # Of five changes two are more than a quarter, and of nine they are not.
        (8, [(0, 0)] * 4 + [(0, 8)] * 3, 8 / 160),
        (8, [(0, 0)] * 6 + [(0, 8)] * 5, 0),
    ],
)
def test_a_shake_is_what_three_of_four_changes_do_not_exceed(
    fps: int, places: list[tuple[int, int]], shake: float, tmp_path: Path
) -> None:
    frames = np.stack([np.roll(patches(1), place, axis=(0, 1)) for place in places])
    write_clip(tmp_path / "clip.mp4", frames, fps=fps)
    assert measure_clip(tmp_path / "clip.mp4").shake == pytest.approx(shake, abs=0.001)


def test_a_clip_without_texture_does_not_shake(tmp_path: Path) -> None:
    grey = np.stack([np.full((64, 96, 3), 60 + step, dtype=np.uint8) for step in range(24)])
    write_clip(tmp_path / "clip.mp4", grey, fps=8)
    assert measure_clip(tmp_path / "clip.mp4").shake == 0


@pytest.mark.slow
def test_a_steady_pan_and_a_flash_are_no_faults_but_a_cut_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    scene = ndimage.gaussian_filter(rng.random((120, 600)), 2)
    scene = (255 * (scene - scene.min()) / np.ptp(scene)).astype(np.uint8)
    pan = np.stack([np.repeat(scene[:, 4 * step : 4 * step + 160, None], 3, axis=2) for step in range(48)])
    flash, cut = pan.copy(), pan.copy()
    flash[20] = 255
    cut[24:] = 255 - cut[24:]
    jerky = np.stack([np.roll(pan[0], 5 * (step % 2), axis=1) for step in range(48)])
    measured = {}
    for name, frames in {"pan": pan, "flash": flash, "cut": cut, "jerky": jerky}.items():
        write_clip(tmp_path / f"{name}.mp4", frames, fps=8)
        measured[name] = measure_clip(tmp_path / f"{name}.mp4")
    assert measured["pan"].shake <= 0.01 and measured["pan"].jump <= 0.06
    assert measured["flash"].jump <= 0.06 < measured["cut"].jump
    assert measured["cut"].shake <= 0.01 < 0.03 < measured["jerky"].shake and measured["jerky"].jump <= 0.06
