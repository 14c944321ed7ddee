"""Clips, tracks and truth for a build of CaST-Bench's kind, all from the sample world, with faults planted."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lmms_eval_tasks.sample.drawn_clips import FPS, write_clip
from lmms_eval_tasks.sample.scripts import DrawnScene, draw
from lmms_eval_tasks.sample.writers.cast_bench import draw_release, tracks_of
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK

Frames = NDArray[np.uint8]

SEED = 3
GHOSTS = ("brief", "wordy", "mute", "broken", "endless", "untimely")
"""Instances that are tracked and not in the picture; each but the first makes its describer fail in one way."""
FAULTS = (
    *("unseen", "thing", "verbose", "seven", "late", "typeless", "stranger", "beyond", "leaked", "again", "bare"),
    *("marked", "numbered", "synonym", "lengthy", "naming", "equal", "malformed", "refused", "held"),
    *("longer", "apart", "both", "reworded", "labelled", "twin", "guessable", "cue"),
)
CUE = 12
"""Pixels of a side of the planted cue."""


@dataclass
class BuildWorld:
    """What a build begins with, and what is true.

    Attributes:
        folder: Holds `clips` and `tracks`.
        truth: Released rows of the sample world, by clip.
        names: Names of the instances, by clip and id.
        faults: Planted faults of questions, by clip.
        last: Last second, by clip.
    """

    folder: Path
    truth: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)

    def add(self, stem: str, frames: Frames, tracks: Mapping[str, Mapping[int, Sequence[int]]]) -> None:
        """Write a clip and its tracks: boxes by name and second."""
        (self.folder / "clips").mkdir(parents=True, exist_ok=True)
        (self.folder / "tracks").mkdir(exist_ok=True)
        write_clip(self.folder / "clips" / f"{stem}.mp4", frames)
        self.last[stem] = last = (len(frames) - 1) // FPS
        self.names[stem] = {f"drawn_instance_{number:03d}": name for number, name in enumerate(tracks)}
        instances = [
            {
                "id": key,
                "name": name,
                "boxes": {str(second): list(box) for second, box in tracks[name].items() if second <= last},
            }
            for key, name in self.names[stem].items()
        ]
        (self.folder / "tracks" / f"{stem}.json").write_text(json.dumps({"instances": instances}))

    def save(self) -> None:
        """Write all but the clips and tracks beside them."""
        facts = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "folder"}
        (self.folder / "world.json").write_text(json.dumps(facts))

    @classmethod
    def load(cls, folder: Path) -> BuildWorld:
        """What was saved."""
        return cls(folder, **json.loads((folder / "world.json").read_text()))

    def only(self, stem: str, folder: Path) -> BuildWorld:
        """One clip of it, without ghosts and faults."""
        made = BuildWorld(folder, truth={stem: self.truth[stem]}, faults={stem: []}, last={stem: self.last[stem]})
        made.names[stem] = {key: name for key, name in self.names[stem].items() if name.split()[0] not in GHOSTS}
        for name in (f"clips/{stem}.mp4", f"tracks/{stem}.json", SAMPLE_MARK):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((self.folder / name).read_bytes())
        tracks = json.loads((folder / "tracks" / f"{stem}.json").read_text())
        tracks["instances"] = [one for one in tracks["instances"] if one["id"] in made.names[stem]]
        (folder / "tracks" / f"{stem}.json").write_text(json.dumps(tracks))
        return made

    def config(self, url: str, folder: Path, silence: float = 60.0, **values: Any) -> Path:
        """The configuration of a build in which one server plays all roles, and may be silent for some seconds."""
        role = {"provider": "local", "model": "m", "url": url, "first_delay": 0.0, "requests": 3, "unreadable": 2}
        paths = {name: str(self.folder / name) for name in ("clips", "tracks")}
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "build.yaml"
        # The writer of text distractors is the one that is silent about a question.
        roles = {"default": role, "text_distractor": {**role, "timeout": silence}}
        path.write_text(json.dumps({"roles": roles, "tries": 2, **paths, **values}))
        return path


def planted_world(folder: Path) -> BuildWorld:
    """A clip of each family, and clips that are cut, shaken, blurred, idle, empty or hold a cue; faults everywhere."""
    world = BuildWorld(folder)
    rows, scenes = draw_release(SEED, 1)
    for number, (video, scene) in enumerate(scenes.items()):
        ghosts = GHOSTS if number == 0 else ()
        _add_scene(world, video.removesuffix(".mp4"), scene, rows, ghosts)
    rng = random.Random(SEED)
    frames, tracks = _film(draw("why", str(SEED))[0])
    middle = len(frames) // 2
    world.add("cut", np.concatenate([frames[:middle], 255 - frames[middle:]]), tracks)
    steps = [(rng.randint(-6, 6), rng.randint(-6, 6)) for _ in frames]
    shaken = [np.roll(frame, step, axis=(0, 1)) for frame, step in zip(frames, steps, strict=True)]
    world.add("shaken", np.stack(shaken), tracks)
    world.add("blurred", ndimage.gaussian_filter(frames, (0, 6, 6, 0)), tracks)
    world.add("lone", frames[: 3 * FPS], dict(list(tracks.items())[:1]))
    world.add("idle", frames[: 3 * FPS], tracks)
    (world.folder / "clips" / "unreadable.mp4").write_bytes(b"no video")
    (world.folder / "tracks" / "unreadable.json").write_text((world.folder / "tracks" / "idle.json").read_text())
    cued = frames.copy()
    # The colour of the cause, in the corner: who sees it need not look at what happens.
    x1, y1, _, y2 = tracks[next(iter(tracks))][0]
    cued[:, :CUE, :CUE] = frames[0, (y1 + y2) // 2, x1 + 3]
    world.add("cued", cued, tracks)
    world.faults["cued"] = []
    world.truth["cued"] = []
    waiting = [fault for fault in FAULTS if fault != "cue"]
    for stem, truth in world.truth.items():
        room = 6 - len(truth) - (stem == "cued")
        world.faults[stem] = [*waiting[:room], *(["cue"] if stem == "cued" else [])]
        del waiting[:room]
    assert not waiting
    (world.folder / SAMPLE_MARK).write_text('{"sample": true}\n')
    world.save()
    return world


def _add_scene(
    world: BuildWorld, stem: str, scene: DrawnScene, rows: Sequence[dict[str, Any]], ghosts: Sequence[str] = ()
) -> None:
    frames, tracks = _film(scene)
    # Seen in the first two seconds only, in a corner of the table.
    world.add(stem, frames, {**tracks, **{f"{ghost} thing": dict.fromkeys((0, 1), (6, 6, 16, 16)) for ghost in ghosts}})
    world.truth[stem] = [row for row in rows if row["video"] == f"{stem}.mp4"]
    world.faults[stem] = []


def _film(scene: DrawnScene) -> tuple[Frames, dict[str, dict[int, tuple[int, ...]]]]:
    tracks = {one["name"]: {int(second): box for second, box in one["boxes"].items()} for one in tracks_of(scene)}
    return scene.film(), tracks
