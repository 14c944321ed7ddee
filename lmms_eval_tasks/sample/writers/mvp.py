"""The sample in MVP's release format: a local snapshot of the hub dataset, and a folder of videos per source."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet

from lmms_eval_tasks.sample.scenes import minimal_pairs
from lmms_eval_tasks.sample.world.scene import Scene
from lmms_eval_tasks.sample.world.video import film_scenes
from lmms_eval_tasks.utils.benchmark.sample_writer import SampleWriter
from lmms_eval_tasks.utils.core.progress import Progress

SNAPSHOT, VIDEOS = "snapshot", "videos"
COLUMNS = ("video_id", "video_path", "question", "answer", "candidates", "source")

# Subset to the families that take turns in it, each with the official source in whose place it stands.
FAMILIES: Mapping[str, tuple[tuple[str, minimal_pairs.PairFamily], ...]] = {
    "human_object_interactions": (
        ("pt", minimal_pairs.in_or_out),
        ("ssv2", minimal_pairs.push_left_or_right),
        ("ssv2", minimal_pairs.fall_or_stay),
    ),
    "robot_object_interactions": (
        ("language_table", minimal_pairs.which_goal),
        ("language_table", minimal_pairs.closer_or_farther),
    ),
    "intuitive_physics": (
        ("intphys", minimal_pairs.vanishes_or_not),
        ("inflevel", minimal_pairs.solid_or_not),
        ("grasp", minimal_pairs.falls_or_hovers),
        ("clevrer", minimal_pairs.who_hits_whom),
    ),
    "temporal_reasoning": (
        ("star", minimal_pairs.which_falls_first),
        ("vinoground", minimal_pairs.which_is_pushed_first),
    ),
}


Row = Mapping[str, str]


def draw_subset(
    seed: int, name: str, mini_pairs: int, full_pairs: int
) -> tuple[dict[str, list[Row]], dict[str, Scene]]:
    """Draw `full_pairs` pairs of a configuration, of which the first `mini_pairs` are the mini split.

    Returns:
        Rows of each split, and the scene of each clip by its path below the videos' folder.
    """
    rng = random.Random(f"{seed}/mvp/{name}")
    numbers = rng.sample(range(1, 10_000), full_pairs)
    swap = [number % 2 == 1 for number in range(full_pairs)]
    rng.shuffle(swap)
    drawn: list[list[Row]] = []
    scenes: dict[str, Scene] = {}
    for index, number in enumerate(numbers):
        source, family = FAMILIES[name][index % len(FAMILIES[name])]
        draft = family(random.Random(f"{seed}/mvp/{name}/{index}"))
        stem = f"{source}_{number:04d}"
        candidates = list(reversed(draft.answers)) if swap[index] else list(draft.answers)
        members = [0, 1]
        rng.shuffle(members)
        pair: list[Row] = []
        for place, member in enumerate(members, 1):
            path = f"{source}/{stem}_{place}.mp4"
            scenes[path] = draft.scenes[member]
            row = (f"{stem}_{place}", path, draft.question, draft.answers[member], str(candidates), source)
            pair.append(dict(zip(COLUMNS, row, strict=True)))
        drawn.append(pair)
    return {"mini": _scattered(rng, drawn[:mini_pairs]), "full": _scattered(rng, drawn)}, scenes


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the annotations as a snapshot of the hub dataset, and the clips."""
    drawn = {name: draw_subset(seed, name, sizes["mini_pairs"], sizes["full_pairs"]) for name in FAMILIES}
    _write_snapshot({name: rows for name, (rows, _) in drawn.items()}, folder / SNAPSHOT)
    scenes = {folder / VIDEOS / path: scene for _, scenes in drawn.values() for path, scene in scenes.items()}
    film_scenes(scenes, progress)


WRITER = SampleWriter(
    contents=f"`{SNAPSHOT}/` (annotations) and `{VIDEOS}/`",
    # All four families of intuitive physics occur from four mini pairs on.
    sizes={"mini_pairs": 6, "full_pairs": 9},
    write=write,
    prepare=tuple(
        ("--source", f"{{folder}}/{SNAPSHOT}", "--videos", f"{{folder}}/{VIDEOS}", "--split", split)
        for split in ("mini", "full")
    ),
    release=SNAPSHOT,
)


def _write_snapshot(subsets: Mapping[str, Mapping[str, Sequence[Row]]], folder: Path) -> None:
    """Write one parquet file per configuration and split, and the card by which `datasets` finds them."""
    card = ["---", "configs:"]
    for name, splits in subsets.items():
        card += [f"- config_name: {name}", "  data_files:"]
        for split, rows in splits.items():
            path = folder / name / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
            card += [f"  - split: {split}", f"    path: {name}/{split}-*.parquet"]
    card += ["---", "", "Simulated sample data in the form of `facebook/minimal_video_pairs`; not the benchmark.", ""]
    (folder / "README.md").write_text("\n".join(card), encoding="utf-8")


def _scattered(rng: random.Random, pairs: Sequence[Sequence[Row]]) -> list[Row]:
    """The rows of all pairs in random order with no pair's members side by side (given two pairs or more)."""
    order = list(range(len(pairs)))
    rng.shuffle(order)
    firsts = [pairs[number][0] for number in order]
    last = order[-1]
    rng.shuffle(order)
    if order[0] == last:
        order.append(order.pop(0))
    return [*firsts, *(pairs[number][1] for number in order)]
