"""Sample data in the form of the release: a folder of clips a split, with metadata unless the truth is withheld."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lmms_eval_tasks.api import Progress, SampleWriter
from lmms_eval_tasks.sample.drawn_clips import FPS, DrawnScene, Frames, write_clip
from lmms_eval_tasks.sample.files import Rows, write_csv
from lmms_eval_tasks.sample.scripts import CONDITIONS, draw

RELEASE, HELD_OUT_TRUTH = "IntPhys2", "heldout_truth.csv"
_COLUMNS = ("SceneIndex", "filename", "type", "condition", "env", "game_name", "Camera", "Difficulty")
QUARTET = ("1_Possible", "1_Impossible", "2_Possible", "2_Impossible")
# Difficulty to the place in whose stead it stands; each has a ball more that rolls by at the back.
_PLACES = {"Easy": "BasicLevel_0", "Medium": "SaltFlats_0", "Hard": "Egypt_0"}
# Camera to the game in whose stead it stands.
_GAMES = {"Fixed": "FixedMarryPoppins", "Moving": "MovingAroundOccluder"}


def join(scenes: Sequence[DrawnScene]) -> dict[str, Frames]:
    """Four clips by their names in `QUARTET`: what is impossible is one scene up to a moment, then the other."""
    one, other = (scene.film() for scene in scenes)
    ends = [0, *(round(moment * FPS) for moment in scenes[0].moments), len(one)]

    def joined(*films: Frames) -> Frames:
        return np.concatenate([films[part % 2][ends[part] : ends[part + 1]] for part in range(len(ends) - 1)])

    return dict(zip(QUARTET, (one, joined(one, other), other, joined(other, one)), strict=True))


def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    splits = {"Debug": sizes["debug_scenes"], "Main": sizes["main_scenes"], "HeldOut": sizes["held_out_scenes"]}
    done, clips = 0, len(QUARTET) * sum(splits.values())
    for split, scenes in splits.items():
        place, rows = folder / RELEASE / split, Rows()
        place.mkdir()
        for number in range(1, scenes + 1):
            # Each time that a condition comes round again, its difficulty and its camera are others.
            turn = number + (number - 1) // len(CONDITIONS)
            condition, level = CONDITIONS[(number - 1) % len(CONDITIONS)], turn % len(_PLACES)
            difficulty, camera = list(_PLACES)[level], list(_GAMES)[turn % len(_GAMES)]
            facts = condition, _PLACES[difficulty], _GAMES[camera], camera, difficulty
            for shown, film in join(draw(f"{condition} {level} {camera}", f"{seed}/{split}/{number}")).items():
                name = hashlib.sha256(f"{seed}/{split}/{number}/{shown}".encode()).hexdigest()
                rows.append(dict(zip(_COLUMNS, (str(number), name, shown, *facts), strict=True)))
                write_clip(place / f"{name}.mp4", film)
                done += 1
                progress("filming clips", done, clips)
        write_csv(folder / HELD_OUT_TRUTH if split == "HeldOut" else place / "metadata.csv", _COLUMNS, rows)


SAMPLE = SampleWriter(
    contents=f"`{RELEASE}/`, and `{HELD_OUT_TRUTH}`, the withheld rows, which no command reads",
    # Every condition occurs from six scenes on.
    sizes={"debug_scenes": 2, "main_scenes": 6, "held_out_scenes": 2},
    write=write_release,
    prepare=(("--source", f"{{folder}}/{RELEASE}"),),
    release=RELEASE,
)
