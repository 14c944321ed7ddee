"""CounterVQA's `build` with keys of its configuration as arguments, and a stand-in for the models that it asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from build_player import Asked, BuildPlayer, Change
from judge_server import Fail, JudgeServer, Say
from stub_server import CounterVqaPlayer, Given

from lmms_eval_tasks.construct.countervqa import build as build_command
from lmms_eval_tasks.construct.engine.attrition import BuiltSet

Drawn = dict[str, dict[str, Any]]
"""Takes with known links, as `draw_takes` gives them."""


def build(
    out: Path,
    annotations: Sequence[Path] = (),
    links: Path | None = None,
    takes: Path | None = None,
    clips: Path | None = None,
    dry_run: bool = False,
    replace: bool = False,
    **keys: Any,
) -> BuiltSet:
    """Build a set by a file with these keys."""
    given = {"annotations": annotations, "links": links, "takes": takes, "clips": clips, **keys}
    values = {key: value for key, value in given.items() if value or isinstance(value, int | float)}
    path = out.parent / f"{out.name}_config.yaml"
    path.write_text(json.dumps(values, default=str), encoding="utf-8")
    return build_command(config=path, out=out, dry_run=dry_run, replace=replace)


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def facts_of(out: Path) -> dict[str, Any]:
    """What `build.json` says of a set."""
    facts: dict[str, Any] = json.loads((out / "build.json").read_text(encoding="utf-8"))
    return facts


def named(server: JudgeServer, model: str = "m", **more: object) -> str:
    """A model of a server, as an option names it."""
    fields = {"model": model, "provider": "local", "url": server.url, "first_delay": 0, "concurrent": 4, **more}
    return ",".join(f"{name}={value}" for name, value in fields.items())


def flip(asked: Asked, reply: dict[str, Any]) -> dict[str, Any]:
    """The opposite answer."""
    return {**reply, "answer": {"yes": "no", "no": "yes"}[reply["answer"]]}


CHANGES: dict[tuple[str, str], Change] = {
    ("0", ""): Say("I cannot help with that."),
    ("1", ""): Say('{"reason": "cut off at'),
    ("2", ""): Say('{"unasked": true}'),
    ("3", ""): Fail(400, message="refused by policy"),
    ("wrong", "verification"): flip,
}


class HonestPlayer(CounterVqaPlayer):
    """The example's player, with proposals and questions some of which cannot be used."""

    reached = True

    def synthesizer(self, given: Given) -> Any:
        assert (given["test"]["confidence"], given["criticism"]["confidence"]) == (0.8, 0.6)
        return super().synthesizer(given)

    def absent(self, given: Given) -> Any:
        ids = [action["id"] for action in given["actions"]]
        texts = ["C sings a song.", given["actions"][0]["text"].upper(), "C sings, a song", "C dances.", "", "C hums."]
        proposed = [
            {"text": text, "outcome": None if number == 3 else ids[number % 3]} for number, text in enumerate(texts)
        ]
        return {**super().absent(given), "reached": self.reached, "actions": proposed}

    def naive(self, given: Given) -> Any:
        questions = super().naive(given)["questions"]
        one, two, three = questions
        unusable = [
            {**one, "outcome": "A99"},
            {name: value for name, value in three.items() if name != "goal"},
            {**two, "answer": "yes", "question": "\a?"},
            {**one, "action": one["outcome"], "outcome": two["outcome"]},
        ]
        return {"questions": [*questions, *unusable]}


def player(drawn: Drawn, faults: int = 0, wrong: int = 0, passing: int = 0, reached: bool = True) -> BuildPlayer:
    """What knows the links of takes.

    Args:
        drawn: The takes.
        faults: Of a thousand prompts, how many never get a usable reply.
        wrong: Of a thousand questions, how many are answered wrongly.
        passing: Of a hundred prompts, how many get a usable reply only when they are asked again.
        reached: Whether the clips reach their goal.
    """
    takes = [
        {
            "actions": [entry["text"] for entry in take["descriptions"]],
            "links": [(f"A{a:02d}", f"A{b:02d}") for a, b in take["links"]],
        }
        for take in drawn.values()
    ]
    honest = HonestPlayer({"takes": takes})
    honest.reached = reached

    def find(asked: Asked) -> tuple[str, None]:
        draw = int(sha256(asked.prompt.encode()).hexdigest(), 16)
        kind = draw % 1000
        fault = str(draw // 1000 % 4) if kind < faults else "wrong" if kind >= 1000 - wrong else ""
        return fault, None

    return BuildPlayer(honest, CHANGES, find, passing)
