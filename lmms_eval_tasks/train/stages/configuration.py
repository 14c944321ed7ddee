"""The configuration of a training by ms-swift: one YAML file, with GRPO's settings and a user's own rewards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_tasks.utils.core.errors import InputError

ENVIRONMENT = "ENV"
FRAMES, SIDE = 512, 144
"""Frames of a clip in the paper, and pixels of a frame's side."""
FRAMES_PER_SECOND = 30
"""So many frames are taken, and of those as many as are asked for, evenly spread: all of a shorter clip."""
LEAST_TOKENS = 4
"""Of a frame, so that none is enlarged."""
SYSTEM = "You are a helpful assistant."
"""The system message with which lmms-eval 0.7.3 asks every Qwen-VL; ms-swift by itself has none for Qwen3-VL."""
CHECKPOINTS = "checkpoints"
LOG = "logging.jsonl"
OURS = ("dataset", "output_dir", "add_version", "resume_from_checkpoint", ENVIRONMENT)
"""Options that the command sets itself."""

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Frames:
    number: int = FRAMES
    side: int = SIDE

    def environment(self, model_type: str) -> dict[str, str]:
        """The environment variables by which ms-swift and qwen-vl-utils 0.0.14 read clips for a type of model."""
        token = 32 if model_type.startswith("qwen3") else 28
        return {
            "FPS": str(FRAMES_PER_SECOND),
            "FPS_MAX_FRAMES": str(self.number),
            "VIDEO_MIN_TOKEN_NUM": str(LEAST_TOKENS),
            "VIDEO_MAX_TOKEN_NUM": str(max(LEAST_TOKENS, self.side**2 // token**2)),
            "FORCE_QWENVL_VIDEO_READER": "decord",
        }


def configuration_text(subcommand: str, file: str, environment: Mapping[str, str], options: Options) -> str:
    """The YAML file of a training, which begins with how to run it; it sets the environment's variables as well."""
    head = f"# Run it again, or with other values:  swift {subcommand} {file}\n"
    values = {ENVIRONMENT: dict(environment), **options}
    return head + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=120)


def base_options(model: str, model_type: str, dataset: Path, out: Path) -> dict[str, Any]:
    """Options of every training: LoRA of rank 16 for three epochs; rows that cannot be used end it."""
    return {
        "model": model,
        "model_type": model_type,
        "template": model_type,
        **({"system": SYSTEM} if model_type.startswith("qwen") else {}),
        "use_hf": True,
        "dataset": [str(dataset.absolute())],
        "load_from_cache_file": False,
        # Without it ms-swift leaves out rows that it cannot read, or that are longer than max_length.
        "strict": True,
        "max_length": 16384,
        "tuner_type": "lora",
        "lora_rank": 16,
        "num_train_epochs": 3,
        "per_device_train_batch_size": 1,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": 100,
        "save_total_limit": 2,
        "output_dir": str(out.absolute()),
        "add_version": False,
    }


def read_options(words: Sequence[str]) -> dict[str, Any]:
    """Further options of ms-swift from the words of a command line: `--deepspeed zero2 --modules_to_save a b`."""
    options: dict[str, list[Any]] = {}
    values: list[Any] = []
    for word in words:
        if not word.startswith("--"):
            if not options:
                raise InputError(f"Expected options of ms-swift as --name value, but got {word!r}.")
            values.append(_value(word))
            continue
        name, equals, text = word[2:].partition("=")
        name = name.replace("-", "_")
        if not name or name in options or name in OURS:
            reason = "twice" if name in options else "which this command sets itself" if name in OURS else "without one"
            raise InputError(f"Expected each option of ms-swift by its name and once, but got {word!r}, {reason}.")
        values = options[name] = [_value(text)] if equals else []
    # An option without a value is a switch.
    return {name: values[0] if len(values) == 1 else values or True for name, values in options.items()}


def _value(text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    # YAML 1.1 reads `no`, which is a choice of --save_strategy, as false.
    if isinstance(value, bool) and text.lower() not in ("true", "false"):
        return text
    # It reads 5e-5, without a point, as a text; ms-swift takes the text as well.
    return value if isinstance(value, (bool, int, float, str)) else text


SFT, GRPO = "sft", "grpo"
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


@dataclass(frozen=True)
class Method:
    """What a stage is called, in files and in `trained_on.json`, and how ms-swift trains in it."""

    name: str
    title: str
    subcommand: str
    settings: Mapping[str, Any]


def sft_method(title: str) -> Method:
    # The rate of CFGPT's first stage.
    return Method(SFT, title, SFT, {"learning_rate": 5e-5})


def grpo_method(title: str, weights: Mapping[str, float], plugin: Path, own: OwnRewards, options: Options) -> Method:
    if taken := [name for name in own.weights if name in weights]:
        raise InputError(f"Expected --reward to name other rewards than {', '.join(weights)}, but got {taken[0]}.")
    if given := [name for name in REWARD_OPTIONS if name in options]:
        raise InputError(
            f"Expected rewards by --reward NAME=WEIGHT, and the files that they are in by --plugin FILE, but got "
            f"--{given[0]}, which this command writes itself."
        )
    every = {**weights, **own.weights}
    if not any(every.values()):
        raise InputError(f"Expected a reward with a weight, but {', '.join(every)} have 0.")
    settings = {
        **SETTINGS,
        "external_plugins": [str(path) for path in (plugin, *own.plugins)],
        "reward_funcs": list(every),
        "reward_weights": list(every.values()),
    }
    return Method(GRPO, f"grpo ({title}){own.summary}", "rlhf", settings)
