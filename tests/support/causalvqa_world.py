"""Annotators' questions about takes of the sample world, and a stand-in for every model that a build asks about them.

It plays each role from the simulation's truth, and fails at what it is asked to fail at.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from judge_server import Action, Drop, Fail, Hold, Say
from stub_server import CausalVqaPlayer, as_text, material_of

from lmms_eval_tasks.sample.drawn_clips import FPS, write_clip
from lmms_eval_tasks.sample.scripts import LEVELS
from lmms_eval_tasks.sample.words import reworded
from lmms_eval_tasks.sample.writers.causalvqa import careless, draw_split, wordings_of
from lmms_eval_tasks.utils.data.made import part_pictures

FRAMES = 3
PLANTED = {
    "malformed": ("description", "no usable reply: malformed JSON"),
    "refusal": ("first answer", "no usable reply: refusal"),
    "time-out": ("seed distractors", "no usable reply: timed out"),
    "other form": ("seed distractors", "no usable reply: another form"),
    "leak": ("plain English", "the question gives the answer away"),
    "yes or no": ("plain English", "the answer is only yes or no"),
    "marked answer": ("plain English", "an option is marked as right or wrong"),
    "other question": ("plain English", "the meaning changed"),
    "synonym": ("distractors", "a distractor is a synonym of the answer"),
    "answer": ("distractors", "a distractor is the answer itself"),
    "equal": ("distractors", "two distractors are equal"),
    "synonyms": ("distractors", "two distractors are synonyms"),
    "marked": ("distractors", "an option is marked as right or wrong"),
    "lazy": ("second version", "a paraphrase has the distractor's own words"),
    "other meaning": ("second version", "two distractors are equal"),
    "other meaning, odd": ("second version", "a paraphrase means something else"),
    "late leak": ("leaked key", "the question gives the answer away"),
    "guessed": ("blind filter", "right without the clip in both versions"),
    "no END": ("blind filter", "no usable reply: missing END"),
}
"""What goes wrong with a question, and the step and reason for which it goes."""
OVERCOME = ("synonym at first", "no END at first")
"""What goes wrong at first and is put right."""


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
    rows = list({row["question"]: row for row in rows}.values())
    takes: dict[str, list[Any]] = {}
    truths = []
    for place, row in enumerate(rows):
        scene = scenes[row["renamed_video"]]
        options = [part.partition(". ")[2] for part in row["choices1"].split("|")]
        answer = options.pop(int(row["correct1"]) - 1)
        take = takes.setdefault(f"take_{place // 4}.mp4", [])
        start = sum(map(len, take)) / FPS
        end = start + scene.frames / FPS
        follows = 1.5 if row["type"] == "anticipation" else 0.0
        take.append(scene.film(scene.seconds + follows))
        clip = f"take_{place // 4}.mp4"
        truths.append(
            Truth(
                f"q{place}", row["type"], row["question"], answer, tuple(options), clip, round(start, 6), round(end, 6)
            )
        )
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
    model = {
        "model": "m",
        "provider": "local",
        "url": url,
        "first_delay": 0,
        "concurrent": 4,
        "requests": 4,
        "unreadable": 3,
        "timeout": 20,
    }
    values = {"annotations": "rows.csv", "clips": "takes", "frames": FRAMES, "difficulty": "easy", **values}
    roles = {"default": model, "viewer": model | values.pop("viewer", {}), "blind": {**model, "model": "text-only"}}
    path.write_text(yaml.safe_dump({"roles": roles, **{name: one for name, one in values.items() if one is not None}}))
    return path


@dataclass
class ClipWorldPlayer:
    """Answers prompts, and their pictures, as a test's server script.

    Attributes:
        truths: The questions.
        folder: Of the takes.
        faults: Question, by its `qid`, to what goes wrong with it.
        passing: Of a hundred prompts, how many meet a fault that is gone when they are asked again.
        repairs: Question to what a repair makes of it.
    """

    truths: Sequence[Truth]
    folder: Path
    faults: Mapping[str, str] = field(default_factory=dict)
    passing: int = 0
    repairs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_question = {one.question: one for one in self.truths}
        questions = [
            {
                "annotated": one.annotated["question"],
                "question": one.question,
                "answer": one.answer,
                "distractors": one.distractors,
                "guessed": self.faults.get(one.qid) == "guessed",
            }
            for one in self.truths
        ]
        self._honest = CausalVqaPlayer({"questions": questions, "wordings": wordings_of(questions)})
        self._by_picture = {}
        for one in self.truths:
            images = part_pictures(self.folder / one.clip, one.start, one.end, FRAMES)
            after = part_pictures(self.folder / one.clip, one.end, one.end + 3.0, FRAMES, after=True)
            for shown in (images, after):
                self._by_picture[sha256(b"".join(shown)).hexdigest()] = one

    def __call__(self, prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        role, given = self._honest.role_of(prompt), material_of(prompt)
        truth = self._truth(given, pictures)
        fault = self.faults.get(truth.qid, "")
        if fault == "malformed" and role == "describe":
            return Say('{"description": "cut off')
        if fault == "refusal" and role == "first_answer":
            return Say("I'm sorry, but I cannot help with that.")
        if fault == "time-out" and role == "seeds":
            return Hold()
        if fault == "other form" and role == "seeds":
            return Say(json.dumps({"distractors": list(truth.distractors[:3])}))
        draw = int(sha256(prompt.encode()).hexdigest(), 16)
        if draw % 100 < self.passing and before == 0:
            return (Say("{}"), Fail(500), Drop(), Say("I am unable to do so."))[draw // 100 % 4]
        reply = self._honest.reply(prompt)
        spoil = {
            "wording": self._wording,
            "distractors": self._distractors,
            "paraphrase": self._paraphrase,
            "paraphrased": self._paraphrased,
            "blind": lambda *_: self._blind(reply, fault, before),
            "repair": lambda *_: {**reply, **self.repairs[truth.qid]},
        }.get(role)
        return Say(as_text(spoil(reply, given, truth, fault) if spoil else reply))

    def _truth(self, given: Mapping[str, Any], pictures: tuple[bytes, ...]) -> Truth:
        if pictures:
            return self._by_picture[sha256(b"".join(pictures)).hexdigest()]
        return self._by_question[self._honest.question_of(given)["question"]]

    @staticmethod
    def _wording(reply: dict[str, Any], given: Mapping[str, Any], truth: Truth, fault: str) -> dict[str, Any]:
        assert given["model_answer"] == truth.distractors[0], "the first answer shows which words hint at one"
        question = {
            "leak": f"{truth.answer} is near: {truth.question}",
            "late leak": f"{truth.answer} or {truth.distractors[0].lower()}: {truth.question}",
            "other question": "Is something else asked here?",
        }.get(fault, reply["question"])
        answer = f"{truth.answer} (correct)" if fault == "marked answer" else reply["answer"]
        if fault == "yes or no":
            question, answer = f"Is it so: {question}", "Yes."
        return {"similarity": reply["similarity"], "question": question, "answer": answer}

    @staticmethod
    def _distractors(reply: dict[str, Any], given: Mapping[str, Any], truth: Truth, fault: str) -> dict[str, Any]:
        wrong, answer = reply["distractors"], truth.answer
        first = {
            "synonym": reworded(answer),
            "synonym at first": wrong[0] if given.get("refused") else reworded(answer),
            "answer": f" {answer.upper()}!",
            "equal": f"{wrong[1].lower()}.",
            "synonyms": reworded(wrong[1]),
            "marked": f"{wrong[0]} (wrong)",
            "late leak": reworded(wrong[0]),
        }.get(fault, wrong[0])
        return {"distractors": [first, *wrong[1:]]}

    @staticmethod
    def _paraphrase(reply: dict[str, Any], given: Mapping[str, Any], truth: Truth, fault: str) -> dict[str, Any]:
        texts = reply["paraphrases"]
        first = {
            "lazy": given["options"][0].upper(),
            "other meaning": reworded(given["options"][1]),
            "other meaning, odd": f"{texts[0]} or so",
        }.get(fault, texts[0])
        return {"paraphrases": [first, *texts[1:]]}

    @staticmethod
    def _paraphrased(reply: dict[str, Any], given: Mapping[str, Any], truth: Truth, fault: str) -> dict[str, Any]:
        pairs = given["options"].items()
        return {"changed": [int(number) for number, pair in pairs if pair["paraphrase"].endswith("or so")]}

    @staticmethod
    def _blind(reply: str, fault: str, before: int) -> str:
        cut_off = fault == "no END" or (fault == "no END at first" and before == 0)
        return reply.removesuffix(" END") if cut_off else reply


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

    def player(self, **more: Any) -> ClipWorldPlayer:
        """Everybody who is asked about it."""
        return ClipWorldPlayer(self.truths, self.takes, self.faults, **more)

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
