"""The sample in MVP's release format: a local snapshot of the hub dataset, and a folder of videos per source."""

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from lmms_eval_tasks.sample.scenes import minimal_pairs
from lmms_eval_tasks.sample.world.scene import DrawnScene
from lmms_eval_tasks.sample.world.video import film_scenes
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import Progress

SNAPSHOT, VIDEOS, BUILD = "snapshot", "videos", "build"
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

ASKED = "intuitive_physics"
"""The subset whose clips are annotated with a question of their source."""
_DIMENSIONS = 16
_CONFIG = f"""\
annotations: [annotations.jsonl]
videos: ../{VIDEOS}
# Drawn, so that the clips of a pair lie near each other; `mine embed` makes them from what is seen.
embeddings: clips.parquet
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, plays all roles.
roles:
  default: {{model: stub, provider: local}}
"""

Row = Mapping[str, str]


@dataclass(frozen=True)
class TruePair:
    """A minimal pair: its number, its question, and clip to answer."""

    number: int
    category: str
    source: str
    question: str
    answers: Mapping[str, str]

    @property
    def notes(self) -> dict[str, str]:
        """Clip to what a source would note of it, where it has no question."""
        about = self.question.removesuffix("?")
        return {clip: f"{answer}. Asked for, of take {self.number}: {about}" for clip, answer in self.answers.items()}


def draw_subset(
    seed: int, name: str, mini_pairs: int, full_pairs: int
) -> tuple[dict[str, list[Row]], dict[str, DrawnScene]]:
    """Draw `full_pairs` pairs of a configuration, of which the first `mini_pairs` are the mini split."""
    rng = random.Random(f"{seed}/mvp/{name}")
    numbers = rng.sample(range(1, 10_000), full_pairs)
    swap = [number % 2 == 1 for number in range(full_pairs)]
    rng.shuffle(swap)
    drawn: list[list[Row]] = []
    scenes: dict[str, DrawnScene] = {}
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
    pairs = pairs_of({name: rows["mini"] for name, (rows, _) in drawn.items()})
    (folder / BUILD).mkdir()
    write_sources(folder / BUILD, pairs)
    (folder / BUILD / "build.yaml").write_text(_CONFIG, encoding="utf-8")
    truth = {"benchmark": "mvp", "notes": truth_of(pairs)}
    (folder / BUILD / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    film_scenes(scenes, progress)


def pairs_of(subsets: Mapping[str, Sequence[Row]]) -> list[TruePair]:
    """The pairs of a split, subset by subset."""
    pairs: list[TruePair] = []
    for category, rows in subsets.items():
        members = defaultdict[str, list[Row]](list)
        for row in rows:
            members[row["video_id"].rpartition("_")[0]].append(row)
        for both in members.values():
            answers = {row["video_path"]: row["answer"] for row in both}
            pairs.append(TruePair(len(pairs), category, both[0]["source"], both[0]["question"], answers))
    return pairs


def write_sources(folder: Path, pairs: Sequence[TruePair]) -> None:
    """Write what sources say of each clip, and a vector for it."""
    lines: list[dict[str, Any]] = []
    for number, pair in enumerate(pairs):
        for place, (clip, answer) in enumerate(pair.answers.items()):
            line: dict[str, Any] = {"clip": clip, "source": pair.source, "category": pair.category}
            if pair.category == ASKED:
                line |= {"question": pair.question, "answer": answer}
                line |= {"options": sorted(pair.answers.values())} if number % 2 else {}
            else:
                line["caption" if number % 2 else "label"] = pair.notes[clip]
            lines.append({"id": f"{number:02}{'ab'[place]}", **line})
    (folder / "annotations.jsonl").write_text(as_lines(lines), encoding="utf-8")
    chance = np.random.default_rng(0)
    vectors: dict[str, list[float]] = {}
    for pair in pairs:
        centre = chance.normal(size=_DIMENSIONS)
        vectors |= {clip: (centre + 0.01 * chance.normal(size=_DIMENSIONS)).tolist() for clip in pair.answers}
    columns = {"clip": list(vectors), "embedding": list(vectors.values())}
    schema = pyarrow.schema({"clip": pyarrow.string(), "embedding": pyarrow.list_(pyarrow.float32())})
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), folder / "clips.parquet")


def truth_of(pairs: Sequence[TruePair]) -> dict[str, dict[str, Any]]:
    """Map each clip's note to its pair's number and question, and the answer for it."""
    return {
        note: {"pair": pair.number, "question": pair.question, "answer": pair.answers[clip]}
        for pair in pairs
        for clip, note in pair.notes.items()
    }


WRITER = SampleWriter(
    contents=f"`{SNAPSHOT}/` (annotations), `{VIDEOS}/`, and `{BUILD}/`, from which a set can be built",
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
