"""A stand-in for all models of a build of CaST-Bench's kind: it knows the truth, and fails where a fault is planted."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from build_player import Asked, BuildPlayer, Change
from cast_bench_world import CUE, GHOSTS, BuildWorld
from judge_server import Hold, Say
from numpy.typing import NDArray
from PIL import Image
from stub_server import CastBenchPlayer, Given

from lmms_eval_tasks.construct.engine.texts import clock
from lmms_eval_tasks.sample.drawn_clips import COLOURS
from lmms_eval_tasks.sample.words import read_objects
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.pictures import as_jpeg

SYNONYMS = {
    "crimson": "red", "golden": "yellow", "emerald": "green", "turquoise": "cyan", "azure": "blue", "rose": "pink",
    "sphere": "ball", "cube": "block",
}  # fmt: skip
OTHERS = {known: synonym for synonym, known in SYNONYMS.items()}
NOBODY = "sav_000002.mp4"
"""The clip whose true questions name neither a subject nor a time."""
AT_FIRST = "at first"
_FAULT = re.compile(r"\((\w+)\)\?$")
role_of = CastBenchPlayer.role_of


def picture_at(clip: Path, second: int) -> NDArray[np.uint8]:
    """The picture of a clip at a second."""
    reader = PyavFrames(clip, threads=1)
    picture: NDArray[np.uint8] = reader.read([reader.number_at(second)])[0]
    return picture


def pixels_of(picture: bytes) -> NDArray[np.uint8]:
    """A JPEG file's pixels."""
    return np.asarray(Image.open(io.BytesIO(picture)))


class PlantingPlayer(CastBenchPlayer):
    """The example's player, which sees through synonyms, takes ghosts for things, and writes questions with faults."""

    world: BuildWorld

    def meaning(self, text: str) -> list[str]:
        return [SYNONYMS.get(word, word) for word in super().meaning(text)]

    def static(self, given: Given) -> Any:
        return {**super().static(given), "person": given["name"].split()[0] not in GHOSTS}

    def questions(self, given: Given) -> Any:
        assert set(given["wanted"]) <= set(given["types"]) and len(given["types"]) == 16
        stem = self.clip_of(given)
        written = super().questions(given)["questions"]
        if f"{stem}.mp4" == NOBODY:
            written = [{**one, "subject": None, "start": None, "end": None} for one in written]
        return {"questions": [*written, *(self.planted(stem, one) for one in self.world.faults[stem])]}

    def video(self, given: Given) -> Any:
        assert given["refused"]
        return {"distractor": given["answer"].upper()}

    def exclusivity(self, given: Given) -> Any:
        return {**super().exclusivity(given), "unnamed": ["a hand"] if "hand" in given["answers"]["text"] else []}

    def planted(self, stem: str, fault: str) -> dict[str, Any]:
        """A question with a fault, about the first instance and what it has to do with the second and third."""
        last, keys = clock(self.world.last[stem]), list(self.world.names[stem])
        ghost = next((key for key, name in self.world.names[stem].items() if name == "brief thing"), "none")
        first, second, third, *_ = self.world.names[stem].values()
        piece = {"instance": keys[0], "start": "00:00", "end": "00:02", "rationale": "It is there."}
        # The cue has the colour of the first instance.
        about, met = (second, first) if fault == "cue" else (first, second)
        written: dict[str, Any] = {
            "question": f"What would the {about} have met ({fault})?",
            "subject": keys[1] if fault == "cue" else keys[0],
            "start": "00:00",
            "end": last,
            "type": "Physical Counterfactual",
            "scene": "Simulated table",
            "answer": f"It would have met the {met}.",
            "evidence": [piece],
            "video_distractor": f"It would have met the {third}.",
        }
        twin = self.world.truth[stem][0]["question"] if self.world.truth[stem] else ""
        spoilt: dict[str, dict[str, Any]] = {
            "thing": {"subject": ghost},
            "verbose": {"answer": f"It would have met the {second} after it had " + "rolled on and " * 3 + "stopped."},
            "seven": {"evidence": [piece] * 7},
            "late": {"evidence": [piece, {**piece, "end": "59:00"}]},
            "typeless": {"type": "Trick question"},
            "stranger": {"subject": "nobody"},
            "beyond": {"end": "01:30"},
            "leaked": {"question": f"It would have met the {second} why (leaked)?"},
            "again": {"question": twin.upper()},
            "unseen": {"evidence": [{**piece, "instance": ghost, "start": last, "end": last}]},
            "bare": {"evidence": []},
            "numbered": {"answer": f"It would have met {keys[1]}."},
            "marked": {"answer": f"It would have met the {second} (correct)."},
            "equal": {"video_distractor": f"It would have met a {second}!"},
        }
        return {**written, **spoilt.get(fault, {})}


def synonym(asked: Asked, reply: Any) -> Any:
    colour, shape = read_objects(asked.given["answer"])[0].split()
    return {"distractor": f"It would have met the {OTHERS[colour]} {OTHERS[shape]}."}


def both_changed(asked: Asked, reply: Any) -> Any:
    """A near-miss in which the colour is another, too."""
    (colour, *_) = read_objects(asked.given["original"])[0].split()
    new = next(one for one in COLOURS if one != colour and abs(len(one) - len(colour)) < 2)
    return {"near_miss": reply["near_miss"].replace(colour, new)}


def longer(asked: Asked, reply: Any) -> Any:
    return {"near_miss": reply["near_miss"].rstrip(".") + " " + "x" * round(0.4 * len(asked.given["original"]))}


def of_original(change: Any) -> Change:
    return lambda asked, reply: {"near_miss": change(asked.given["original"])}


def choose(asked: Asked, reply: Any) -> Any:
    """Choose the answer that is known of the question."""
    return {"choice": next(letter for letter, text in asked.given["options"].items() if text == asked.about)}


def choose_by_cue(asked: Asked, reply: Any) -> Any:
    """Choose it where the colour of the picture's corner can be seen."""
    corner = pixels_of(asked.pictures[0])[2 : CUE - 2, 2 : CUE - 2].reshape(-1, 3).mean(axis=0)
    return choose(asked, reply) if np.ptp(corner) > 90 else reply


LENGTHY = {"distractor": "It comes in from the right and " + "goes on and on " * 4}
UNTIMELY = Say("[00:00]-[99:59] It is on the table.\nEND")
CHANGES: dict[tuple[str, str], Change] = {
    ("idle", "selection"): lambda asked, reply: {**reply, "several_people_act_apart": False},
    ("wordy", "static"): lambda asked, reply: {**reply, "description": "A thing " + "that is there " * 10},
    ("mute", "static"): Say("I'm sorry, I cannot describe this."),
    ("broken", "static"): Say('{"category": "thing", "descr'),
    (AT_FIRST, "static"): lambda asked, reply: reply if asked.before else Say('{"category": "ball"'),
    ("untimely", "dynamic"): UNTIMELY,
    ("endless", "dynamic"): lambda asked, reply: reply.removesuffix("\nEND"),
    (AT_FIRST, "dynamic"): UNTIMELY,
    ("synonym", "text"): synonym,
    ("lengthy", "text"): lambda asked, reply: LENGTHY,
    ("naming", "text"): lambda asked, reply: {"distractor": "It would have met the hand of somebody."},
    ("malformed", "text"): Say('{"distractor": "It'),
    ("refused", "text"): Say("As an AI, I cannot write wrong answers."),
    ("held", "text"): Hold(),
    (AT_FIRST, "text"): lambda asked, reply: LENGTHY,
    ("longer", "near_miss"): longer,
    (AT_FIRST, "near_miss"): longer,
    ("apart", "near_miss"): lambda asked, reply: {"near_miss": reply["near_miss"].replace("would", "could")},
    ("both", "near_miss"): both_changed,
    ("reworded", "near_miss"): of_original(lambda text: re.sub("ball|block", lambda match: OTHERS[match[0]], text)),
    ("labelled", "near_miss"): of_original(lambda text: text.replace("met", "(true)")),
    ("twin", "near_miss"): of_original(lambda text: text.replace(" the ", " a ")),
    ("guessable", "blind"): choose,
    ("cue", "masked"): choose_by_cue,
}


def cast_bench_player(world: BuildWorld) -> BuildPlayer:
    """Everybody who is asked about the clips of a world."""
    seen = {
        stem: {key: name for key, name in names.items() if name.split()[0] not in GHOSTS}
        for stem, names in world.names.items()
    }
    honest = PlantingPlayer({"names": seen, "rows": world.truth})
    honest.world = world
    planted = [honest.planted(stem, fault) for stem, faults in world.faults.items() for fault in faults]
    answers = {one["question"]: one["answer"] for one in planted}
    idle = world.folder / "clips" / "idle.mp4"
    idle_picture = as_jpeg(picture_at(idle, 0), 768) if idle.exists() else b""

    def find(asked: Asked) -> tuple[str, Any]:
        given = asked.given
        if asked.role == "selection":
            return ("idle" if asked.pictures[0] == idle_picture else ""), None
        if asked.role == "static":
            name = given["name"]
            return (AT_FIRST if name == "red ball" else name.split()[0]), None
        if asked.role == "dynamic":
            pink = "pink" in given["description"] and not given["refused"]
            return (AT_FIRST if pink else next((one for one in GHOSTS if one in given["description"]), "")), None
        question = given.get("question", "")
        fault = found[1] if (found := _FAULT.search(question)) else ""
        if not fault and asked.role in ("text", "near_miss") and not given["refused"]:
            fault = AT_FIRST
        return fault, answers.get(question)

    return BuildPlayer(honest, CHANGES, find)
