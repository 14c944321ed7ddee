"""A stage of a training by ms-swift: its rows, configuration and provenance, its resumable run, and its export."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import lmms_eval_tasks
from lmms_eval_tasks.runs.run_card import Stage, TrainedOn, read_trained_on
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import file_sha256, write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.text import describe

# ---- the configuration: one YAML file, with GRPO's settings and a user's own rewards -------------------------------

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


# ---- rows, provenance, and the run of a written stage --------------------------------------------------------------

VIDEO_TAG = "<video>"
"""Where ms-swift puts the clip into a message."""
MEDIA_TAGS = (VIDEO_TAG, "<image>", "<audio>")


@dataclass(frozen=True)
class TrainingItem:
    item_id: str
    clip: Path
    prompt: str
    response: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""

    def row(self) -> dict[str, Any]:
        messages = [{"role": "user", "content": f"{VIDEO_TAG}{self.prompt}"}]
        if self.response is not None:
            messages.append({"role": "assistant", "content": self.response})
        return {"messages": messages, "videos": [str(self.clip.absolute())], **self.columns}


def check_items(items: Iterable[TrainingItem], issues: Problems) -> None:
    """Note items that ms-swift could not train on: clips that are not there, texts with its marks for media."""
    present: dict[Path, bool] = {}
    for item in items:
        if item.clip not in present:
            present[item.clip] = item.clip.is_file()
            if not present[item.clip]:
                issues.add("clips", "Expected each to be there, but there is no", str(item.clip))
        for tag in MEDIA_TAGS:
            if tag in item.prompt or tag in (item.response or ""):
                issues.add("texts", f"Expected none with {tag}, which ms-swift takes for a clip, but got", item.item_id)
        if clash := [name for name in ("messages", "videos") if name in item.columns]:
            issues.add("columns", "Expected other names, but got", f"{describe(clash[0])} ({item.item_id})")


STATE = "trainer_state.json"
"""What a checkpoint's folder gets last: without it the checkpoint is not whole."""


def last_checkpoint(folder: Path) -> Path | None:
    """The whole checkpoint with the most steps in a folder of `checkpoint-N`; None where there is none."""
    steps = {}
    for path in folder.glob("checkpoint-*"):
        number = path.name.removeprefix("checkpoint-")
        try:
            is_whole = isinstance(json.loads((path / STATE).read_text(encoding="utf-8")), dict)
        except (OSError, ValueError):
            is_whole = False
        if number.isdecimal() and is_whole:
            steps[int(number)] = path
    return steps[max(steps)] if steps else None


def run_swift(environment: Path, words: Sequence[str], folder: Path) -> None:
    """Run `swift` and wait for its end; what it prints is seen as it comes."""
    swift = environment.expanduser().absolute() / "bin" / "swift"
    if not (swift.is_file() and os.access(swift, os.X_OK)):
        raise InputError(
            f"Expected --env to name an environment with ms-swift, but there is no {swift}.\n"
            "Remedy: make train-env TRAIN_VENV=DIR, and give --env DIR."
        )
    command = [str(swift), *words]
    # swift finds torchrun and its own parts by the environment's Python; ours must not lead it elsewhere.
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    path = os.pathsep.join([str(swift.parent), inherited.get("PATH", "")])
    ended = subprocess.run(command, cwd=folder, env={**inherited, "PATH": path}, check=False, stdin=subprocess.DEVNULL)
    if ended.returncode:
        raise InputError(
            f"ms-swift failed with status {ended.returncode}; its own messages above say why. To see them again:\n"
            f"  {shlex.join(command)}\n"
            "A training resumes from its last checkpoint when the same command is given again."
        )


PATHS = ("model", "dataset", "output_dir", "external_plugins")
"""Options that are left out of what weights were trained on: places on a disk, and what it says elsewhere."""


@dataclass(frozen=True)
class Inputs:
    source: Path
    out: Path
    model: str
    model_type: str
    videos: Path | None = None
    tests: Sequence[Path] = ()
    frames: Frames = field(default_factory=Frames)
    options: Mapping[str, Any] = field(default_factory=dict)
    rewards: OwnRewards = field(default_factory=OwnRewards)


def log_path(folder: Path) -> Path:
    return folder / CHECKPOINTS / LOG


def write_training(
    inputs: Inputs, method: Method, items: Sequence[TrainingItem], data: Sequence[Path], compared_with: Sequence[str]
) -> Path:
    """Write rows, configuration and provenance into a folder; the same training again changes nothing."""
    issues = Problems()
    check_items(items, issues)
    issues.raise_if_any("The training set cannot be used", "nothing was written")
    folder = inputs.out
    rows, path = folder / f"{method.name}.jsonl", folder / f"{method.name}.yaml"
    # ms-swift runs in the folder of the stage.
    model = str(Path(inputs.model).absolute()) if Path(inputs.model).is_dir() else inputs.model
    options = base_options(model, inputs.model_type, rows, folder / CHECKPOINTS)
    options |= {**method.settings, **inputs.options}
    environment = inputs.frames.environment(str(options["model_type"]))
    text = configuration_text(method.subcommand, path.name, environment, options)
    beside = rows.with_name(f"{rows.name}.new")
    write_file(beside, as_lines(item.row() for item in items))
    try:
        if log_path(folder).exists() or last_checkpoint(folder / CHECKPOINTS):
            same = {
                path.name: path.is_file() and path.read_text(encoding="utf-8") == text,
                rows.name: rows.is_file() and file_sha256(rows) == file_sha256(beside),
            }
            if changed := [name for name, is_same in same.items() if not is_same]:
                raise InputError(
                    f"{folder} holds another training that has begun: {' and '.join(changed)} would change. Nothing "
                    "was written.\nRemedy: give --out another folder; only the command that began it resumes it."
                )
        beside.replace(rows)
    finally:
        beside.unlink(missing_ok=True)
    write_file(path, text)
    stage = Stage(
        method=method.title,
        data=digests_by_name(data),
        items=len(items),
        clips=len({item.clip for item in items}),
        rows_sha256=file_sha256(rows),
        options={
            **{name: value for name, value in options.items() if name not in PATHS},
            ENVIRONMENT: environment,
        },
    )
    earlier, compared = read_trained_on(Path(model)), {*compared_with}
    TrainedOn(
        base=earlier.base if earlier else model,
        stages=(*(earlier.stages if earlier else ()), stage),
        compared_with=tuple(sorted(compared & {*earlier.compared_with} if earlier else compared)),
        tool_version=lmms_eval_tasks.__version__,
    ).write(folder)
    return path


def digests_by_name(files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of files by their names, with as many folders before the name as tell them apart."""
    digests = {}
    different = list(dict.fromkeys(path.absolute() for path in files))
    for path in different:
        others = [other.parts for other in different if other != path]
        number = 1
        while any(other[-number:] == path.parts[-number:] for other in others):
            number += 1
        digests["/".join(path.parts[-number:])] = file_sha256(path)
    return digests


def run_training(folder: Path, name: str, subcommand: str, environment: Path) -> bool:
    """Run a stage that was written, from its last checkpoint where there is one."""
    checkpoint = last_checkpoint(folder / CHECKPOINTS)
    words = [subcommand, f"{name}.yaml"]
    if checkpoint is not None:
        done, steps = steps_of(checkpoint)
        if 0 < steps <= done:
            return False
        words += ["--resume_from_checkpoint", str(checkpoint.absolute())]
    run_swift(environment, words, folder.absolute())
    return True


def steps_of(checkpoint: Path) -> tuple[int, int]:
    """Return the number of steps a checkpoint has completed and the number planned for its training."""
    state = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    return int(state.get("global_step") or 0), int(state.get("max_steps") or 0)


ONLY_TO_GO_ON = (
    "optimizer*", "scheduler*", "rng_state*", "global_step*", "latest*", "zero_to_fp32.py", STATE, "training_args.bin",
    "args.json",
)  # fmt: skip


def export_weights(folder: Path, out: Path, environment: Path) -> TrainedOn:
    """Write the weights of a stage's last checkpoint, merged with the model's, with what they were trained on."""
    trained = read_trained_on(folder)
    checkpoint = last_checkpoint(folder / CHECKPOINTS)
    if trained is None or checkpoint is None:
        raise InputError(f"Expected the folder of a training with a checkpoint, but got {folder}.")
    if out.exists() and any(out.iterdir()):
        raise InputError(f"Expected --out to be a new folder, but {out} is not empty. Nothing was written.")
    done, steps = steps_of(checkpoint)
    # Written in the end, and moved into its place: half of the weights must not look like all of them.
    beside = out.absolute().with_name(f".{out.name}.part")
    merge = ["--merge_lora", "true", "--exist_ok", "true", "--output_dir", str(beside)]
    shutil.rmtree(beside, ignore_errors=True)
    if (checkpoint / "adapter_config.json").is_file():
        run_swift(environment, ["export", "--adapters", str(checkpoint.absolute()), *merge], folder.absolute())
    else:
        # A full fine-tuning, without what only a training that goes on needs.
        shutil.copytree(checkpoint, beside, ignore=shutil.ignore_patterns(*ONLY_TO_GO_ON))
    last = trained.stages[-1].model_copy(update={"steps": done, "all_steps": steps})
    trained = trained.model_copy(update={"stages": (*trained.stages[:-1], last)})
    trained.write(beside)
    if out.exists():
        out.rmdir()
    beside.replace(out.absolute())
    return trained
