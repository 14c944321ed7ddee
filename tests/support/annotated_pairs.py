"""The sample's minimal pairs taken apart into annotated clips, and a stand-in for the models that pair them again."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet
from build_player import Asked, BuildPlayer, Change
from judge_server import Hold, Say
from stub_server import Given, MvpPlayer

from lmms_eval_tasks.construct.mvp.minimal_pairs import SIDE, frame_numbers
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.sample.writers.mvp import ASKED, TruePair, pairs_of, truth_of, write_sources
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.pictures import as_jpeg

SYNONYM = "In other words"
CHANGES: dict[tuple[str, str], Change] = {
    ("malformed", "contrast"): Say('{"contrasts": ["D1"'),
    ("refusal", "contrast"): Say("I cannot help with that."),
    ("time-out", "contrast"): Hold(),
    ("not offered", "contrast"): Say('{"contrasts": ["D99"]}'),
    ("nothing", "contrast"): Say('{"contrasts": []}'),
    ("equal", "question"): lambda asked, reply: {**reply, "second": f"{reply['first'].upper()}."},
    ("equal at first", "question"): lambda asked, reply: (
        reply if asked.given["refused"] else {**reply, "second": reply["first"]}
    ),
    ("leak", "question"): lambda asked, reply: {**reply, "question": f"{reply['first']}. {reply['question']}"},
    ("synonym", "question"): lambda asked, reply: {**reply, "second": f"{SYNONYM}: {reply['first']}"},
    ("no question", "question"): lambda asked, reply: {**reply, "question": "Say what happens."},
    ("missing END", "single_frame"): Say("A"),
    ("solved by frames", "single_frame"): lambda asked, reply: next(
        f"{letter} END" for letter, text in asked.given["options"].items() if text == asked.about
    ),
}


def true_pairs(snapshot: Path) -> list[TruePair]:
    """The pairs of the sample's release, category by category."""
    subsets = {}
    for category in SUBSETS:
        (file,) = (snapshot / category).glob("mini-*.parquet")
        subsets[category] = pyarrow.parquet.read_table(file).to_pylist()
    return pairs_of(subsets)


def write_config(folder: Path, pairs: Sequence[TruePair], videos: Path, **options: Any) -> Path:
    """Annotations, vectors and the config of a build; clips of a pair look alike. Returns the config."""
    write_sources(folder, pairs)
    config = {"annotations": ["annotations.jsonl"], "videos": str(videos), "embeddings": "clips.parquet", **options}
    # JSON is YAML.
    (folder / "build.yaml").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return folder / "build.yaml"


class HonestPlayer(MvpPlayer):
    """The example's player, which knows what are other words for the same."""

    def exclusion(self, given: Given) -> Any:
        assert given.keys() == {"question", "first", "second"}, "which is right is not shown"
        return {**super().exclusion(given), "same_meaning": SYNONYM in given["first"] + given["second"]}


def pair_player(
    pairs: Sequence[TruePair], videos: Path, faults: Mapping[str, int] | None = None, passing: int = 0
) -> BuildPlayer:
    """Everybody who is asked about pairs.

    Args:
        pairs: The truth.
        videos: Folder of the clips.
        faults: Fault to the number of the pair that has it.
        passing: Of a hundred prompts, how many meet a fault that is gone when they are asked again.
    """
    planted = {number: fault for fault, number in (faults or {}).items()}
    noted, seen = {}, {}
    for number, pair in enumerate(pairs):
        fault = planted.get(number, "")
        if pair.category != ASKED:
            noted |= {note: (fault, clip == min(pair.answers)) for clip, note in pair.notes.items()}
        elif fault:
            for clip, answer in pair.answers.items():
                reader = PyavFrames(videos / clip, threads=1)
                (picture,) = reader.read(frame_numbers(reader.count, 1))
                seen[sha256(as_jpeg(picture, SIDE)).hexdigest()] = (fault, answer)

    def find(asked: Asked) -> tuple[str, Any]:
        if asked.role == "single_frame":
            return seen.get(sha256(asked.pictures[0]).hexdigest(), ("", None))
        if asked.role == "contrast":
            fault, first = noted[asked.given["description"]]
            return (fault if first else ""), None
        return (noted[asked.given["first"]][0], None) if asked.role == "question" else ("", None)

    return BuildPlayer(HonestPlayer({"notes": truth_of(pairs)}), CHANGES, find, passing)


def released_items(release: Path, split: str = "mini") -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Clip to question, answer and sorted candidates, of a set that was built."""
    items = {}
    for category in SUBSETS:
        for file in (release / category).glob(f"{split}-*.parquet"):
            for row in pyarrow.parquet.read_table(file).to_pylist():
                candidates = tuple(sorted(ast.literal_eval(row["candidates"])))
                items[row["video_path"]] = (row["question"], row["answer"], candidates)
    return items
