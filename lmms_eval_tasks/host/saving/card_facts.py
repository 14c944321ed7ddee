"""Which known hazards apply to a run of lmms-eval, for its run card."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import lmms_eval_tasks
from lmms_eval_tasks.host.environment import HARDWARE, PACKAGES, SOFTWARE, Unknown, installed_version, package_version
from lmms_eval_tasks.host.model.model_identity import get_nested_attr, weights_identity
from lmms_eval_tasks.host.model.readers import CHOICE
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState, shows_videos
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_card import (
    APPLIES,
    DOES_NOT_APPLY,
    FILE,
    HAZARD,
    HAZARDS,
    NOT_KNOWN,
    TASK,
    TRAINED_ON,
    RunFacts,
    Value,
    applies,
    known_hazards,
    read_trained_on,
)
from lmms_eval_tasks.utils.answers.evidence_boxes import qwen_limits
from lmms_eval_tasks.utils.benchmark.benchmark import extractor_of
from lmms_eval_tasks.utils.core.prompt import OFFICIAL, Prompt
from lmms_eval_tasks.utils.core.text import JUDGE, MISSING, PREFIX, PROMPT, hide_secrets, parse_arguments
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.judge.named import read_settings
from lmms_eval_tasks.utils.judge.replies import Sampling

HOST_MODELS = "lmms_eval.models."
ATTRIBUTES: Mapping[str, tuple[str, ...]] = {"batch_size": ("batch_size", "batch_size_per_gpu")}
"""Arguments that lmms-eval's adapters keep under other names than their own."""
NO_VALUE = frozenset({"", "none"})
"""Texts by which an argument of lmms-eval's command line is left unset."""


def hazard_fields(
    evaluation: Evaluation, arguments: Mapping[str, str], batch_size: object
) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Fields of a card, each with its section and what finds it, which may raise; this does not."""
    try:
        hazards = known_hazards()
    except Exception as error:  # a card never ends a run
        yield HAZARDS, FILE.name, partial(_fail, error)
        return
    applying: dict[str, dict[str, str]] = {}
    for name, hazard in hazards.items():
        try:
            facts = _facts(evaluation, {"batch_size": str(batch_size), **arguments})
            if applies(hazard, facts):
                applying[name] = hazard.found(facts)
        except Exception as error:  # whatever a fact's finder raises
            yield HAZARDS, name, partial(_fail, error)
        else:
            yield HAZARDS, name, partial(str, APPLIES if name in applying else DOES_NOT_APPLY)
    for name, found in applying.items():
        yield from ((f"{HAZARD}{name}", field, partial(str, text)) for field, text in found.items())


def _fail(error: Exception) -> str:
    raise error


def _facts(evaluation: Evaluation, arguments: Mapping[str, str]) -> RunFacts:
    model = evaluation.model
    if model is None:
        raise Unknown("which model ran is not known")
    return RunFacts(
        adapter=adapter_of(type(model)),
        weights=evaluation.weights.family,
        shows_videos=shows_videos(evaluation),
        version=version_of,
        argument=partial(_argument, model, arguments),
        reader=evaluation.clip_reader,
    )


def adapter_of(kind: type) -> str:
    """The module with the code by which a class of models answers, without lmms-eval's own prefix."""
    owner = next((base for base in kind.__mro__ if "generate_until" in vars(base)), kind)
    return owner.__module__.removeprefix(HOST_MODELS)


def version_of(package: str) -> str | None:
    """The version of a package, also where another one brings its module, as eva-decord does; None where none does."""
    if version := installed_version(package):
        return version
    others = metadata.packages_distributions().get(package.replace("-", "_"), ())
    return next((metadata.version(other) for other in others), None)


def _argument(model: Any, arguments: Mapping[str, str], name: str) -> Any:
    for attribute in ATTRIBUTES.get(name, (name,)):
        value = get_nested_attr(model, attribute)
        if isinstance(value, (bool, int, float, str)):
            return value
    typed = arguments.get(name, "")
    return None if typed.lower() in NO_VALUE else typed


FRAMES: Mapping[str, tuple[str, ...]] = {
    "frames": ("max_num_frames", "max_frames_num", "num_frame", "num_frames", "nframes", "max_frames", "frames"),
    "fps": ("fps", "video_fps", "sample_fps"),
    "least pixels": ("min_pixels",),
    "most pixels": ("max_pixels",),
    "height": ("height",),
    "width": ("width",),
}
"""The card's names for how frames are sampled, and the names that lmms-eval's adapters use."""
DENOISING = ("protocol", "steps", "draws", "combine", "target", "prompt", "seed", "tiling")
"""What a card says of how denoising losses were measured."""
CHECKPOINTS = ("pretrained", "model_version", "model", "model_name", "model_id", "path")

V = TypeVar("V")
Find = Callable[[], Any]
Field = tuple[str, str, Find]
"""Section, name, and what finds the value; it may raise, and `Unknown` says why there is none."""


@dataclass(frozen=True)
class Source:
    """Sources from which the card of a run is gathered."""

    results: Mapping[str, Any]
    evaluation: Evaluation
    config: Mapping[str, Any]
    arguments: Mapping[str, str]

    @property
    def model(self) -> Any:
        return self.evaluation.model

    @property
    def is_ours(self) -> bool:
        """Whether the model is one of this package."""
        return type(self.model).__module__.startswith(f"{lmms_eval_tasks.__name__}.")


def gather(results: Mapping[str, Any], evaluation: Evaluation) -> dict[str, dict[str, Value]]:
    """The card of a run that has just ended in this process, from lmms-eval's results: section to field to value."""
    config = results.get("config") or {}
    source = Source(results, evaluation, config, parse_arguments(config.get("model_args")))
    sections: dict[str, dict[str, Value]] = {}
    reasons: dict[str, Value] = {}
    for section, name, find in _fields(source):
        value: Any = None
        try:
            value = find()
            if value is None:
                reasons[f"{section}.{name}"] = "lmms-eval does not say"
        except Unknown as reason:
            reasons[f"{section}.{name}"] = str(reason)
        except Exception as error:  # a card never ends a run
            reasons[f"{section}.{name}"] = f"{type(error).__name__}: {error}"
        sections.setdefault(section, {})[name] = _plain(value)
    if reasons:
        sections[NOT_KNOWN] = reasons
    return {
        section: {
            name: hide_secrets(value, os.environ) if isinstance(value, str) else value for name, value in fields.items()
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


def _fields(source: Source) -> Iterator[Field]:
    """Every field of a card, in its order."""
    results, config = source.results, source.config
    options = config.get("resolved_cli_args") or {}
    for name in results.get("configs", {}):
        if state := source.evaluation.tasks.get(name):
            yield from _task_fields(results, state)
    yield from (("model", name, partial(find, source)) for name, find in MODEL.items())
    if _says_training(source):
        yield "model", "trained on", partial(_trained_on, source)
    yield from _frame_fields(source)
    measured = get_nested_attr(source.model, "engine", "facts")
    for name in DENOISING if measured else ():
        yield "denoising", name, partial(measured.__getitem__, name)
    yield from _known_facts("sharing", get_nested_attr(source.model, "facts"))
    yield from _known_facts("throughput", source.evaluation.throughput)
    yield from hazard_fields(source.evaluation, source.arguments, source.config.get("batch_size"))
    for name in ("random", "numpy", "torch", "fewshot"):
        yield "seeds", name, partial(config.__getitem__, f"{name}_seed")
    yield from (
        ("run", "date", lambda: results["date"]),
        ("run", "command", lambda: shlex.join(sys.argv)),
        ("run", "tasks", lambda: options["tasks"]),
        ("run", "limit", lambda: "none" if config["limit"] in (None, -1) else config["limit"]),
        ("run", "shard", lambda: str(source.evaluation.shard or "none")),
        ("run", "offset", lambda: config["offset"]),
        ("run", "batch size", lambda: config["batch_size"]),
        ("run", "ranks", _ranks),
        ("run", "wall time in s", lambda: round(float(results["total_evaluation_time_seconds"]), 1)),
        ("run", "reasoning tags", lambda: options["reasoning_tags"]),
        ("run", "response cache", lambda: config["use_cache"] or "none"),
        ("run", "budget of tokens", lambda: _budget(results, options)),
        ("run", "answers kept from before", lambda: _answers_kept(source.evaluation)),
    )
    yield from (("software", package, partial(package_version, package)) for package in PACKAGES)
    yield from (("software", name, find) for name, find in SOFTWARE.items())
    yield "hardware", "device", lambda: str(_known(get_nested_attr(source.model, "device"), "the model does not say"))
    yield from (("hardware", name, find) for name, find in HARDWARE.items())
    # Always in the card, so that unset and unknown differ.
    always = (MISSING, PROMPT, *registry().variables, JUDGE)
    others = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in always)
    for name in (*always, *others, CHOICE):
        yield "settings", name, partial(os.environ.get, name, "not set")


def _task_fields(results: Mapping[str, Any], state: TaskState) -> Iterator[Field]:
    task, card, split = state.name, state.benchmark.card, state.pointer["split"]
    section, config = f"{TASK}{task}", results["configs"][task]

    def prepared() -> Any:
        return read_manifest(card).splits[split]

    def prompt() -> Prompt:
        chosen: Prompt | None = state.settings.prompt
        return _known(chosen, "it shows the model no prompt of ours")

    fields: dict[str, Find] = {
        "version": lambda: results["versions"][task],
        "benchmark": lambda: f"{card.name}, split {split}",
        "data": lambda: prepared().data_set.text,
        "data source": lambda: prepared().source,
        "data revision": lambda: prepared().revision or "not from the hub",
        "data sha256": lambda: prepared().table_sha256,
        "release sha256": lambda: dict(prepared().source_sha256),
        "prepared by": lambda: f"lmms-eval-tasks {read_manifest(card).tool_version}",
        "missing clips": lambda: len(prepared().missing),
        "items": lambda: results["n-samples"][task]["effective"],
    }
    if state.view.name:
        fields["view"] = state.shown.describe
    if "prompt" in (config.get("lmms_eval_specific_kwargs") or {}):
        fields["prompt"] = lambda: prompt().prompt_id
        fields["prompt sha256"] = lambda: prompt().sha256
        fields["official prompt"] = lambda: _is_official(prompt())
    for name, value in _settings_facts(state).items():
        fields[name] = partial(lambda value: value, value)
    if state.kind.judge:
        fields["judge"] = partial(_judge, state.kind.judge == "optional")
    fields |= {
        "extractor": lambda: extractor_of(state.kind),
        "generation": lambda: config["generation_kwargs"],
        "repeats": lambda: config["repeats"],
        "fewshot examples": lambda: config["num_fewshot"],
    }
    yield from ((section, name, find) for name, find in fields.items())


def _settings_facts(state: TaskState) -> Mapping[str, Any]:
    """Return the facts of a task's settings; empty if they are not known, as the field of the prompt says."""
    try:
        return state.settings.facts()  # type: ignore[no-any-return]
    except RuntimeError:
        return {}


def _judge(optional: bool) -> str:
    settings = read_settings(optional=optional)
    return "none" if settings is None else settings.model_dump_json(include=set(Sampling.__dataclass_fields__))


def _is_official(prompt: Prompt) -> str:
    """Whether a prompt is the official text."""
    return "yes" if prompt.prompt_id == OFFICIAL else "no"


def _checkpoint(source: Source) -> str:
    arguments, model = source.arguments, source.model
    for name in (
        get_nested_attr(model, "engine", "settings", "pretrained"),
        *(arguments.get(name) for name in CHECKPOINTS),
        *(get_nested_attr(model, name) for name in CHECKPOINTS),
    ):
        if isinstance(name, str) and name:
            return name
    raise Unknown(
        "the model has no checkpoint" if source.is_ours else "no argument or attribute of the model names one"
    )


def _revision(source: Source) -> str:
    """The checkpoint's commit: as the loaded model has it, as the hub's cache does, or as it was asked for."""
    if source.evaluation.weights.commit:
        return source.evaluation.weights.commit
    try:
        checkpoint = _checkpoint(source)
    except Unknown:
        if source.is_ours:
            return f"lmms-eval-tasks {lmms_eval_tasks.__version__}"
        raise
    asked = source.arguments.get("revision")
    identity = _known(
        weights_identity(checkpoint, asked) or asked, "neither the loaded model nor the hub's cache says it"
    )
    return f"a folder whose files are {identity}" if Path(checkpoint).expanduser().is_dir() else identity


def _says_training(source: Source) -> bool:
    """Whether a file beside the weights says what they were trained on."""
    with suppress(Unknown, OSError):
        return (Path(_checkpoint(source)).expanduser() / TRAINED_ON).is_file()
    return False


def _trained_on(source: Source) -> str | None:
    trained = read_trained_on(Path(_checkpoint(source)).expanduser())
    return None if trained is None else trained.summary()


def _known(value: V | None, why: str) -> V:
    """A value that is there; raises `Unknown`, which says why, where it is not."""
    if value is None:
        raise Unknown(why)
    return value


MODEL: Mapping[str, Callable[[Source], Any]] = {
    "name": lambda source: source.config["model"],
    "class": lambda source: source.config["model_backend"],
    "arguments": lambda source: source.config["model_args"],
    "checkpoint": _checkpoint,
    "revision": _revision,
    "precision": lambda source: _known(source.evaluation.weights.precision, "the model does not say"),
    "parameters": lambda source: _known(source.evaluation.weights.parameters, "the model does not say"),
    "system instruction": lambda source: source.results.get("system_instruction") or "none",
    "chat template": lambda source: source.results.get("chat_template_sha") or "the model's own",
}


def _frame_fields(source: Source) -> Iterator[Field]:
    """Frames as they were asked for; names are one for all adapters, so that runs of two models can be compared."""
    model, arguments = source.model, source.arguments
    if source.is_ours and not get_nested_attr(model, "shows_clips"):
        yield "frames", "frames", lambda: "none: this model looks at no clip"
        return
    settings = get_nested_attr(model, "engine", "settings")

    def find(names: Sequence[str]) -> Any:
        for name in names:
            for holder in (settings, model):
                if isinstance(value := get_nested_attr(holder, name), (int, float, str)):
                    return value
            if name in arguments:
                return arguments[name]
        if any(name in vars(model) for name in names):
            return "not set"
        raise Unknown("no argument or attribute of the model names it")

    def pixels() -> str:
        unlimited = "the model has no such limits, or so many frames that they depend on the clip"
        limits = _known(qwen_limits(model), unlimited)
        return f"{limits.least} to {limits.most}"

    yield from (("frames", name, partial(find, names)) for name, names in FRAMES.items())
    yield "frames", "pixels of a frame", pixels
    yield "frames", "reader", lambda: _known(source.evaluation.clip_reader, "how the model reads clips is not known")


def _known_facts(section: str, facts: Any) -> Iterator[Field]:
    for name, value in facts.items() if isinstance(facts, Mapping) else ():
        yield section, name, partial(lambda value: value, value)


def _answers_kept(evaluation: Evaluation) -> int | str:
    return "none are kept" if evaluation.answers_kept is None else evaluation.answers_kept


def _budget(results: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    if options.get("max_tokens") is None:
        return "none"
    return f"{options['max_tokens']:,}{', spent' if (results.get('usage') or {}).get('budget_exceeded') else ''}"


def _ranks() -> int:
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        return int(dist.get_world_size())
    return int(os.environ.get("WORLD_SIZE", "1"))
