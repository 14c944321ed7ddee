"""Sample data in the form of the release: a local snapshot of the hub dataset, and a folder of videos a source."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lmms_eval_tasks.api import Progress, SampleWriter
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_tasks.sample.drawn_clips import DrawnScene, write_clips
from lmms_eval_tasks.sample.files import BUILD, BUILT_FROM, ROLES, Rows, Scenes
from lmms_eval_tasks.sample.scripts import IT_COULD, draw

# Subset to the kinds of scenes that take turns in it, each with the official source in whose place it stands.
SUBSETS: Mapping[str, tuple[tuple[str, str], ...]] = {
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
# Names of clips by which these sources tell what a clip is of; all others are named after the pair.
_CLIPS = {
    "intphys": "_O1_{index:02}_{place}",
    "inflevel": "continuity/{stem}_{place}",
    "grasp": "level2/{possible}_GravitySupport/{stem}_{place}",
}
_BUILD = f"""\
annotations: [annotations.jsonl]
videos: ../videos
# Drawn, so that the clips of a pair lie near each other; `mine embed` makes them from what is seen.
embeddings: clips.parquet
{ROLES}"""


def draw_subset(seed: int, name: str, mini_pairs: int, full_pairs: int) -> tuple[dict[str, Rows], Scenes]:
    """Draw `full_pairs` pairs of a subset, of which the first `mini_pairs` are the mini split.

    A split has the first members of its pairs, then the second ones, so that no pair's members are neighbours.
    """
    rng, drawn, scenes = random.Random(f"{seed}/mvp/{name}"), list[Rows](), Scenes()
    # Either answer is the first candidate as often as the other.
    turns = rng.sample([1 - 2 * (number % 2) for number in range(full_pairs)], full_pairs)
    for index in range(full_pairs):
        source, kind = SUBSETS[name][index % len(SUBSETS[name])]
        both, stem = draw(kind, f"{seed}/{name}/{index}"), f"{source}_{index:04d}"
        candidates = str([scene.questions[0].answer for scene in both[:: turns[index]]])
        drawn.append([])
        for place, scene in enumerate(rng.sample(both, 2), 1):
            (asked,) = scene.questions
            possible = "P" if asked.answer == IT_COULD[0] else "IP"
            named = _CLIPS.get(source, "{stem}_{place}")
            clip = f"{source}/{named.format(index=index, place=place, possible=possible, stem=stem)}.mp4"
            scenes[clip] = scene
            row = {"video_id": f"{stem}_{place}", "video_path": clip, "question": asked.text, "answer": asked.answer}
            drawn[-1].append({**row, "candidates": candidates, "source": source})
    splits = {}
    for split, size in (("mini", mini_pairs), ("full", full_pairs)):
        pairs = rng.sample(drawn[:size], size)
        splits[split] = [pair[member] for member in range(2) for pair in pairs]
    return splits, scenes


def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    import pyarrow
    import pyarrow.parquet

    snapshot, configs, clips = folder / "snapshot", Rows(), dict[Path, DrawnScene]()
    lines, vectors, chance = Rows(), Rows(), np.random.default_rng(0)
    for name in SUBSETS:
        splits, scenes = draw_subset(seed, name, sizes["mini_pairs"], sizes["full_pairs"])
        clips |= {folder / "videos" / clip: scene for clip, scene in scenes.items()}
        (snapshot / name).mkdir(parents=True)
        for split, rows in splits.items():
            file = snapshot / name / f"{split}-00000-of-00001.parquet"
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        files = [{"split": split, "path": f"{name}/{split}-*.parquet"} for split in splits]
        configs.append({"config_name": name, "data_files": files})
        # What a set can be built from: what sources say of each clip, and a vector for it.
        mini = splits["mini"]
        for both in zip(mini[: len(mini) // 2], mini[len(mini) // 2 :], strict=True):
            number, centre, options = len(lines) // 2, chance.normal(size=16), sorted(row["answer"] for row in both)
            for place, row in zip("ab", both, strict=True):
                clip, source = row["video_path"], row["source"]
                line: dict[str, Any] = {"id": f"{number:02}{place}", "clip": clip, "source": source, "category": name}
                if name == "intuitive_physics":  # whose clips are annotated with a question of their source
                    line |= {"question": row["question"], "answer": row["answer"]}
                    line |= {"options": options} if number % 2 else {}
                else:
                    # What a source would note of a clip, where it has no question.
                    note = f"{row['answer']}. Asked for, of take {number}: {row['question'].removesuffix('?')}"
                    line["caption" if number % 2 else "label"] = note
                lines.append(line)
                vectors.append({"clip": clip, "embedding": centre + 0.01 * chance.normal(size=16)})
    note = "Drawn sample data in the form of `facebook/minimal_video_pairs`; not the benchmark."
    write_file(snapshot / "README.md", f"---\nconfigs: {json.dumps(configs)}\n---\n\n{note}\n")
    write_file(folder / BUILD / "build.yaml", _BUILD)
    write_file(folder / BUILD / "annotations.jsonl", as_lines(lines))
    schema = pyarrow.schema({"clip": pyarrow.string(), "embedding": pyarrow.list_(pyarrow.float32())})
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(vectors, schema), folder / BUILD / "clips.parquet")
    write_clips(clips, progress)


SAMPLE = SampleWriter(
    contents=f"`snapshot/` (annotations), `videos/`, and {BUILT_FROM}",
    # All kinds of intuitive physics occur from four mini pairs on.
    sizes={"mini_pairs": 6, "full_pairs": 8},
    write=write_release,
    prepare=tuple(
        ("--source", "{folder}/snapshot", "--videos", "{folder}/videos", "--split", split) for split in ("mini", "full")
    ),
    release="snapshot",
)
