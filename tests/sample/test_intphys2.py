"""Scenes of four clips: what is impossible in them shows in no frame, and not in the first second."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lmms_eval_tasks.intphys2.card import CAMERA_OF, DIFFICULTY_OF
from lmms_eval_tasks.sample.drawn_clips import FPS, GROUND, REACH
from lmms_eval_tasks.sample.scripts import CONDITIONS, draw
from lmms_eval_tasks.sample.solver import CANNOT_TELL, decode, solve, solve_frames
from lmms_eval_tasks.sample.writers.intphys2 import CAMERAS, CLIPS, COLUMNS, DIFFICULTIES, RELEASE, TRUTH, join
from lmms_eval_tasks.utils.data.clips import write_placeholder

QUESTION = "Is what this video shows physically possible?"
SEEDS = range(3)
SAID = {name: "Yes." if name.endswith("_Possible") else "No." for name in CLIPS}

Rows = list[dict[str, str]]


def read_split(sample: Path, split: str) -> Rows:
    folder = sample / "intphys2"
    path = folder / TRUTH if split == "HeldOut" else folder / RELEASE / split / "metadata.csv"
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def clip(sample: Path, split: str, row: dict[str, str]) -> Path:
    return sample / "intphys2" / RELEASE / split / f"{row['filename']}.mp4"


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_impossible_shows_in_no_frame_and_at_neither_end(condition: str, seed: int) -> None:
    scenes = draw(f"{condition} {seed % 3} Fixed", str(seed))
    films = join(scenes)
    assert tuple(films) == CLIPS
    possible = {frame.tobytes() for name in ("1_Possible", "2_Possible") for frame in films[name]}
    for number, other in (("1", "2"), ("2", "1")):
        true, false = films[f"{number}_Possible"], films[f"{number}_Impossible"]
        assert true.shape == false.shape and not np.array_equal(true, false)
        assert {frame.tobytes() for frame in false} <= possible
        assert np.array_equal(true[:FPS], false[:FPS])
        ends = [film[-FPS // 2 :] for film in (true, films[f"{other}_Possible"])]
        assert np.array_equal(false[-FPS // 2 :], ends[len(scenes[0].moments) % 2])


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_clip_is_joined_where_nothing_but_the_code_tells_the_scenes_apart(condition: str, seed: int) -> None:
    scenes = draw(f"{condition} {seed % 3} Moving", str(seed))
    one, other = (scene.film()[:, :GROUND] for scene in scenes)
    for moment in scenes[0].moments:
        cut = round(moment * FPS)
        assert np.array_equal(one[cut - 1 : cut + 1], other[cut - 1 : cut + 1])
        # Between a cut and the next, or the end, they differ.
        assert not np.array_equal(one[cut:], other[cut:])


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("camera", CAMERAS)
def test_frames_alone_tell_what_is_possible(condition: str, camera: str) -> None:
    for seed in range(4):
        films = join(draw(f"{condition} {seed % 3} {camera}", f"told {seed}"))
        assert {name: solve_frames(QUESTION, (), film) for name, film in films.items()} == SAID, seed


def test_a_moving_camera_shows_the_scene_from_places_of_its_own() -> None:
    scene = draw("permanence 0 Moving", "0")[1]
    places = [scene.pan(frame) for frame in range(scene.frames)]
    # It begins in the middle, gets as far as it can on both sides, and jumps nowhere.
    assert places[0] == 0 and (min(places), max(places)) == (-REACH, REACH)
    assert set(np.abs(np.diff(places))) <= {0, 1, 2}
    still, film = replace(scene, camera_moves=False).film(), scene.film()
    for place, one, other in zip(places, still, film, strict=True):
        assert np.array_equal(np.roll(one[60:GROUND], place, axis=1)[:, REACH:-REACH], other[60:GROUND, REACH:-REACH])


@pytest.mark.slow
@pytest.mark.parametrize("split", ["Debug", "Main", "HeldOut"])
def test_the_solver_is_right_on_all(sample: Path, split: str) -> None:
    rows = read_split(sample, split)
    assert rows and {row["filename"]: solve(QUESTION, (), clip(sample, split, row)) for row in rows} == {
        row["filename"]: SAID[row["type"]] for row in rows
    }


@pytest.mark.slow
def test_the_solver_makes_nothing_of_a_still_frame_or_the_first_second(sample: Path) -> None:
    for row in read_split(sample, "Main"):
        frames = decode(clip(sample, "Main", row))
        assert all(solve_frames(QUESTION, (), frames[[k]]) == CANNOT_TELL for k in (0, len(frames) // 2, -1))
        assert solve_frames(QUESTION, (), frames[:FPS]) == CANNOT_TELL


@pytest.mark.slow
@pytest.mark.parametrize("split", ["Debug", "Main", "HeldOut"])
def test_no_model_is_told_anything_by_the_first_second(sample: Path, split: str) -> None:
    """Of the clips as they are coded, the first second of a pair is the same to the bit: what is made of the one is
    made of the other, so that half of the clips are right and no pair is."""
    pairs: dict[tuple[str, str, int], list[bytes]] = {}
    codings: Counter[tuple[str, str]] = Counter()
    for row in read_split(sample, split):
        clip_of = row["SceneIndex"], row["type"]
        codings[clip_of] += 1
        frames = decode(clip(sample, split, row))
        assert len(frames) > 2 * FPS
        pair = row["SceneIndex"], row["type"][0], codings[clip_of]
        pairs.setdefault(pair, []).append(frames[:FPS].tobytes())
    assert pairs and all(len(first) == 2 and first[0] == first[1] for first in pairs.values())


@pytest.mark.slow
def test_metadata(sample: Path) -> None:
    for split, scenes, codings in (("Debug", 2, 3), ("Main", 6, 1), ("HeldOut", 2, 1)):
        rows = read_split(sample, split)
        assert tuple(rows[0]) == COLUMNS
        counts = Counter((row["SceneIndex"], row["type"]) for row in rows)
        assert counts == {(str(scene), kind): codings for scene in range(1, scenes + 1) for kind in CLIPS}
        assert all(len({row["condition"] for row in rows if row["SceneIndex"] == scene}) == 1 for scene, _ in counts)
        clips = {path.stem for path in (sample / "intphys2" / RELEASE / split).glob("*.mp4")}
        assert clips == {row["filename"] for row in rows} and len(clips) == len(rows)
        assert all(len(name) == 64 and not set(name) - set("0123456789abcdef") for name in clips)
    main = read_split(sample, "Main")
    assert {row["condition"] for row in main} == set(CONDITIONS)
    assert {row["Difficulty"] for row in main} == set(DIFFICULTIES)
    assert {row["Camera"] for row in main} == set(CAMERAS)
    for split in ("Debug", "Main", "HeldOut"):
        for row in read_split(sample, split):
            assert CAMERA_OF[row["game_name"]] == row["Camera"].lower()
            assert DIFFICULTY_OF[row["env"]] == row["Difficulty"].lower()
    assert {(row["Camera"], row["Difficulty"]) for row in read_split(sample, "HeldOut")} == {("Moving", "Hard")}
    assert not list((sample / "intphys2" / RELEASE / "HeldOut").glob("*.csv"))


@pytest.mark.slow
def test_the_codings_of_a_clip_of_debug_differ(sample: Path) -> None:
    codings: dict[tuple[str, str], list[int]] = {}
    for row in read_split(sample, "Debug"):
        size = clip(sample, "Debug", row).stat().st_size
        codings.setdefault((row["SceneIndex"], row["type"]), []).append(size)
    assert all(sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 3 for sizes in codings.values())


def test_a_clip_without_a_code_is_not_judged(tmp_path: Path) -> None:
    write_placeholder(tmp_path / "black.mp4")
    assert solve(QUESTION, (), tmp_path / "black.mp4") == CANNOT_TELL
