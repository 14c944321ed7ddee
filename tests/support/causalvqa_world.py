"""Annotators' questions about takes of the sample world, and a stand-in for every model that a build asks about them.

It plays each role from the drawn truth, and fails at what it is asked to fail at.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from build_player import Asked, BuildPlayer, Change
from judge_server import Hold, Say
from stub_server import CausalVqaPlayer, Given

from lmms_eval_tasks.sample.drawn_clips import FPS, write_clip
from lmms_eval_tasks.sample.scripts import LEVELS
from lmms_eval_tasks.sample.words import reworded
from lmms_eval_tasks.sample.writers.causalvqa import careless, draw_split, wordings_of
from lmms_eval_tasks.utils.data.made import part_pictures

FRAMES = 3
MARKED = "an option is marked as right or wrong"


def first_one(change: Any) -> Change:
    """Makes another text of the first distractor, from the distractors and the truth."""

    def changed(asked: Asked, reply: dict[str, Any]) -> dict[str, Any]:
        ((name, texts),) = reply.items()
        return {name: [change(texts, asked.about), *texts[1:]]}

    return changed


def worded(**changes: Any) -> Change:
    return lambda asked, reply: {**reply, **{name: change(reply) for name, change in changes.items()}}


# What goes wrong with a question: the role and how, and the step and reason for which it goes.
PLANTED: dict[str, tuple[str, Change, str, str]] = {
    "malformed": (
        "describe", Say('{"description": "cut off'), "description", "no usable reply: malformed JSON",
    ),
    "refusal": (
        "first_answer", Say("I'm sorry, but I cannot help with that."), "first answer", "no usable reply: refusal",
    ),
    "time-out": ("seeds", Hold(), "seed distractors", "no usable reply: timed out"),
    "other form": (
        "seeds", Say('{"distractors": ["one", "two", "three"]}'), "seed distractors", "no usable reply: another form",
    ),
    "leak": (
        "wording", worded(question=lambda reply: f"{reply['answer']} is near: {reply['question']}"),
        "plain English", "the question gives the answer away",
    ),
    "yes or no": (
        "wording", worded(question=lambda reply: f"Is it so: {reply['question']}", answer=lambda _: "Yes."),
        "plain English", "the answer is only yes or no",
    ),
    "marked answer": (
        "wording", worded(answer=lambda reply: f"{reply['answer']} (correct)"), "plain English", MARKED,
    ),
    "other question": (
        "wording", worded(question=lambda _: "Is something else asked here?"), "plain English", "the meaning changed",
    ),
    "synonym": (
        "distractors", first_one(lambda _, truth: reworded(truth.answer)),
        "distractors", "a distractor is a synonym of the answer",
    ),
    "answer": (
        "distractors", first_one(lambda _, truth: f" {truth.answer.upper()}!"),
        "distractors", "a distractor is the answer itself",
    ),
    "equal": (
        "distractors", first_one(lambda texts, _: f"{texts[1].lower()}."),
        "distractors", "two distractors are equal",
    ),
    "synonyms": (
        "distractors", first_one(lambda texts, _: reworded(texts[1])), "distractors", "two distractors are synonyms",
    ),
    "marked": ("distractors", first_one(lambda texts, _: f"{texts[0]} (wrong)"), "distractors", MARKED),
    "lazy": (
        "paraphrase", lambda asked, reply: {
            "paraphrases": [asked.given["options"][0].upper(), *reply["paraphrases"][1:]]
        },
        "second version", "a paraphrase has the distractor's own words",
    ),
    "other meaning": (
        "paraphrase", lambda asked, reply: {
            "paraphrases": [reworded(asked.given["options"][1]), *reply["paraphrases"][1:]]
        },
        "second version", "two distractors are equal",
    ),
    "other meaning, odd": (
        "paraphrase", first_one(lambda texts, _: f"{texts[0]} or so"),
        "second version", "a paraphrase means something else",
    ),
    "late leak": (
        "wording", lambda asked, reply: {
            **reply, "question": f"{reply['answer']} or {asked.about.distractors[0].lower()}: {reply['question']}"
        },
        "leaked key", "the question gives the answer away",
    ),
    "guessed": (
        "blind", lambda asked, reply: reply, "blind filter", "right without the clip in both versions",
    ),
    "no END": (
        "blind", lambda asked, reply: reply.removesuffix(" END"), "blind filter", "no usable reply: missing END",
    ),
}  # fmt: skip
# What goes wrong at first and is put right.
OVERCOME: dict[str, tuple[str, Change]] = {
    "synonym at first": (
        "distractors",
        lambda asked, reply: reply if asked.given["refused"] else PLANTED["synonym"][1](asked, reply),  # type: ignore[operator]
    ),
    "no END at first": ("blind", lambda asked, reply: reply if asked.before else reply.removesuffix(" END")),
}
CHANGES: dict[tuple[str, str], Change] = {
    **{(fault, role): change for fault, (role, change, *_) in {**PLANTED, **OVERCOME}.items()},
    ("late leak", "distractors"): first_one(lambda texts, _: reworded(texts[0])),
}


@dataclass(frozen=True)
class Truth:
    """A question of the sample world: how an annotator put it, what it should become, and where its clip is."""

    qid: str
    kind: str
    question: str
    answer: str
    distractors: tuple[str, ...]
    clip: str
    start: float
    end: float

    @property
    def annotated(self) -> dict[str, Any]:
        """The annotator's row."""
        where = {"qid": self.qid, "clip": self.clip, "start": self.start, "end": self.end, "type": self.kind}
        return {**where, **careless(self.question, self.answer)}


def draw_truths(folder: Path, per_type: int, seed: int) -> list[Truth]:
    """Questions in words that no other has, about takes that are written into a folder.

    A take has some scenes one after the other. Where a question asks what comes next, its scene goes on after the clip.
    """
    rows, scenes = draw_split(seed, "debug", LEVELS[:1], per_type)
    takes: dict[str, list[Any]] = {}
    truths = []
    for place, row in enumerate({row["question"]: row for row in rows}.values()):
        scene, clip = scenes[row["renamed_video"]], f"take_{place // 4}.mp4"
        options = [part.partition(". ")[2] for part in row["choices1"].split("|")]
        answer = options.pop(int(row["correct1"]) - 1)
        take = takes.setdefault(clip, [])
        start = sum(map(len, take)) / FPS
        take.append(scene.film(scene.seconds + (1.5 if row["type"] == "anticipation" else 0.0)))
        span = round(start, 6), round(start + scene.frames / FPS, 6)
        truths.append(Truth(f"q{place}", row["type"], row["question"], answer, tuple(options), clip, *span))
    folder.mkdir(parents=True, exist_ok=True)
    for name, parts in takes.items():
        write_clip(folder / name, np.concatenate(parts))
    return truths


def write_annotations(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Annotators' rows as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_build_config(path: Path, url: str, **values: Any) -> Path:
    """A configuration that asks one server as everybody."""
    model = {"model": "m", "provider": "local", "url": url, "first_delay": 0, "concurrent": 4, "requests": 4}
    model |= {"unreadable": 3, "timeout": 20}
    values = {"annotations": "rows.csv", "clips": "takes", "frames": FRAMES, "difficulty": "easy", **values}
    roles = {"default": model, "viewer": model | values.pop("viewer", {}), "blind": {**model, "model": "text-only"}}
    path.write_text(yaml.safe_dump({"roles": roles, **{name: one for name, one in values.items() if one is not None}}))
    return path


class HonestPlayer(CausalVqaPlayer):
    """The example's player, which finds one paraphrase wrong, and repairs as a test wants it."""

    repairs: Mapping[str, Mapping[str, Any]]

    def wording(self, given: Given) -> Any:
        assert given["model_answer"] == self.question_of(given)["distractors"][0], "it shows which words hint at one"
        return super().wording(given)

    def paraphrased(self, given: Given) -> Any:
        pairs = given["options"].items()
        return {"changed": [int(number) for number, pair in pairs if pair["paraphrase"].endswith("or so")]}

    def repair(self, given: Given) -> Any:
        return {**super().repair(given), **self.repairs[self.question_of(given)["qid"]]}


def clip_world_player(
    truths: Sequence[Truth],
    folder: Path,
    faults: Mapping[str, str] | None = None,
    passing: int = 0,
    repairs: Mapping[str, Mapping[str, Any]] | None = None,
) -> BuildPlayer:
    """Everybody who is asked about questions on the takes of a folder.

    Args:
        truths: The questions.
        folder: Of the takes.
        faults: Question, by its `qid`, to what goes wrong with it.
        passing: Of a hundred prompts, how many meet a fault that is gone when they are asked again.
        repairs: Question to what a repair makes of it.
    """
    planted = faults or {}
    questions = [
        {**vars(one), "annotated": one.annotated["question"], "guessed": planted.get(one.qid) == "guessed"}
        for one in truths
    ]
    honest = HonestPlayer({"questions": questions, "wordings": wordings_of(questions)})
    honest.repairs = repairs or {}
    by_qid, by_picture = {one.qid: one for one in truths}, {}
    for one in truths:
        images = part_pictures(folder / one.clip, one.start, one.end, FRAMES)
        after = part_pictures(folder / one.clip, one.end, one.end + 3.0, FRAMES, after=True)
        by_picture |= {sha256(b"".join(shown)).hexdigest(): one for shown in (images, after)}

    def find(asked: Asked) -> tuple[str, Truth]:
        if asked.pictures:
            truth = by_picture[sha256(b"".join(asked.pictures)).hexdigest()]
        else:
            truth = by_qid[honest.question_of(asked.given)["qid"]]
        return planted.get(truth.qid, ""), truth

    return BuildPlayer(honest, CHANGES, find, passing)


@dataclass(frozen=True)
class ClipWorld:
    """A folder with `takes` and `rows.csv`, its questions, and what goes wrong with some of them."""

    folder: Path
    truths: list[Truth]
    faults: dict[str, str]
    """Question to what goes wrong with it; the first of each type is left alone."""

    @property
    def takes(self) -> Path:
        return self.folder / "takes"

    @property
    def good(self) -> list[Truth]:
        """The questions that no planted fault removes."""
        return [truth for truth in self.truths if self.faults.get(truth.qid) not in PLANTED]

    def player(self, passing: int = 0) -> BuildPlayer:
        """Everybody who is asked about it."""
        return clip_world_player(self.truths, self.takes, self.faults, passing)

    @classmethod
    def write(cls, folder: Path) -> None:
        """Make it."""
        truths = draw_truths(folder / "takes", 7, seed=3)
        write_annotations(folder / "rows.csv", [truth.annotated for truth in truths])
        (folder / "truths.json").write_text(json.dumps([vars(truth) for truth in truths]))

    @classmethod
    def read(cls, folder: Path) -> ClipWorld:
        """Read one that was made."""
        values = json.loads((folder / "truths.json").read_text())
        truths = [Truth(**{**value, "distractors": tuple(value["distractors"])}) for value in values]
        first = {truth.kind: truth.qid for truth in reversed(truths)}
        others = [truth.qid for truth in truths if truth.qid not in first.values()]
        return cls(folder, truths, dict(zip(others, (*PLANTED, *OVERCOME), strict=False)))
