"""Scenes of four clips: what is impossible in them shows in no frame, and not in the first second."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lmms_eval_tasks.intphys2.card import CAMERA_OF, DIFFICULTY_OF
from lmms_eval_tasks.sample.drawn_clips import FPS, GROUND, REACH
from lmms_eval_tasks.sample.scripts import CONDITIONS, draw
from lmms_eval_tasks.sample.solver import CANNOT_TELL, decode, solve, solve_frames
from lmms_eval_tasks.sample.writers.intphys2 import CAMERAS, CLIPS, DIFFICULTIES, RELEASE, TRUTH, join
from lmms_eval_tasks.utils.data.clips import write_placeholder

QUESTION = "Is what this video shows physically possible?"
SAID = {name: "Yes." if name.endswith("_Possible") else "No." for name in CLIPS}
SPLITS = {"Debug": (2, 3), "Main": (6, 1), "HeldOut": (2, 1)}
"""Split to its scenes, and how often each of their clips is coded."""

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def rows(sample: Path) -> dict[str, Rows]:
    """The metadata of each split; that of HeldOut has its truth beside the release."""
    found = {}
    for split in SPLITS:
        table = TRUTH if split == "HeldOut" else f"{RELEASE}/{split}/metadata.csv"
        with (sample / "intphys2" / table).open(encoding="utf-8") as file:
            found[split] = list(csv.DictReader(file))
    return found


def clip(sample: Path, split: str, row: dict[str, str]) -> Path:
    return sample / "intphys2" / RELEASE / split / f"{row['filename']}.mp4"


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("seed", range(2))
def test_what_is_impossible_shows_in_no_frame_and_at_neither_end(condition: str, seed: int) -> None:
    scenes = draw(f"{condition} {seed} Fixed", str(seed))
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
    # A clip is joined where nothing but the code tells the scenes apart; between a cut and the next they differ.
    moving = draw(f"{condition} {seed} Moving", str(seed))
    one, two = (scene.film()[:, :GROUND] for scene in moving)
    for moment in moving[0].moments:
        cut = round(moment * FPS)
        assert np.array_equal(one[cut - 1 : cut + 1], two[cut - 1 : cut + 1])
        assert not np.array_equal(one[cut:], two[cut:])


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("camera", CAMERAS)
def test_frames_alone_tell_what_is_possible(condition: str, camera: str) -> None:
    for seed in range(3):
        films = join(draw(f"{condition} {seed} {camera}", f"told {seed}"))
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


def test_a_clip_without_a_code_is_not_judged(tmp_path: Path) -> None:
    write_placeholder(tmp_path / "black.mp4")
    assert solve(QUESTION, (), tmp_path / "black.mp4") == CANNOT_TELL


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_the_solver_is_right_on_all_and_nobody_is_by_a_frame_or_the_first_second(
    sample: Path, rows: dict[str, Rows], split: str
) -> None:
    """Of the clips as they are coded, the first second of a pair is the same to the bit: what is made of the one is
    made of the other, so that half of the clips are right and no pair is."""
    firsts: defaultdict[tuple[str, str, int], list[bytes]] = defaultdict(list)
    codings: Counter[tuple[str, str]] = Counter()
    for row in rows[split]:
        frames = decode(clip(sample, split, row))
        assert len(frames) > 2 * FPS and solve_frames(QUESTION, (), frames) == SAID[row["type"]]
        parts = [*(frames[[place]] for place in (0, len(frames) // 2, -1)), frames[:FPS]]
        assert {solve_frames(QUESTION, (), part) for part in parts} == {CANNOT_TELL}
        codings[row["SceneIndex"], row["type"]] += 1
        number = codings[row["SceneIndex"], row["type"]]
        firsts[row["SceneIndex"], row["type"][0], number].append(frames[:FPS].tobytes())
    assert firsts and all(len(pair) == 2 and pair[0] == pair[1] for pair in firsts.values())


@pytest.mark.slow
def test_metadata(sample: Path, rows: dict[str, Rows]) -> None:
    for split, (scenes, codings) in SPLITS.items():
        counts = Counter((row["SceneIndex"], row["type"]) for row in rows[split])
        assert counts == {(str(scene), kind): codings for scene in range(1, scenes + 1) for kind in CLIPS}
        assert len({(row["SceneIndex"], row["condition"]) for row in rows[split]}) == scenes
        assert len({row["filename"] for row in rows[split]}) == len(rows[split])
        for row in rows[split]:
            assert CAMERA_OF[row["game_name"]] == row["Camera"].lower()
            assert DIFFICULTY_OF[row["env"]] == row["Difficulty"].lower()
    for column, values in (("condition", CONDITIONS), ("Difficulty", DIFFICULTIES), ("Camera", CAMERAS)):
        assert {row[column] for row in rows["Main"]} == set(values)
    assert {(row["Camera"], row["Difficulty"]) for row in rows["HeldOut"]} == {("Moving", "Hard")}
    assert not list((sample / "intphys2" / RELEASE / "HeldOut").glob("*.csv"))
    # The codings of a clip of Debug are coarser and coarser.
    sizes: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows["Debug"]:
        sizes[row["SceneIndex"], row["type"]].append(clip(sample, "Debug", row).stat().st_size)
    assert all(found == sorted(found, reverse=True) and len(set(found)) == 3 for found in sizes.values())
