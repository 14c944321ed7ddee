"""A stand-in for the models that a build asks: it knows the true links, and now and then fails as models do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from judge_server import Action, Drop, Fail, JudgeServer, Say

ROLES = {
    "You look for causes": "observer",
    "You test whether": "verifier",
    "You criticise": "critic",
    "You decide": "synthesizer",
    "You think of actions": "absent",
    "You put a question": "rephrase",
    "You answer a question": "verification",
    "You write questions": "naive",
    "You see frames": "solving",
}


def role_of(prompt: str) -> str:
    """Which role a prompt is for."""
    return next(role for start, role in ROLES.items() if prompt.startswith(start))


def material_of(prompt: str) -> dict[str, Any]:
    """The JSON object that a prompt holds; it stands alone on its line."""
    line = next(line for line in prompt.splitlines() if line.startswith('{"'))
    material: dict[str, Any] = json.loads(line)
    return material


@dataclass
class RolePlayer:
    """Answers prompts as a test's server script.

    Attributes:
        links: Texts of a take's actions, joined, to the pairs of ids that are linked.
        faults: Of a thousand prompts, how many never get a usable reply, and how many get one at the third try.
        wrong: Of a thousand questions, how many are answered wrongly.
        reached: Whether the clips reach their goal.
        sees: What is answered to every question about frames: yes, or no.
    """

    links: Mapping[str, set[tuple[str, str]]]
    faults: int = 0
    wrong: int = 0
    reached: bool = True
    sees: bool = True

    def __call__(self, prompt: str, before: int) -> Action:
        draw = int(sha256(prompt.encode()).hexdigest(), 16)
        kind = draw % 1000
        if kind < self.faults:
            return (
                Say("I cannot help with that."),
                Say('{"reason": "cut off at'),
                Say('{"unasked": true}'),
                Fail(400, message="refused by policy"),
            )[draw // 1000 % 4]
        if kind < 2 * self.faults and before < 2:
            return (Say("{}"), Fail(500), Drop(), Say(""))[draw // 1000 % 4]
        return Say(json.dumps(self._reply(role_of(prompt), material_of(prompt), draw)))

    def _reply(self, role: str, given: dict[str, Any], draw: int) -> dict[str, Any]:
        linked = self.links.get("|".join(action["text"] for action in given.get("actions", ())), set())
        causal = (given.get("cause"), given.get("effect")) in linked
        if role == "observer":
            sure = {entry["pair"]: (entry["first"], entry["second"]) in linked for entry in given["pairs"]}
            return {"confidences": [{"pair": pair, "confidence": 0.9 if one else 0.1} for pair, one in sure.items()]}
        if role == "verifier":
            return {
                "conditions": "as listed",
                "effect_without_cause": not causal,
                "common_cause": "",
                "explained_by_common_cause": False,
                "confidence": 0.8,
            }
        if role == "critic":
            return {"objections": "", "sound": True, "confidence": 0.6}
        if role == "synthesizer":
            assert (given["test"]["confidence"], given["criticism"]["confidence"]) == (0.8, 0.6)
            return {"reason": "so it is", "causal": causal}
        if role == "absent":
            ids = [action["id"] for action in given["actions"]]
            texts = [
                "C sings a song.",
                given["actions"][0]["text"].upper(),
                "C sings, a song",
                "C dances.",
                "",
                "C hums.",
            ]
            proposed = [
                {"text": text, "outcome": None if number == 3 else ids[number % 3]} for number, text in enumerate(texts)
            ]
            goal = given["goal"] or f"{given['task']}, done"
            return {"goal": goal, "reached": self.reached, "actions": proposed}
        if role == "rephrase":
            return {"question": f"Say: {given['question']}"}
        if role == "naive":
            return {"questions": self._naive(given)}
        if role == "solving":
            return {"reason": "as seen", "answer": "yes" if self.sees else "no"}
        return {"reason": "it follows", "answer": self._answer(given, linked, draw)}

    @staticmethod
    def _naive(given: dict[str, Any]) -> list[dict[str, Any]]:
        """One question a level that can be used, and some that cannot."""
        first, second, third = (action["id"] for action in given["actions"][:3])
        asked = {"question": "Would it?", "answer": "yes", "explanation": "Yes. So it is."}
        return [
            {**asked, "level": 1, "action": first, "outcome": second},
            {**asked, "level": 2, "answer": "no", "action": first, "outcome": third},
            {**asked, "level": 3, "absent_action": "C sings.", "goal": "a meal"},
            {**asked, "level": 1, "action": first, "outcome": "A99"},
            {**asked, "level": 3, "absent_action": "C sings."},
            {**asked, "level": 2, "action": first, "outcome": third, "question": "\a?"},
            {**asked, "level": 1, "action": second, "outcome": third},
        ]

    def _answer(self, given: dict[str, Any], linked: set[tuple[str, str]], draw: int) -> str:
        """Yes unless there is a way along the links from the action that the question names first to the other."""
        parts = given["question"].split(" had not happened, would ")
        first, second = (self._named(part, given["actions"]) for part in parts)
        reached, ahead = set(), [first]
        while ahead:
            node = ahead.pop()
            new = {effect for cause, effect in linked if cause == node} - reached
            reached |= new
            ahead += new
        right = "no" if second in reached else "yes"
        return {"yes": "no", "no": "yes"}[right] if draw % 1000 >= 1000 - self.wrong else right

    @staticmethod
    def _named(part: str, actions: list[dict[str, Any]]) -> str | None:
        words = part.replace("the camera wearer", "C").replace("another person", "O")
        for action in actions:
            seconds = int(action["seconds"])
            if f"“{action['text'].rstrip('.')}”" in words:
                timed = f"(at {seconds // 60}:{seconds % 60:02d})"
                if "(at " not in words or timed in words:
                    return str(action["id"])
        return None


Drawn = dict[str, dict[str, Any]]
"""Takes with known links, as `draw_takes` gives them."""


def player(drawn: Drawn, **faults: Any) -> RolePlayer:
    """What knows the links of takes."""
    links = {
        "|".join(entry["text"] for entry in take["descriptions"]): {
            (f"A{a:02d}", f"A{b:02d}") for a, b in take["links"]
        }
        for take in drawn.values()
    }
    return RolePlayer(links, **faults)


def named(server: JudgeServer, model: str = "m", **more: object) -> str:
    """A model of a server, as an option names it."""
    fields = {"model": model, "provider": "local", "url": server.url, "first_delay": 0, "concurrent": 4, **more}
    return ",".join(f"{name}={value}" for name, value in fields.items())
