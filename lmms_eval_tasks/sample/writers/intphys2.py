"""The sample in IntPhys 2's release form: a folder of clips per split, with metadata unless the truth is withheld."""

import csv
import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.scenes.violations import FAMILIES
from lmms_eval_tasks.sample.world.camera import film_moving
from lmms_eval_tasks.sample.world.video import write_clip
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.work import Progress

RELEASE, TRUTH = "IntPhys2", "heldout_truth.csv"
COLUMNS = ("SceneIndex", "filename", "type", "condition", "env", "game_name", "Camera", "Difficulty")
CODINGS = (18, 23, 28)
"""Rate factors of the three codings of each clip of Debug; other splits have the first alone."""

# Difficulty to the place in whose stead it stands; each has a ball more that rolls by at the back.
DIFFICULTIES: Mapping[str, str] = {"Easy": "BasicLevel_0", "Medium": "SaltFlats_0", "Hard": "Egypt_0"}
CAMERAS = ("Fixed", "Moving")
# Condition to the official games in whose stead it stands, by camera.
GAMES: Mapping[str, tuple[str, str]] = {
    "permanence": ("FixedMarryPoppins", "MovingAroundOccluder"),
    "immutability": ("RotatingCup", "JailStone"),
    "immutability_texture": ("HotAirBallon", "Restaurant"),
    "continuity": ("SphereFallingDown", "PrisonCell"),
    "continuity_swap": ("SolidityFallingFlat", "Scaffoling"),
    "solidity": ("FixedJumpSolidity", "BoxSoldity"),
}

Row = Mapping[str, str]
Film = NDArray[np.uint8]


def draw_scene(seed: int, split: str, number: int, difficulty: str, camera: str) -> tuple[list[Row], dict[str, Film]]:
    """Draw a scene of four clips; conditions take turns by its number, from 1."""
    condition = tuple(FAMILIES)[(number - 1) % len(FAMILIES)]
    bystanders = tuple(DIFFICULTIES).index(difficulty)
    films = FAMILIES[condition](random.Random(f"{seed}/intphys2/{split}/{number}"), bystanders).film()
    if camera == "Moving":
        films = {kind: film_moving(film) for kind, film in films.items()}
    rows: list[Row] = []
    frames: dict[str, Film] = {}
    for coding in codings(split):
        for kind, film in films.items():
            name = hashlib.sha256(f"{seed}/{split}/{number}/{kind}/{coding}".encode()).hexdigest()
            place, game = DIFFICULTIES[difficulty], GAMES[condition][CAMERAS.index(camera)]
            values = (str(number), name, kind, condition, place, game, camera, difficulty)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
            frames[name] = film
    return rows, frames


def part_of(split: str, number: int) -> tuple[str, str]:
    """The difficulty and the camera of a scene, by its number from 1."""
    if split == "HeldOut":  # like the hard scenes of Main
        return "Hard", "Moving"
    # Each time that a condition comes round again, its difficulty and its camera are others.
    turn = number + (number - 1) // len(FAMILIES)
    return tuple(DIFFICULTIES)[turn % len(DIFFICULTIES)], CAMERAS[turn % len(CAMERAS)]


def codings(split: str) -> tuple[int, ...]:
    """The rate factors with which each clip of a split is coded."""
    return CODINGS if split == "Debug" else CODINGS[:1]


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the three splits, and the truth that the held-out one withholds."""
    splits = {"Debug": sizes["debug_scenes"], "Main": sizes["main_scenes"], "HeldOut": sizes["held_out_scenes"]}
    done, clips = 0, 4 * sum(scenes * len(codings(split)) for split, scenes in splits.items())
    for split, scenes in splits.items():
        place, rows = folder / RELEASE / split, []
        place.mkdir()
        for number in range(1, scenes + 1):
            difficulty, camera = part_of(split, number)
            drawn, films = draw_scene(seed, split, number, difficulty, camera)
            rows += drawn
            for position, (name, film) in enumerate(films.items()):
                # What is not to be seen before it happens must not show in the coding either.
                write_clip(place / f"{name}.mp4", film, crf=codings(split)[position // 4], look_ahead=False)
                done += 1
                progress("filming clips", done, clips)
        _write_csv(folder / TRUTH if split == "HeldOut" else place / "metadata.csv", rows)


WRITER = SampleWriter(
    contents=f"`{RELEASE}/`, and `{TRUTH}`, the withheld rows, which no command reads",
    # Every condition occurs from six scenes on.
    sizes={"debug_scenes": 2, "main_scenes": 6, "held_out_scenes": 2},
    write=write,
    prepare=(("--source", f"{{folder}}/{RELEASE}"),),
    release=RELEASE,
)


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
