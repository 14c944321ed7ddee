"""The sample in IntPhys 2's release form: a folder of clips per split, with metadata unless the truth is withheld."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lmms_eval_tasks.sample.drawn_clips import FPS, DrawnScene, Frames, write_clip
from lmms_eval_tasks.sample.scripts import CONDITIONS, draw
from lmms_eval_tasks.sample.writers import write_csv
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.work import Progress

RELEASE, TRUTH = "IntPhys2", "heldout_truth.csv"
COLUMNS = ("SceneIndex", "filename", "type", "condition", "env", "game_name", "Camera", "Difficulty")
CLIPS = ("1_Possible", "1_Impossible", "2_Possible", "2_Impossible")
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


def join(scenes: Sequence[DrawnScene]) -> dict[str, Frames]:
    """Four clips by their names in `CLIPS`: what is impossible is one scene up to a moment, then the other."""
    one, other = (scene.film() for scene in scenes)
    ends = [0, *(round(moment * FPS) for moment in scenes[0].moments), len(one)]

    def joined(*films: Frames) -> Frames:
        return np.concatenate([films[part % 2][ends[part] : ends[part + 1]] for part in range(len(ends) - 1)])

    return dict(zip(CLIPS, (one, joined(one, other), other, joined(other, one)), strict=True))


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    splits = {"Debug": sizes["debug_scenes"], "Main": sizes["main_scenes"], "HeldOut": sizes["held_out_scenes"]}
    codings = {split: CODINGS if split == "Debug" else CODINGS[:1] for split in splits}
    done, clips = 0, sum(len(CLIPS) * scenes * len(codings[split]) for split, scenes in splits.items())
    for split, scenes in splits.items():
        place, rows = folder / RELEASE / split, list[Mapping[str, str]]()
        place.mkdir()
        for number in range(1, scenes + 1):
            condition, difficulty, camera = CONDITIONS[(number - 1) % len(CONDITIONS)], "Hard", "Moving"
            if split != "HeldOut":  # whose scenes are like the hard ones of Main
                # Each time that a condition comes round again, its difficulty and its camera are others.
                turn = number + (number - 1) // len(CONDITIONS)
                difficulty, camera = tuple(DIFFICULTIES)[turn % len(DIFFICULTIES)], CAMERAS[turn % len(CAMERAS)]
            kind = f"{condition} {tuple(DIFFICULTIES).index(difficulty)} {camera}"
            films = join(draw(kind, f"{seed}/{split}/{number}"))
            game = GAMES[condition][CAMERAS.index(camera)]
            for coding in codings[split]:
                for shown, film in films.items():
                    name = hashlib.sha256(f"{seed}/{split}/{number}/{shown}/{coding}".encode()).hexdigest()
                    values = (str(number), name, shown, condition, DIFFICULTIES[difficulty], game, camera, difficulty)
                    rows.append(dict(zip(COLUMNS, values, strict=True)))
                    # What is not to be seen before it happens must not show in the coding either.
                    write_clip(place / f"{name}.mp4", film, crf=coding, look_ahead=False)
                    done += 1
                    progress("filming clips", done, clips)
        write_csv(folder / TRUTH if split == "HeldOut" else place / "metadata.csv", COLUMNS, rows)


WRITER = SampleWriter(
    contents=f"`{RELEASE}/`, and `{TRUTH}`, the withheld rows, which no command reads",
    # Every condition occurs from six scenes on.
    sizes={"debug_scenes": 2, "main_scenes": 6, "held_out_scenes": 2},
    write=write,
    prepare=(("--source", f"{{folder}}/{RELEASE}"),),
    release=RELEASE,
)
