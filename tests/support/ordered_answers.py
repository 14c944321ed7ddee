"""The answers that were ordered by hand, as samples and levels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.train.rewards.reward_sample import RewardSample, read_sample

FOLDER = Path(__file__).parents[1] / "train" / "rewards"
ORDERED = "ordered_answers.json"
HELD_OUT = "ordered_answers_held_out.json"
FORMED = "formed_answers.json"
KEY = ("answer", "options", "question")
"""What a sample has for the rewards that need no graph."""


@dataclass(frozen=True)
class OrderedGroup:
    """Answers to one question from the best level to the worst; those of a level are not ordered."""

    name: str
    reward: str
    columns: dict[str, Any]
    levels: tuple[tuple[str, ...], ...]

    @property
    def sample(self) -> RewardSample:
        return read_sample(self.columns)


def _read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def _group(group: dict[str, Any], columns: dict[str, Any], levels: list[Any]) -> OrderedGroup:
    tuples = tuple(tuple(level) if isinstance(level, list) else (level,) for level in levels)
    return OrderedGroup(f"{group['sample']}: {group['about']}", group["reward"], columns, tuples)


def read_groups(name: str) -> Iterator[OrderedGroup]:
    """The groups of a file, whose answers are in words."""
    content, questions = _read(name), _questions(name)
    for group in content["groups"]:
        described = content["samples"][group["sample"]]
        keys = {key: described[key] for key in KEY if key in described}
        yield _group(group, {**questions[group["sample"]], **keys}, group["answers"])


def read_formed() -> Iterator[OrderedGroup]:
    """Groups whose answers are in the form that the rewards read."""
    questions = {name: _questions(name) for name in (ORDERED, HELD_OUT)}
    for group in _read(FORMED)["groups"]:
        levels = [level if isinstance(level, list) else [level] for level in group["answers"]]
        columns = questions[group["file"]][group["sample"]]
        yield _group(group, columns, [list(map(_formed, level)) for level in levels])


def _formed(answer: dict[str, Any]) -> str:
    block = "".join(f"{line}\n" for line in answer["claims"])
    return f"<think>\n<claims>\n{block}</claims></think>\n<answer>{answer['answer']}</answer>"


def read_columns(name: str) -> list[dict[str, Any]]:
    """The columns of every question of a file, also of those without answers."""
    return list(_questions(name).values())


def read_samples(name: str) -> list[RewardSample]:
    """Every question of a file."""
    return [read_sample(row) for row in read_columns(name)]


def _questions(name: str) -> dict[str, dict[str, Any]]:
    samples = _read(name)["samples"]
    clips = {key: samples[one["like"]] if "like" in one else one for key, one in samples.items()}
    return {key: _columns(clips[key], *described["asked"]) for key, described in samples.items()}


def _columns(clip: dict[str, Any], left_out: int | str, outcome: int) -> dict[str, Any]:
    actions = [{"id": f"A{at:02}", "start": float(at), "text": text} for at, text in enumerate(clip["actions"])]
    links = [{"cause": f"A{cause - 1:02}", "effect": f"A{effect - 1:02}"} for cause, effect in clip["links"]]
    return {
        "graph": json.dumps({"clip": "clip.mp4", "task": "", "actions": actions, "links": links}),
        "action": None if isinstance(left_out, str) else f"A{left_out - 1:02}",
        "absent_action": left_out if isinstance(left_out, str) else None,
        "outcome": f"A{outcome - 1:02}",
    }
