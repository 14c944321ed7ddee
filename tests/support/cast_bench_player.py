"""A stand-in for all models of a build of CaST-Bench's kind: it knows the truth, and fails where a fault is planted."""

from __future__ import annotations

import colorsys
import io
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import stub_server
from cast_bench_world import CUE, GHOSTS, BuildWorld
from judge_server import Action, Hold, Say
from numpy.typing import NDArray
from PIL import Image
from stub_server import as_text, material_of

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
_FAULT = re.compile(r"\((\w+)\)\?$")


role_of = stub_server.CastBenchPlayer.role_of


class WithSynonyms(stub_server.CastBenchPlayer):
    """The stand-in of the examples, which sees through synonyms too."""

    def meaning(self, text: str) -> list[str]:
        return [SYNONYMS.get(word, word) for word in super().meaning(text)]


def picture_at(clip: Path, second: int) -> NDArray[np.uint8]:
    """The picture of a clip at a second."""
    reader = PyavFrames(clip, threads=1)
    picture: NDArray[np.uint8] = reader.read([reader.number_at(second)])[0]
    return picture


def pixels_of(picture: bytes) -> NDArray[np.uint8]:
    """A JPEG file's pixels."""
    return np.asarray(Image.open(io.BytesIO(picture)))


class CastBenchPlayer:
    """Answers prompts with pictures as a test's server script."""

    def __init__(self, world: BuildWorld) -> None:
        self.world = world
        self.clips = {}
        for stem in world.names:
            picture = picture_at(world.folder / "clips" / f"{stem}.mp4", 0)
            self.clips[sha256(as_jpeg(picture, 768)).hexdigest()] = stem
        self.answers = {row["question"]: row["options"][row["answer"]] for rows in world.truth.values() for row in rows}
        seen = {
            stem: {key: name for key, name in names.items() if name.split()[0] not in GHOSTS}
            for stem, names in world.names.items()
        }
        self.honest = WithSynonyms({"names": seen, "rows": world.truth})

    def __call__(self, prompt: str, pictures: tuple[bytes, ...], before: int) -> Action:
        role, given = role_of(prompt), material_of(prompt)
        fault = _FAULT.search(given.get("question", ""))
        if spoil := getattr(self, role, None):
            reply = spoil(given, pictures, fault[1] if fault else "", before)
        else:
            reply = self.honest.reply(prompt)
        return reply if isinstance(reply, Action) else Say(as_text(reply))

    def selection(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        stem = self.clips[sha256(pictures[0]).hexdigest()]
        return {**self.honest.selection(given), "several_people_act_apart": stem != "idle"}

    def static(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        outlined, blurred = map(pixels_of, pictures)
        # A blurred picture has less detail.
        assert blurred.std() < outlined.std()
        name = given["name"]
        ghost = name.split()[0]
        if ghost == "wordy":
            return {"category": "thing", "person": False, "description": "A thing " + "that is there " * 10}
        if ghost == "mute":
            return "I'm sorry, I cannot describe this."
        if ghost == "broken":
            return '{"category": "thing", "descr'
        if name == "red ball" and not before:
            return '{"category": "ball"'
        return {**self.honest.static(given), "person": ghost not in GHOSTS}

    def dynamic(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        assert len(pictures) == len(given["seconds"]) and len({pixels_of(one).shape for one in pictures}) == 1
        untimely = "untimely" in given["description"] or ("pink" in given["description"] and not given["refused"])
        text = self.honest.dynamic({**given, "last": "99:59"} if untimely else given)
        return text.removesuffix("\nEND") if "endless" in given["description"] else text

    def questions(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        assert set(given["wanted"]) <= set(given["types"]) and len(given["types"]) == 16
        stem = self.honest.clip_of(given)
        written = self.honest.questions(given)["questions"]
        if f"{stem}.mp4" == NOBODY:
            written = [{**one, "subject": None, "start": None, "end": None} for one in written]
        return {"questions": [*written, *(self._planted(stem, one) for one in self.world.faults[stem])]}

    def _planted(self, stem: str, fault: str) -> dict[str, Any]:
        """A question with a fault, about the first instance and what it has to do with the second and third."""
        last, keys = clock(self.world.last[stem]), list(self.world.names[stem])
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
            "thing": {"subject": self._ghost(stem)},
            "verbose": {"answer": f"It would have met the {second} after it had " + "rolled on and " * 3 + "stopped."},
            "seven": {"evidence": [piece] * 7},
            "late": {"evidence": [piece, {**piece, "end": "59:00"}]},
            "typeless": {"type": "Trick question"},
            "stranger": {"subject": "nobody"},
            "beyond": {"end": "01:30"},
            "leaked": {"question": f"It would have met the {second} why (leaked)?"},
            "again": {"question": twin.upper()},
            "unseen": {"evidence": [{**piece, "instance": self._ghost(stem), "start": last, "end": last}]},
            "bare": {"evidence": []},
            "numbered": {"answer": f"It would have met {keys[1]}."},
            "marked": {"answer": f"It would have met the {second} (correct)."},
            "equal": {"video_distractor": f"It would have met a {second}!"},
        }
        return {**written, **spoilt.get(fault, {})}

    def _ghost(self, stem: str) -> str:
        return next((key for key, name in self.world.names[stem].items() if name == "brief thing"), "none")

    def text(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        assert not pictures
        colour, shape = read_objects(given["answer"])[0].split()
        spoilt: dict[str, Any] = {
            "synonym": {"distractor": f"It would have met the {OTHERS[colour]} {OTHERS[shape]}."},
            "lengthy": {"distractor": "It comes in from the right and " + "goes on and on " * 4},
            "naming": {"distractor": "It would have met the hand of somebody."},
            "malformed": '{"distractor": "It',
            "refused": "As an AI, I cannot write wrong answers.",
            "held": Hold(),
        }
        if not fault and not given["refused"]:
            fault = "lengthy"
        return spoilt.get(fault, self.honest.text(given))

    def video(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        assert given["refused"]
        return {"distractor": given["answer"].upper()}

    def exclusivity(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        return {**self.honest.exclusivity(given), "unnamed": ["a hand"] if "hand" in given["answers"]["text"] else []}

    def near_miss(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        original = given["original"]
        changed = self.honest.near_miss(given)["near_miss"]
        objects = read_objects(original)
        colour = objects[0].split()[0] if objects else ""
        new = next((one for one in COLOURS if one != colour and abs(len(one) - len(colour)) < 2), "")
        spoilt = {
            "longer": changed.rstrip(".") + " " + "x" * round(0.4 * len(original)),
            "apart": changed.replace("would", "could"),
            "both": changed.replace(colour, new) if colour else changed,
            "reworded": re.sub("ball|block", lambda match: OTHERS[match[0]], original),
            "labelled": original.replace("met", "(true)"),
            "twin": original.replace(" the ", " a "),
        }
        if not fault and not given["refused"]:
            fault = "longer"
        return {"near_miss": spoilt.get(fault, changed)}

    def blind(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        assert not pictures and set(given) == {"question", "options"}
        if fault != "guessable":
            return self.honest.blind(given)
        return {"choice": next(letter for letter, text in given["options"].items() if text == self._answer(given))}

    def masked(self, given: dict[str, Any], pictures: Sequence[bytes], fault: str, before: int) -> Any:
        """Goes by the colour of the picture's corner, where it has one, and by nothing else."""
        assert set(given) == {"question", "options", "seconds"}
        options: dict[str, str] = given["options"]
        corner = pixels_of(pictures[0])[2 : CUE - 2, 2 : CUE - 2].reshape(-1, 3).mean(axis=0)
        red, green, blue = corner / 255
        if max(corner) - min(corner) > 90:
            hue = 360 * colorsys.rgb_to_hsv(red, green, blue)[0]
            hues = {"red": 0, "yellow": 52, "green": 120, "cyan": 182, "blue": 228, "pink": 312, "red again": 360}
            colour = min(hues, key=lambda name: abs(hues[name] - hue)).split()[0]
            for letter, text in options.items():
                if any(name == self._seen(colour, given) for name in read_objects(text)):
                    return {"choice": letter}
        return self.honest.masked(given)

    def _seen(self, colour: str, given: dict[str, Any]) -> str:
        return next((name for name in self.world.names.get("cued", {}).values() if name.startswith(colour)), "")

    def _answer(self, given: dict[str, Any]) -> str:
        """The answer of a planted question: what it would have met."""
        for stem, faults in self.world.faults.items():
            for fault in faults:
                planted = self._planted(stem, fault)
                if planted["question"] == given["question"]:
                    return str(planted["answer"])
        return self.answers[given["question"]]
