"""The sample in YoCausal's release format: clips with a cause in them and clips without, each with its reversal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lmms_eval_tasks.sample.drawn_clips import FPS, HEIGHT, WIDTH, Frames, write_clip
from lmms_eval_tasks.sample.scripts import DrawnScene, draw
from lmms_eval_tasks.sample.writing import write_json
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.work import Progress

CAUSAL = ("hit", "fall")
# Category to the kind of scene, and what it shows.
CATEGORIES = {
    "hit": ("who_hits_whom", "The {} and the {} are on a table, and one pushes the other away."),
    "fall": ("falls_or_hovers", "The {} rolls off a ledge and falls."),
    "roll": ("vanishes_or_not", "The {} rolls past a board."),
    "pass": ("vanishes_or_not", "A board hides the {} for a while."),
}
# Subset to the source in whose place it stands and the categories that take turns in it.
SUBSETS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "animal": ("Animal Kingdom", ("fall", "roll")),
    "general": ("Moments in Time", ("hit", "pass", "fall", "roll")),
    "human": ("Kinetics-400", ("hit", "pass")),
    "physics": ("Physics-IQ", ("hit", "roll", "fall", "pass")),
}


def draw_subset(seed: int, name: str, pairs: int) -> dict[str, tuple[Mapping[str, object], DrawnScene]]:
    """Draw one subset: each forward clip's file name to its metadata entry and its scene; ids begin at 1."""
    source, categories = SUBSETS[name]
    clips: dict[str, tuple[Mapping[str, object], DrawnScene]] = {}
    for number in range(1, pairs + 1):
        category = categories[(number - 1) % len(categories)]
        kind, caption = CATEGORIES[category]
        scene, file = draw(kind, f"{seed}/{name}/{number}")[0], f"{name}_{number:04d}.mp4"
        entry = {
            "id": number,
            "video_path_forward": f"{name}/fwd/{file}",
            "video_path_backward": f"{name}/bwd/{file}",
            "prompt": caption.format(*(body.name for body in scene.bodies)),
            "dataset_source": source,
            "category": category,
            "meta": {"fps": FPS, "resolution": [WIDTH, HEIGHT], "total_frames": scene.frames},
            "vlm_causality": category in CAUSAL,
            "human_discriminable": category in CAUSAL,
        }
        clips[file] = (entry, scene)
    return clips


def write_pair(frames: Frames, folder: Path, file: str) -> None:
    """Write a clip and its reversal below a subset's folder."""
    for side, frames_in_order in (("fwd", frames), ("bwd", frames[::-1])):
        write_clip(folder / side / file, frames_in_order)


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    for number, name in enumerate(SUBSETS):
        subset, clips = folder / "subset" / name, draw_subset(seed, name, sizes["pairs"])
        for done, (file, (_, scene)) in enumerate(clips.items(), 1):
            write_pair(scene.film(), subset, file)
            progress("filming clips and their reversals", number * len(clips) + done, len(SUBSETS) * len(clips))
        write_json(subset / "dataset_metadata.json", [entry for entry, _ in clips.values()])


WRITER = SampleWriter(
    contents="metadata and clips of four subsets below `subset/`",
    sizes={"pairs": 4},
    write=write,
)
