"""What a run was made with, gathered when lmms-eval has saved its results, for the run card.

Nothing here may end a run: a field that cannot be found is null, and the section `not known` says why.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.host.environment import HARDWARE, PACKAGES, SOFTWARE, Unknown, package_version
from lmms_eval_tasks.host.hosting import session
from lmms_eval_tasks.host.judge import read_settings
from lmms_eval_tasks.host.weights import tell, weights_identity
from lmms_eval_tasks.utils.benchmark.card import benchmarks, read_card
from lmms_eval_tasks.utils.core.arguments import parse_arguments
from lmms_eval_tasks.utils.core.redaction import hide_secrets
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.data.manifest import SplitManifest
from lmms_eval_tasks.utils.evidence.shown_frames import qwen_limits
from lmms_eval_tasks.utils.judge.client import Sampling
from lmms_eval_tasks.utils.prompting.prompts import OFFICIAL, Prompt
from lmms_eval_tasks.utils.runs.run_card import NOT_KNOWN, TASK, Value

SETTINGS = ("LMMS_EVAL_TASKS_MISSING", "LMMS_EVAL_TASKS_PROMPT", "LMMS_EVAL_TASKS_BOXES", "LMMS_EVAL_TASKS_JUDGE")
"""Always in the card, so that unset and unknown are told apart."""
DECODER_CHOICE = "FORCE_QWENVL_VIDEO_READER"
PREFIX = "LMMS_EVAL_TASKS_"
FRAMES: Mapping[str, tuple[str, ...]] = {
    "frames": ("max_num_frames", "max_frames_num", "num_frame", "num_frames", "nframes", "max_frames", "frames"),
    "fps": ("fps", "video_fps", "sample_fps"),
    "least pixels": ("min_pixels",),
    "most pixels": ("max_pixels",),
    "height": ("height",),
    "width": ("width",),
}
"""What a card says of the frames shown, and what the host's adapters call it."""
DENOISING = ("protocol", "steps", "draws", "combine", "target", "prompt", "seed", "tiling")
"""What a card says of how denoising losses were measured."""
CHECKPOINTS = ("pretrained", "model_version", "model", "model_name", "model_id", "path")


class _Sections:
    """The sections of a card as they are gathered."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Value]] = {}
        self._reasons: dict[str, Value] = {}

    def add(self, section: str, field: str, find: Callable[[], Any]) -> None:
        """Add what a function finds, or null and why it finds nothing."""
        value: Any = None
        try:
            value = find()
        except Unknown as reason:
            self._reasons[f"{section}.{field}"] = str(reason)
        except Exception as error:  # a card never ends a run
            self._reasons[f"{section}.{field}"] = f"{type(error).__name__}: {error}"
        else:
            if value is None:
                self._reasons[f"{section}.{field}"] = "the host does not say"
        self.found.setdefault(section, {})[field] = _plain(value)

    def finish(self) -> dict[str, dict[str, Value]]:
        """All sections, without keys, and the reasons last."""
        sections = {**self.found, **({NOT_KNOWN: self._reasons} if self._reasons else {})}
        return {
            section: {
                field: hide_secrets(value, os.environ) if isinstance(value, str) else value
                for field, value in fields.items()
            }
            for section, fields in sections.items()
        }


def _plain(value: Any) -> Value:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return str(value) if not isfinite(value) else int(value) if value.is_integer() else value
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(value)


def our_tasks(results: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tasks of a run that open our data, each with its pointer; of other people's tasks none.

    Args:
        results: What the host saves: ``configs`` names of each task the files of its data set.
    """
    found = {}
    for task, config in results.get("configs", {}).items():
        files = ((config.get("dataset_kwargs") or {}).get("data_files") or {}) if isinstance(config, Mapping) else {}
        for file in files.values() if isinstance(files, Mapping) else ():
            try:
                pointer = json.loads(Path(str(file)).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if isinstance(pointer, dict) and pointer.get("benchmark") in benchmarks():
                found[task] = pointer
    return found


def gather(results: Mapping[str, Any]) -> dict[str, dict[str, Value]]:
    """The sections of the card of the run that has just ended in this process.

    Args:
        results: What the host has saved of it.

    Returns:
        Section to field to value; empty where no task of ours ran.
    """
    tasks = our_tasks(results)
    if not tasks:
        return {}
    sections = _Sections()
    config = results.get("config") or {}
    options = config.get("resolved_cli_args") or {}
    for task, pointer in tasks.items():
        _add_task(sections, task, pointer, results)
    _add_model(sections, config, results)
    _add_frames(sections, config)
    measured = tell(session.model, "engine", "facts")
    for name in DENOISING if measured else ():
        sections.add("denoising", name, partial(measured.__getitem__, name))
    for name in ("random", "numpy", "torch", "fewshot"):
        sections.add("seeds", name, partial(config.__getitem__, f"{name}_seed"))
    _add_run(sections, config, options, results)
    for package in PACKAGES:
        sections.add("software", package, partial(package_version, package))
    for name, find in SOFTWARE.items():
        sections.add("software", name, find)
    sections.add("hardware", "device", _device)
    for name, find in HARDWARE.items():
        sections.add("hardware", name, find)
    others = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in SETTINGS)
    for name in (*SETTINGS, *others, DECODER_CHOICE):
        sections.add("settings", name, partial(os.environ.get, name, "not set"))
    return sections.finish()


def _add_task(sections: _Sections, task: str, pointer: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    section = f"{TASK}{task}"
    benchmark, split = pointer["benchmark"], pointer["split"]
    config = results["configs"][task]

    def prepared() -> SplitManifest:
        return read_manifest(benchmark).splits[split]

    sections.add(section, "version", lambda: results["versions"][task])
    sections.add(section, "benchmark", lambda: f"{benchmark}, split {split}")
    sections.add(section, "data", lambda: "sample data" if prepared().sample else "released data")
    sections.add(section, "data source", lambda: prepared().source)
    sections.add(section, "data revision", lambda: prepared().revision or "not from the hub")
    sections.add(section, "data sha256", lambda: prepared().table_sha256)
    sections.add(section, "release sha256", lambda: dict(prepared().source_sha256))
    sections.add(section, "prepared by", lambda: f"lmms-eval-tasks {read_manifest(benchmark).tool_version}")
    sections.add(section, "missing clips", lambda: len(prepared().missing))
    sections.add(section, "items", lambda: results["n-samples"][task]["effective"])
    if "prompt" in (config.get("lmms_eval_specific_kwargs") or {}):
        sections.add(section, "prompt", lambda: _prompt(task, benchmark).prompt_id)
        sections.add(section, "prompt sha256", lambda: _prompt(task, benchmark).sha256)
        sections.add(section, "official prompt", lambda: _standing(_prompt(task, benchmark)))
    if benchmark in session.configurations:
        chosen = session.configurations[benchmark]
        sections.add(section, "boxes", lambda: chosen.convention.value)
        sections.add(section, "hits", lambda: vars(chosen.settings))
    if pointer.get("judged"):
        sections.add(section, "judge", _judge)
    sections.add(section, "extractor", lambda: read_card(benchmark).extractor_of(task))
    sections.add(section, "generation", lambda: config["generation_kwargs"])
    sections.add(section, "repeats", lambda: config["repeats"])
    sections.add(section, "fewshot examples", lambda: config["num_fewshot"])


def _judge() -> str:
    settings = read_settings()
    return "none" if settings is None else settings.model_dump_json(include=set(Sampling.__dataclass_fields__))


def _prompt(task: str, benchmark: str) -> Prompt:
    found = session.asked.get(task) or session.asked.get(benchmark)
    if found is None:
        raise Unknown("no item of it was asked by this rank")
    return found


def _standing(prompt: Prompt) -> str:
    """Whether a prompt is the official text; where no source tells its digest, nobody can say."""
    if prompt.prompt_id.startswith(f"{OFFICIAL}-"):
        return "not verified"
    return "yes" if prompt.prompt_id == OFFICIAL else "no"


def _add_model(sections: _Sections, config: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    arguments = parse_arguments(config.get("model_args"))
    sections.add("model", "name", lambda: config["model"])
    sections.add("model", "class", lambda: config["model_backend"])
    sections.add("model", "arguments", lambda: config["model_args"])
    sections.add("model", "checkpoint", lambda: _checkpoint(arguments))
    sections.add("model", "revision", lambda: _revision(arguments))
    sections.add("model", "precision", _precision)
    sections.add("model", "system instruction", lambda: results.get("system_instruction") or "none")
    sections.add("model", "chat template", lambda: results.get("chat_template_sha") or "the model's own")


def _is_ours() -> bool:
    return type(session.model).__module__.startswith(f"{lmms_eval_tasks.__name__}.")


def _checkpoint(arguments: Mapping[str, str]) -> str:
    for found in (
        tell(session.model, "engine", "settings", "pretrained"),
        *(arguments.get(name) for name in CHECKPOINTS),
        *(tell(session.model, name) for name in CHECKPOINTS),
    ):
        if isinstance(found, str) and found:
            return found
    raise Unknown("the model has no checkpoint" if _is_ours() else "no argument or attribute of the model names one")


def _revision(arguments: Mapping[str, str]) -> str:
    """The checkpoint's commit: as the loaded model tells it, as the hub's cache does, or as it was asked for.

    Of a folder, a digest of its files' names, sizes and times.
    """
    if session.weights.commit:
        return session.weights.commit
    try:
        checkpoint = _checkpoint(arguments)
    except Unknown:
        if _is_ours():
            return f"lmms-eval-tasks {lmms_eval_tasks.__version__}"
        raise
    asked = arguments.get("revision")
    folder = Path(checkpoint).expanduser().is_dir()
    found = weights_identity(checkpoint, asked)
    if found is None and asked is None:
        raise Unknown("neither the loaded model nor the hub's cache tells it")
    return f"a folder whose files are {found}" if folder else str(found or asked)


def _precision() -> str:
    if session.weights.precision is None:
        raise Unknown("the model does not say")
    return session.weights.precision


def _add_frames(sections: _Sections, config: Mapping[str, Any]) -> None:
    """Frames as they were asked for; names are one for all adapters, so that runs of two models can be compared."""
    arguments = parse_arguments(config.get("model_args"))
    model = session.model
    if _is_ours() and not tell(model, "shows_clips"):
        sections.add("frames", "frames", lambda: "none: this model looks at no clip")
        return
    settings = tell(model, "engine", "settings")

    def find(names: Sequence[str]) -> Any:
        for name in names:
            for holder in (settings, model):
                if isinstance(value := tell(holder, name), (int, float, str)):
                    return value
            if name in arguments:
                return arguments[name]
        if any(name in vars(model) for name in names):
            return "not set"
        raise Unknown("no argument or attribute of the model names it")

    for field, names in FRAMES.items():
        sections.add("frames", field, partial(find, names))
    sections.add("frames", "pixels of a frame", _pixels)


def _pixels() -> str:
    limits = qwen_limits(session.model)
    if limits is None:
        raise Unknown("the model has no such limits, or so many frames that they depend on the clip")
    return f"{limits.least} to {limits.most}"


def _add_run(
    sections: _Sections, config: Mapping[str, Any], options: Mapping[str, Any], results: Mapping[str, Any]
) -> None:
    sections.add("run", "date", lambda: results["date"])
    sections.add("run", "command", lambda: shlex.join(sys.argv))
    sections.add("run", "tasks", lambda: options["tasks"])
    sections.add("run", "limit", lambda: "none" if config["limit"] in (None, -1) else config["limit"])
    sections.add("run", "offset", lambda: config["offset"])
    sections.add("run", "batch size", lambda: config["batch_size"])
    sections.add("run", "ranks", _ranks)
    sections.add("run", "wall time in s", lambda: round(float(results["total_evaluation_time_seconds"]), 1))
    sections.add("run", "reasoning tags", lambda: options["reasoning_tags"])
    sections.add("run", "response cache", lambda: config["use_cache"] or "none")


def _ranks() -> int:
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        return int(dist.get_world_size())
    return int(os.environ.get("WORLD_SIZE", "1"))


def _device() -> str:
    device = tell(session.model, "device")
    if device is None:
        raise Unknown("the model does not say")
    return str(device)
