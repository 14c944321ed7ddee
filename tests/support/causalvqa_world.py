"""Annotators' questions about takes of the sample world, and a stand-in for every model that a build asks about them.

It plays each role from the simulation's truth, and fails at what it is asked to fail at.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from judge_server import Action, Drop, Fail, Hold, Say
from role_player import material_of

from lmms_eval_tasks.sample.scenes.options import DIRECTIONS, read_direction, read_object, word_object
from lmms_eval_tasks.sample.scenes.table_questions import LEVELS
from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.render import render
from lmms_eval_tasks.sample.world.video import write_clip
from lmms_eval_tasks.sample.writers.causalvqa import draw_split
from lmms_eval_tasks.utils.data.parts import part_pictures

FRAMES = 3
LETTERS = "ABCDE"
ROLES = {
    "You describe a clip": "describe",
    "You describe what follows": "afterwards",
    "You answer a question about a clip that you see": "first answer",
    "You think of wrong answers": "seeds",
    "You put a question and its answer into plain English": "wording",
    "You compare two wordings": "meaning",
    "You make the wrong options": "distractors",
    "You look for options that say the same": "synonyms",
    "You put the wrong options of a question into other words": "paraphrase",
    "You check paraphrases": "paraphrased",
    "You answer a multiple-choice question without the clip": "blind",
    "You repair": "repair",
}


PLANTED = {
    "malformed": ("description", "no usable reply: malformed JSON"),
    "refusal": ("first answer", "no usable reply: refusal"),
    "time-out": ("seed distractors", "no usable reply: timed out"),
    "other form": ("seed distractors", "no usable reply: another form"),
    "leak": ("plain English", "the question gives the answer away"),
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
        """The annotator's row: careless English with a word that hints at something."""
        question = f"so obviously {self.question[0].lower()}{self.question[1:-1]}"
        where = {"qid": self.qid, "clip": self.clip, "start": self.start, "end": self.end, "type": self.kind}
        return {**where, "question": question, "answer": f"its {self.answer.lower()}"}


def other_wording(text: str) -> str:
    """An option of the sample world in its other wording; any other text as it is."""
    if (direction := read_direction(text)) is not None:
        return DIRECTIONS[direction][text == DIRECTIONS[direction][0]]
    name = read_object(text)
    return word_object(name, 1 if text == word_object(name, 0) else 0) if name else text


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
        end = start + len(render(scene)[0]) / FPS
        follows = 1.5 if row["type"] == "anticipation" else 0.0
        take.append(render(replace(scene, duration=scene.duration + follows))[0])
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
        self._by_question |= {one.annotated["question"]: one for one in self.truths}
        self._by_picture = {}
        for one in self.truths:
            images = part_pictures(self.folder / one.clip, one.start, one.end, FRAMES)
            after = part_pictures(self.folder / one.clip, one.end, one.end + 3.0, FRAMES, after=True)
            for shown in (images, after):
                self._by_picture[sha256(b"".join(shown)).hexdigest()] = one

    def __call__(self, prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        role = next(role for start, role in ROLES.items() if prompt.startswith(start))
        given = material_of(prompt)
        truth = self._truth(given, pictures)
        fault = self.faults.get(truth.qid, "")
        if fault == "malformed" and role == "describe":
            return Say('{"description": "cut off')
        if fault == "refusal" and role == "first answer":
            return Say("I'm sorry, but I cannot help with that.")
        if fault == "time-out" and role == "seeds":
            return Hold()
        if fault == "other form" and role == "seeds":
            return Say(json.dumps({"distractors": list(truth.distractors[:3])}))
        draw = int(sha256(prompt.encode()).hexdigest(), 16)
        if draw % 100 < self.passing and before == 0:
            return (Say("{}"), Fail(500), Drop(), Say("I am unable to do so."))[draw // 100 % 4]
        if role == "blind":
            return Say(self._blind(given, truth, fault, before))
        return Say(json.dumps(self._reply(role, given, truth, fault)))

    def _truth(self, given: Mapping[str, Any], pictures: tuple[bytes, ...]) -> Truth:
        if pictures:
            return self._by_picture[sha256(b"".join(pictures)).hexdigest()]
        question = given["first"]["question"] if "first" in given else given["question"]
        return next(one for text, one in self._by_question.items() if text == question or text in question)

    def _reply(self, role: str, given: Mapping[str, Any], truth: Truth, fault: str) -> dict[str, Any]:
        wrong, answer = list(truth.distractors), truth.answer
        again = bool(given.get("refused"))
        if role in ("describe", "afterwards"):
            return {"description": f"A table from above, {given['seconds']} seconds."}
        if role == "first answer":
            return {"answer": wrong[0]}
        if role == "seeds":
            return {"distractors": wrong[::-1]}
        if role == "wording":
            assert given["model_answer"] == wrong[0], "the first answer shows which words hint at one"
            return self._wording(truth, fault)
        if role == "meaning":
            same = truth.question in given["second"]["question"]
            return {"same": same, "difference": "" if same else "It asks something else."}
        if role == "distractors":
            first = {
                "synonym": other_wording(answer),
                "synonym at first": wrong[0] if again else other_wording(answer),
                "answer": f" {answer.upper()}!",
                "equal": f"{wrong[1].lower()}.",
                "synonyms": other_wording(wrong[1]),
                "marked": f"{wrong[0]} (wrong)",
                "late leak": other_wording(wrong[0]),
            }.get(fault, wrong[0])
            return {"distractors": [first, *wrong[1:]]}
        if role == "synonyms":
            options = list(given["options"].items())
            return {
                "same": [
                    [int(one), int(other)]
                    for place, (one, text) in enumerate(options)
                    for other, later in options[place + 1 :]
                    if later in (text, other_wording(text))
                ]
            }
        if role == "paraphrase":
            texts = [other_wording(text) for text in given["options"]]
            spoilt = {
                "lazy": given["options"][0].upper(),
                "other meaning": other_wording(given["options"][1]),
                "other meaning, odd": f"{texts[0]} or so",
            }
            return {"paraphrases": [spoilt.get(fault, texts[0]), *texts[1:]]}
        if role == "paraphrased":
            pairs = given["options"].items()
            return {"changed": [int(number) for number, pair in pairs if pair["paraphrase"].endswith("or so")]}
        assert role == "repair"
        texts = {name: given[name] for name in ("question", "answer", "distractors", "paraphrases")}
        return {**texts, **self.repairs[truth.qid]}

    @staticmethod
    def _wording(truth: Truth, fault: str) -> dict[str, Any]:
        question = {
            "leak": f"{truth.answer} is near: {truth.question}",
            "late leak": f"{truth.answer} or {truth.distractors[0].lower()}: {truth.question}",
            "other question": "Is something else asked here?",
        }.get(fault, truth.question)
        answer = f"{truth.answer} (correct)" if fault == "marked answer" else truth.answer
        return {"question": question, "answer": answer}

    @staticmethod
    def _blind(given: Mapping[str, Any], truth: Truth, fault: str, before: int) -> str:
        """Right in the first version at most, but where the fault is that it guesses."""
        key = next(letter for letter, text in given["options"].items() if text == truth.answer)
        second = not any(text in truth.distractors for text in given["options"].values())
        letter = LETTERS[(LETTERS.index(key) + 1) % 5] if second and fault != "guessed" else key
        if fault == "no END" or (fault == "no END at first" and before == 0):
            return f"It is usual. Answer: {letter}"
        return f"It is usual, unlike B. Answer: {letter} END"


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
