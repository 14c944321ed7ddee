"""The sample in MVP's release format: a local snapshot of the hub dataset, and a folder of videos per source."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from lmms_eval_tasks.sample.drawn_clips import DrawnScene, write_clips
from lmms_eval_tasks.sample.scripts import draw
from lmms_eval_tasks.sample.writers import ROLES
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import Progress

SNAPSHOT, VIDEOS, BUILD = "snapshot", "videos", "build"
COLUMNS = ("video_id", "video_path", "question", "answer", "candidates", "source")
# Subset to the kinds of scenes that take turns in it, each with the official source in whose place it stands.
FAMILIES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "human_object_interactions": (("pt", "in_or_out"), ("ssv2", "in_or_out")),
    "robot_object_interactions": (("language_table", "in_or_out"),),
    "intuitive_physics": (
        ("intphys", "vanishes_or_not"),
        ("inflevel", "vanishes_or_not"),
        ("grasp", "falls_or_hovers"),
        ("clevrer", "who_hits_whom"),
    ),
    "temporal_reasoning": (("star", "who_hits_whom"), ("vinoground", "who_hits_whom")),
}
ASKED = "intuitive_physics"
"""The subset whose clips are annotated with a question of their source."""
_CONFIG = f"""\
annotations: [annotations.jsonl]
videos: ../{VIDEOS}
# Drawn, so that the clips of a pair lie near each other; `mine embed` makes them from what is seen.
embeddings: clips.parquet
{ROLES}"""

Row = Mapping[str, str]


def draw_subset(
    seed: int, name: str, mini_pairs: int, full_pairs: int
) -> tuple[dict[str, list[Row]], dict[str, DrawnScene]]:
    """Draw `full_pairs` pairs of a configuration, of which the first `mini_pairs` are the mini split."""
    rng, drawn, scenes = random.Random(f"{seed}/mvp/{name}"), list[list[Row]](), dict[str, DrawnScene]()
    numbers = rng.sample(range(1, 10_000), full_pairs)
    # Either answer is the first candidate as often as the other.
    turns = rng.sample([1 - 2 * (number % 2) for number in range(full_pairs)], full_pairs)
    for index, number in enumerate(numbers):
        source, kind = FAMILIES[name][index % len(FAMILIES[name])]
        both, stem = draw(kind, f"{seed}/{name}/{index}"), f"{source}_{number:04d}"
        candidates = str([scene.questions[0].answer for scene in both[:: turns[index]]])
        drawn.append([])
        for place, scene in enumerate(rng.sample(both, 2), 1):
            path, (asked,) = f"{source}/{stem}_{place}.mp4", scene.questions
            scenes[path] = scene
            row = (f"{stem}_{place}", path, asked.text, asked.answer, candidates, source)
            drawn[-1].append(dict(zip(COLUMNS, row, strict=True)))
    splits = dict[str, list[Row]]()
    for split, size in (("mini", mini_pairs), ("full", full_pairs)):
        pairs = rng.sample(drawn[:size], size)
        # Each second member follows another pair's first, so that no pair's members stand side by side.
        splits[split] = [pair[member] for member in range(2) for pair in pairs]
    return splits, scenes


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    drawn = {name: draw_subset(seed, name, sizes["mini_pairs"], sizes["full_pairs"]) for name in FAMILIES}
    card = ["---", "configs:"]
    for name, (splits, _) in drawn.items():
        card += [f"- config_name: {name}", "  data_files:"]
        for split, rows in splits.items():
            path = folder / SNAPSHOT / name / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
            card += [f"  - split: {split}", f"    path: {name}/{split}-*.parquet"]
    card += ["---", "", "Drawn sample data in the form of `facebook/minimal_video_pairs`; not the benchmark.", ""]
    (folder / SNAPSHOT / "README.md").write_text("\n".join(card), encoding="utf-8")
    _write_sources(folder / BUILD, {name: splits["mini"] for name, (splits, _) in drawn.items()})
    write_clips({folder / VIDEOS / path: one for _, scenes in drawn.values() for path, one in scenes.items()}, progress)


def _write_sources(folder: Path, subsets: Mapping[str, Sequence[Row]]) -> None:
    """Write what a set can be built from: what sources say of each clip, and a vector for it."""
    pairs = defaultdict[tuple[str, str], list[Row]](list)
    for category, rows in subsets.items():
        for row in rows:
            pairs[category, row["video_id"].rpartition("_")[0]].append(row)
    lines, vectors, chance = list[dict[str, Any]](), list[dict[str, Any]](), np.random.default_rng(0)
    for number, ((category, _), both) in enumerate(pairs.items()):
        centre, options = chance.normal(size=16), sorted(one["answer"] for one in both)
        for place, row in zip("ab", both, strict=True):
            question, answer, clip = row["question"], row["answer"], row["video_path"]
            line: dict[str, Any] = {"id": f"{number:02}{place}", "clip": clip, "source": row["source"]}
            line["category"] = category
            if category == ASKED:
                line |= {"question": question, "answer": answer} | ({"options": options} if number % 2 else {})
            else:
                # What a source would note of a clip, where it has no question.
                note = f"{answer}. Asked for, of take {number}: {question.removesuffix('?')}"
                line["caption" if number % 2 else "label"] = note
            lines.append(line)
            vectors.append({"clip": clip, "embedding": centre + 0.01 * chance.normal(size=16)})
    write_file(folder / "build.yaml", _CONFIG)
    write_file(folder / "annotations.jsonl", as_lines(lines))
    schema = pyarrow.schema({"clip": pyarrow.string(), "embedding": pyarrow.list_(pyarrow.float32())})
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(vectors, schema), folder / "clips.parquet")


WRITER = SampleWriter(
    contents=f"`{SNAPSHOT}/` (annotations), `{VIDEOS}/`, and `{BUILD}/`, from which a set can be built",
    # All kinds of intuitive physics occur from four mini pairs on.
    sizes={"mini_pairs": 6, "full_pairs": 8},
    write=write,
    prepare=tuple(
        ("--source", f"{{folder}}/{SNAPSHOT}", "--videos", f"{{folder}}/{VIDEOS}", "--split", split)
        for split in ("mini", "full")
    ),
    release=SNAPSHOT,
)
