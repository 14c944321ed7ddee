"""The sample's minimal pairs taken apart into annotated clips, and a stand-in for the models that pair them again."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet
from judge_server import Action, Drop, Fail, Hold, Say
from stub_server import MvpPlayer, material_of

from lmms_eval_tasks.construct.mvp.minimal_pairs import SIDE, frame_numbers
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.sample.writers.mvp import ASKED, TruePair, pairs_of, truth_of, write_sources
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.pictures import as_jpeg


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


@dataclass
class PairPlayer:
    """Answers the prompts of a build from the truth, and fails as models do where a test plants it.

    Attributes:
        pairs: The truth.
        videos: Folder of the clips.
        faults: Fault to the number of the pair that has it.
        hiccups: Whether every prompt first fails in a way that passes.
    """

    pairs: Sequence[TruePair]
    videos: Path
    faults: Mapping[str, int] = field(default_factory=dict)
    hiccups: bool = False

    def __post_init__(self) -> None:
        self._honest = MvpPlayer({"notes": truth_of(self.pairs)})
        self._noted = {
            note: (pair, clip) for pair in self.pairs if pair.category != ASKED for clip, note in pair.notes.items()
        }
        self._seen: dict[str, tuple[str, str]] = {}
        for fault in {"solved by frames", "missing END"} & self.faults.keys():
            for clip, answer in self.pairs[self.faults[fault]].answers.items():
                reader = PyavFrames(self.videos / clip, threads=1)
                (picture,) = reader.read(frame_numbers(reader.count, 1))
                self._seen[sha256(as_jpeg(picture, SIDE)).hexdigest()] = (fault, answer)

    def __call__(self, prompt: str, images: tuple[bytes, ...], before: int) -> Action:
        role, given = self._honest.role_of(prompt), material_of(prompt)
        if self.hiccups and before == 0:
            draw = int(sha256(prompt.encode()).hexdigest(), 16) % 4
            return (Fail(500), Drop(), Say("I cannot help with that."), Say('{"cut off'))[draw]
        return {
            "contrast": self._contrast,
            "question": self._question,
            "exclusion": self._exclude,
            "single_frame": lambda given: self._frame(given, images),
        }[role](given)

    def _has(self, fault: str, pair: TruePair) -> bool:
        return fault in self.faults and self.pairs[self.faults[fault]] is pair

    def _contrast(self, given: dict[str, Any]) -> Action:
        pair, clip = self._noted[given["description"]]
        planted = {
            "malformed": Say('{"contrasts": ["D1"'),
            "refusal": Say("I cannot help with that."),
            "time-out": Hold(),
            "not offered": Say('{"contrasts": ["D99"]}'),
            "nothing": Say('{"contrasts": []}'),
        }
        for fault, action in planted.items():
            if self._has(fault, pair) and clip == min(pair.answers):
                return action
        return Say(json.dumps(self._honest.contrast(given)))

    def _question(self, given: dict[str, Any]) -> Action:
        pair, _ = self._noted[given["first"]]
        reply = self._honest.question(given)
        if self._has("equal", pair):
            reply["second"] = f"{reply['first'].upper()}."
        if self._has("equal at first", pair) and not given["refused"]:
            reply["second"] = reply["first"]
        if self._has("leak", pair):
            reply["question"] = f"{reply['first']}. {reply['question']}"
        if self._has("synonym", pair):
            reply["second"] = f"In other words: {reply['first']}"
        if self._has("no question", pair):
            reply["question"] = "Say what happens."
        return Say(json.dumps(reply))

    def _exclude(self, given: dict[str, Any]) -> Action:
        assert given.keys() == {"question", "first", "second"}, "which is right is not shown"
        same = "In other words" in given["first"] + given["second"]
        return Say(json.dumps({**self._honest.exclusion(given), "same_meaning": same}))

    def _frame(self, given: dict[str, Any], images: Sequence[bytes]) -> Action:
        (image,) = images
        fault, right = self._seen.get(sha256(image).hexdigest(), ("", ""))
        if fault == "missing END":
            return Say("A")
        told = (f"{letter} END" for letter, text in given["options"].items() if text == right)
        return Say(next(told, self._honest.single_frame(given)))


def released_items(release: Path, split: str = "mini") -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Clip to question, answer and sorted candidates, of a set that was built."""
    items = {}
    for category in SUBSETS:
        for file in (release / category).glob(f"{split}-*.parquet"):
            for row in pyarrow.parquet.read_table(file).to_pylist():
                candidates = tuple(sorted(ast.literal_eval(row["candidates"])))
                items[row["video_path"]] = (row["question"], row["answer"], candidates)
    return items
