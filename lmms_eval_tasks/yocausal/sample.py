"""Sample data in the form of the release: clips with a cause in them and clips without, each with its reversal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lmms_eval_tasks.api import Progress, SampleWriter
from lmms_eval_tasks.sample.drawn_clips import FPS, HEIGHT, WIDTH, write_clip
from lmms_eval_tasks.sample.files import Rows, write_json
from lmms_eval_tasks.sample.scripts import draw

# Category to whether it is causal, the kind of scene, and what it shows.
_CATEGORIES = {
    "hit": (True, "who_hits_whom", "The {} and the {} are on a table, and one pushes the other away."),
    "fall": (True, "falls_or_hovers", "The {} rolls off a ledge and falls."),
    "roll": (False, "vanishes_or_not", "The {} rolls past a board."),
    "pass": (False, "vanishes_or_not", "A board hides the {} for a while."),
}
# Subset to the source in whose place it stands and the categories that take turns in it.
_SUBSETS = {
    "animal": ("Animal Kingdom", ("fall", "roll")),
    "general": ("Moments in Time", ("hit", "pass", "fall", "roll")),
    "human": ("Kinetics-400", ("hit", "pass")),
    "physics": ("Physics-IQ", ("hit", "roll", "fall", "pass")),
}


def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    pairs = sizes["pairs"]
    for subset, (name, (source, categories)) in enumerate(_SUBSETS.items()):
        place, entries = folder / "subset" / name, Rows()
        for number in range(1, pairs + 1):
            category, file = categories[(number - 1) % len(categories)], f"{name}_{number:04d}.mp4"
            causal, kind, caption = _CATEGORIES[category]
            scene = draw(kind, f"{seed}/{name}/{number}")[0]
            film = scene.film()
            write_clip(place / "fwd" / file, film)
            write_clip(place / "bwd" / file, film[::-1])
            progress("filming clips and their reversals", subset * pairs + number, len(_SUBSETS) * pairs)
            entries.append(
                {
                    "id": number,
                    "video_path_forward": f"{name}/fwd/{file}",
                    "video_path_backward": f"{name}/bwd/{file}",
                    "prompt": caption.format(*(body.name for body in scene.bodies)),
                    "dataset_source": source,
                    "category": category,
                    "meta": {"fps": FPS, "resolution": [WIDTH, HEIGHT], "total_frames": scene.frames},
                    "vlm_causality": causal,
                    "human_discriminable": causal,
                }
            )
        write_json(place / "dataset_metadata.json", entries)


SAMPLE = SampleWriter(
    contents="metadata and clips of four subsets below `subset/`",
    sizes={"pairs": 4},
    write=write_release,
)
