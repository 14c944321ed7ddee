"""The sample in YoCausal's release format: clips with a cause in them and clips without, each with its reversal."""

import json
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.scenes.reversible import (
    CAUSAL,
    DURATION,
    SceneFamily,
    a_break,
    a_fall,
    a_hit,
    a_pendulum,
    a_rotation,
)
from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.render import render
from lmms_eval_tasks.sample.world.scene import HEIGHT, WIDTH, DrawnScene
from lmms_eval_tasks.sample.world.video import write_clip
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.work import Progress

# Subset to the source in whose place it stands and the families that take turns in it.
SUBSETS: Mapping[str, tuple[str, tuple[SceneFamily, ...]]] = {
    "animal": ("Animal Kingdom", (a_fall, a_rotation)),
    "general": ("Moments in Time", (a_hit, a_pendulum, a_fall, a_rotation)),
    "human": ("Kinetics-400", (a_break, a_pendulum)),
    "physics": ("Physics-IQ", (a_hit, a_rotation, a_break, a_pendulum)),
}


def draw_subset(seed: int, name: str, pairs: int) -> dict[str, tuple[Mapping[str, object], DrawnScene]]:
    """Draw one subset: each forward clip's file name to its metadata entry and its scene; ids begin at 1."""
    source, families = SUBSETS[name]
    clips: dict[str, tuple[Mapping[str, object], DrawnScene]] = {}
    for number in range(1, pairs + 1):
        family = families[(number - 1) % len(families)]
        scene, caption = family(random.Random(f"{seed}/yocausal/{name}/{number}"))
        file = f"{name}_{number:04d}.mp4"
        entry = {
            "id": number,
            "video_path_forward": f"{name}/fwd/{file}",
            "video_path_backward": f"{name}/bwd/{file}",
            "prompt": caption,
            "dataset_source": source,
            "category": family.__name__.removeprefix("a_"),
            "meta": {"fps": FPS, "resolution": [WIDTH, HEIGHT], "total_frames": round(DURATION * FPS)},
            "vlm_causality": family in CAUSAL,
            "human_discriminable": family in CAUSAL,
        }
        clips[file] = (entry, scene)
    return clips


def write_pair(frames: NDArray[np.uint8], folder: Path, file: str) -> None:
    """Write a clip and its reversal below a subset's folder; frames are (T, H, W, 3) uint8 RGB."""
    for side, frames_in_order in (("fwd", frames), ("bwd", frames[::-1])):
        path = folder / side / file
        path.parent.mkdir(parents=True, exist_ok=True)
        write_clip(path, frames_in_order)


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the metadata and the clips of all subsets."""
    for number, name in enumerate(SUBSETS):
        subset = folder / "subset" / name
        clips = draw_subset(seed, name, sizes["pairs"])
        for done, (file, (_, scene)) in enumerate(clips.items(), 1):
            write_pair(render(scene)[0], subset, file)
            progress("filming clips and their reversals", number * len(clips) + done, len(SUBSETS) * len(clips))
        text = json.dumps([entry for entry, _ in clips.values()], indent=1) + "\n"
        (subset / "dataset_metadata.json").write_text(text, encoding="utf-8")


WRITER = SampleWriter(
    contents="metadata and clips of four subsets below `subset/`",
    sizes={"pairs": 4},
    write=write,
)
