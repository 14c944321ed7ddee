"""GRPO by ms-swift: its settings, and its rewards, ours and those of a user's own plugins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.errors import InputError

GRPO = "grpo"
SUBCOMMAND = "rlhf"
ANSWERS_A_QUESTION = 4
SETTINGS: Mapping[str, Any] = {
    "rlhf_type": "grpo",
    "learning_rate": 1e-5,
    "num_generations": ANSWERS_A_QUESTION,
    "temperature": 0.9,
    "max_completion_length": 1024,
    # ms-swift counts answers: a step is made of all answers to a question on each GPU.
    "per_device_train_batch_size": ANSWERS_A_QUESTION,
    "gradient_accumulation_steps": 1,
    "log_completions": True,
}
"""K, learning rate and temperature of CFGPT's paper; answers as long as the tasks allow them in an evaluation."""
REWARD_OPTIONS = ("reward_funcs", "reward_weights", "external_plugins")
"""Options of ms-swift that hold the rewards, which the command writes."""


@dataclass(frozen=True)
class OwnRewards:
    """Rewards that a user adds to those of a command."""

    weights: Mapping[str, float] = field(default_factory=dict)
    plugins: Sequence[Path] = ()

    @property
    def summary(self) -> str:
        """Phrase for the rewards in `trained_on.json`, following the method; empty if there are none."""
        return f" with {', '.join(self.weights)}" if self.weights else ""


def read_own_rewards(texts: Iterable[str], plugins: Iterable[Path]) -> OwnRewards:
    """Rewards from a command line: each `NAME` or `NAME=WEIGHT`, with a weight of 1 where none is given."""
    weights: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        name = name.strip()
        try:
            weight = float(number) if equals else 1.0
        except ValueError:
            weight = math.nan
        if not name or not math.isfinite(weight):
            raise InputError(f"Expected --reward as NAME or NAME=WEIGHT, but got {text!r}.")
        if name in weights:
            raise InputError(f"Expected each --reward once, but got {name} again.")
        weights[name] = weight
    files = tuple(path.expanduser().absolute() for path in plugins)
    for path in files:
        if not path.is_file():
            raise InputError(f"Expected --plugin to name a Python file, but there is no {path}.")
    return OwnRewards(weights, files)


def grpo_settings(
    weights: Mapping[str, float], plugin: Path, own: OwnRewards, options: Mapping[str, Any]
) -> dict[str, Any]:
    """ms-swift's options for a stage of GRPO."""
    if taken := [name for name in own.weights if name in weights]:
        raise InputError(f"Expected --reward to name rewards beside {', '.join(weights)}, but got {taken[0]}.")
    if given := [name for name in REWARD_OPTIONS if name in options]:
        raise InputError(
            f"Expected rewards by --reward NAME=WEIGHT, and the files that they are in by --plugin FILE, but got "
            f"--{given[0]}, which this command writes itself."
        )
    every = {**weights, **own.weights}
    if not any(every.values()):
        raise InputError(f"Expected a reward with a weight, but {', '.join(every)} have 0.")
    return {
        **SETTINGS,
        "external_plugins": [str(path) for path in (plugin, *own.plugins)],
        "reward_funcs": list(every),
        "reward_weights": list(every.values()),
    }
