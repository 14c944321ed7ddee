"""A stand-in for the models that a build asks: it knows the true links, and now and then fails as models do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from judge_server import Action, Drop, Fail, JudgeServer, Say, Script
from stub_server import CounterVqaPlayer, Given

role_of = CounterVqaPlayer.role_of


class RolePlayer(CounterVqaPlayer):
    """Answers prompts as a test's server script.

    Args:
        truth: The takes' actions and links.
        faults: Of a thousand prompts, how many never get a usable reply, and how many get one at the third try.
        wrong: Of a thousand questions, how many are answered wrongly.
        reached: Whether the clips reach their goal.
        sees: What is answered to every question about frames: yes, or no.
    """

    def __init__(
        self, truth: Mapping[str, Any], faults: int = 0, wrong: int = 0, reached: bool = True, sees: bool = True
    ) -> None:
        super().__init__(truth)
        self.faults, self.wrong, self.reached, self.sees = faults, wrong, reached, sees

    def script(self, prompt: str, before: int) -> Action:
        """What to do about a prompt."""
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
        reply = self.reply(prompt)
        if role_of(prompt) == "verification" and kind >= 1000 - self.wrong:
            reply["answer"] = {"yes": "no", "no": "yes"}[reply["answer"]]
        return Say(json.dumps(reply))

    def synthesizer(self, given: Given) -> Any:
        assert (given["test"]["confidence"], given["criticism"]["confidence"]) == (0.8, 0.6)
        return super().synthesizer(given)

    def absent(self, given: Given) -> Any:
        """Some that can be used, and some that cannot."""
        ids = [action["id"] for action in given["actions"]]
        texts = ["C sings a song.", given["actions"][0]["text"].upper(), "C sings, a song", "C dances.", "", "C hums."]
        proposed = [
            {"text": text, "outcome": None if number == 3 else ids[number % 3]} for number, text in enumerate(texts)
        ]
        return {**super().absent(given), "reached": self.reached, "actions": proposed}

    def solving(self, given: Given) -> Any:
        return {"reason": "as seen", "answer": "yes" if self.sees else "no"}

    def naive(self, given: Given) -> Any:
        """Questions that can be used, and some that cannot."""
        questions = super().naive(given)["questions"]
        one, two, three = questions
        unusable = [
            {**one, "outcome": "A99"},
            {name: value for name, value in three.items() if name != "goal"},
            {**two, "answer": "yes", "question": "\a?"},
            {**one, "action": one["outcome"], "outcome": two["outcome"]},
        ]
        return {"questions": [*questions, *unusable]}


Drawn = dict[str, dict[str, Any]]
"""Takes with known links, as `draw_takes` gives them."""


def player(drawn: Drawn, **faults: Any) -> Script:
    """What knows the links of takes, as a test's server script."""
    takes = [
        {
            "actions": [entry["text"] for entry in take["descriptions"]],
            "links": [(f"A{a:02d}", f"A{b:02d}") for a, b in take["links"]],
        }
        for take in drawn.values()
    ]
    return RolePlayer({"takes": takes}, **faults).script


def named(server: JudgeServer, model: str = "m", **more: object) -> str:
    """A model of a server, as an option names it."""
    fields = {"model": model, "provider": "local", "url": server.url, "first_delay": 0, "concurrent": 4, **more}
    return ",".join(f"{name}={value}" for name, value in fields.items())
