"""The answers that were ordered by hand, as samples and levels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.train.rewards.sample import RewardSample, read_sample

FOLDER = Path(__file__).parents[1] / "train" / "rewards"
ORDERED = "ordered_answers.json"
HELD_OUT = "ordered_answers_held_out.json"
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


def read_groups(name: str) -> Iterator[OrderedGroup]:
    content = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    samples = content["samples"]
    for group in content["groups"]:
        described = samples[group["sample"]]
        clip = samples[described["like"]] if "like" in described else described
        levels = tuple(tuple([level] if isinstance(level, str) else level) for level in group["answers"])
        yield OrderedGroup(
            f"{group['sample']}: {group['about']}",
            group["reward"],
            {**columns(clip, described["asked"]), **{name: described[name] for name in KEY if name in described}},
            levels,
        )


def read_samples(name: str) -> Iterator[RewardSample]:
    """Every question of a file, also those without answers."""
    samples = json.loads((FOLDER / name).read_text(encoding="utf-8"))["samples"]
    for described in samples.values():
        clip = samples[described["like"]] if "like" in described else described
        yield read_sample(columns(clip, described["asked"]))


def columns(clip: dict[str, Any], asked: list[Any]) -> dict[str, Any]:
    actions = [{"id": f"A{at:02}", "start": float(at), "text": text} for at, text in enumerate(clip["actions"])]
    links = [{"cause": f"A{cause - 1:02}", "effect": f"A{effect - 1:02}"} for cause, effect in clip["links"]]
    left_out, outcome = asked
    absent = left_out if isinstance(left_out, str) else None
    return {
        "graph": json.dumps({"clip": "clip.mp4", "task": "", "actions": actions, "links": links}),
        "action": None if absent else f"A{left_out - 1:02}",
        "absent_action": absent,
        "outcome": f"A{outcome - 1:02}",
    }
