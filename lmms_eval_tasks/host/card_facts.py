"""What a run that has just ended in this process hands over for its card: facts by section and name."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, ParamSpec

import lmms_eval_tasks
from lmms_eval_tasks.host.model.identity import (
    HARDWARE,
    PACKAGES,
    SHOWS_CLIPS,
    SOFTWARE,
    get_nested_attr,
    installed_version,
    package_version,
    weights_identity,
)
from lmms_eval_tasks.host.model.readers import CHOICE
from lmms_eval_tasks.host.ranks import current_exchange
from lmms_eval_tasks.host.tasks.running import FinishedRun, TaskState, shows_videos
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS, Hazard, RunFacts
from lmms_eval_tasks.runs.run_card import (
    APPLIES,
    COST,
    DOES_NOT_APPLY,
    FRAME_NUMBERS,
    HAZARD,
    HAZARDS,
    TASK,
    Fact,
    Facts,
    Missing,
    Sections,
    card_of,
    read_trained_on,
)
from lmms_eval_tasks.utils.answers.evidence_boxes import qwen_limits
from lmms_eval_tasks.utils.answers.hooks import OFFICIAL, Prompt
from lmms_eval_tasks.utils.core.text import (
    JUDGE,
    MISSING,
    PREFIX,
    PROMPT,
    hide_forms,
    hide_secrets,
    parse_arguments,
    secret_forms,
)
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.data.manifest import Manifest, SplitManifest
from lmms_eval_tasks.utils.judge.client import read_settings
from lmms_eval_tasks.utils.judge.replies import Sampling
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

HOST_MODELS = "lmms_eval.models."
ATTRIBUTES: Mapping[str, tuple[str, ...]] = {"batch_size": ("batch_size", "batch_size_per_gpu")}
"""Arguments that lmms-eval's adapters keep under other names than their own."""
NO_VALUE = frozenset({"", "none"})
"""Texts by which an argument of lmms-eval's command line is left unset."""
DENOISING = ("protocol", "steps", "draws", "combine", "target", "prompt", "seed", "tiling")
FAILURES = frozenset(
    (UnscoredReason.FAILED, UnscoredReason.BLOCKED, UnscoredReason.BUDGET, UnscoredReason.OUT_OF_MEMORY)
)
CHECKPOINTS = ("pretrained", "model_version", "model", "model_name", "model_id", "path")
UNNAMED = Missing("the model does not say")

Given = ParamSpec("Given")


def fact(find: Callable[Given, Any]) -> Callable[Given, Any]:
    """Have a function that finds a fact return why it cannot be found where it raises: a card never ends a run."""

    @functools.wraps(find)
    def found(*arguments: Given.args, **named: Given.kwargs) -> Any:
        try:
            return find(*arguments, **named)
        except Exception as error:
            return Missing(f"{type(error).__name__}: {error}")

    return found


@fact
def look_up(holder: Any, *keys: str) -> Any:
    """Return what is kept by some keys, each in what the one before it names; a missing holder as it is."""
    if isinstance(holder, Missing):
        return holder
    for key in keys:
        holder = holder[key]
    return holder


def task_facts(state: TaskState, results: Mapping[str, Any]) -> Facts:
    name, config = state.name, look_up(results, "configs", state.name)
    return {
        "version": look_up(results, "versions", name),
        "benchmark": f"{state.benchmark.name}, split {state.pointer['split']}",
        **data_facts(state),
        "items": look_up(results, "n-samples", name, "effective"),
        **({"view": describe_view(state)} if state.view.name else {}),
        **prompt_facts(state, config),
        **settings_facts(state),
        **({"judge": describe_judge(state)} if state.kind.judge else {}),
        "extractor": state.kind.extractor,
        "generation": look_up(config, "generation_kwargs"),
        "repeats": look_up(config, "repeats"),
        "fewshot examples": look_up(config, "num_fewshot"),
    }


@fact
def find_manifest(state: TaskState) -> Manifest:
    return read_manifest(state.benchmark.card)


@fact
def find_split(state: TaskState) -> SplitManifest:
    return read_manifest(state.benchmark.card).splits[state.pointer["split"]]


def data_facts(state: TaskState) -> Facts:
    """The prepared data of a task."""
    manifest: Manifest | Missing = find_manifest(state)
    split: SplitManifest | Missing = find_split(state)
    tool = manifest if isinstance(manifest, Missing) else f"lmms-eval-tasks {manifest.tool_version}"
    if isinstance(split, Missing):
        names = ("data", "data source", "data revision", "data sha256", "release sha256")
        return {**dict.fromkeys(names, split), "prepared by": tool, "missing clips": split}
    return {
        "data": split.data_set.text,
        "data source": split.source,
        "data revision": split.revision or "not from the hub",
        "data sha256": split.table_sha256,
        "release sha256": dict(split.source_sha256),
        "prepared by": tool,
        "missing clips": len(split.missing),
    }


@fact
def describe_view(state: TaskState) -> str:
    return state.shown.describe()


def prompt_facts(state: TaskState, config: Mapping[str, Any]) -> Facts:
    if "prompt" not in (config.get("lmms_eval_specific_kwargs") or {}):
        return {}
    prompt: Prompt | Missing = find_prompt(state)
    if isinstance(prompt, Missing):
        return dict.fromkeys(("prompt", "prompt sha256", "official prompt"), prompt)
    is_official = prompt.prompt_id == OFFICIAL
    return {"prompt": prompt.prompt_id, "prompt sha256": prompt.sha256, "official prompt": is_official}


@fact
def find_prompt(state: TaskState) -> Prompt | Missing:
    return state.settings.prompt or Missing("it shows the model no prompt of ours")


def settings_facts(state: TaskState) -> Facts:
    """Facts of a task's settings; none if these are not known, as the fact of the prompt says."""
    try:
        facts: Facts = state.settings.facts()
    except RuntimeError:
        return {}
    return facts


@fact
def describe_judge(state: TaskState) -> str:
    settings = read_settings(optional=state.kind.judge == "optional")
    return "none" if settings is None else settings.model_dump_json(include=set(Sampling.__dataclass_fields__))


@dataclass(frozen=True)
class EndedRun:
    """A run that has just ended, with lmms-eval's results of it."""

    results: Mapping[str, Any]
    run: FinishedRun

    @property
    def model(self) -> Any:
        return self.run.facts.model

    @cached_property
    def config(self) -> Mapping[str, Any]:
        return self.results.get("config") or {}

    @cached_property
    def options(self) -> Mapping[str, Any]:
        return self.config.get("resolved_cli_args") or {}

    @cached_property
    def arguments(self) -> Mapping[str, str]:
        return parse_arguments(self.config.get("model_args"))

    @cached_property
    def is_ours(self) -> bool:
        return type(self.model).__module__.startswith(f"{lmms_eval_tasks.__name__}.")

    @cached_property
    def shows_clips(self) -> bool:
        return not self.is_ours or bool(self.attribute(SHOWS_CLIPS))

    def attribute(self, *names: str) -> Any:
        return get_nested_attr(self.model, *names)


def model_facts(ended: EndedRun) -> Facts:
    results, weights = ended.results, ended.run.facts.weights
    facts: Facts = {
        "name": look_up(ended.config, "model"),
        "class": look_up(ended.config, "model_backend"),
        "arguments": look_up(ended.config, "model_args"),
        "checkpoint": find_checkpoint(ended),
        "revision": find_revision(ended),
        "precision": UNNAMED if weights.precision is None else weights.precision,
        "parameters": UNNAMED if weights.parameters is None else weights.parameters,
        "system instruction": results.get("system_instruction") or "none",
        "chat template": results.get("chat_template_sha") or "the model's own",
    }
    trained = find_training(ended)
    return {**facts, "trained on": trained} if trained else facts


@fact
def find_checkpoint(ended: EndedRun) -> str | Missing:
    for name in (
        ended.attribute("engine", "settings", "pretrained"),
        *map(ended.arguments.get, CHECKPOINTS),
        *map(ended.attribute, CHECKPOINTS),
    ):
        if isinstance(name, str) and name:
            return name
    return Missing(
        "the model has no checkpoint" if ended.is_ours else "no argument or attribute of the model names one"
    )


@fact
def find_revision(ended: EndedRun) -> str | Missing:
    """Return the checkpoint's commit: of the loaded model, of the hub's cache, or as asked for."""
    if ended.run.facts.weights.commit:
        return ended.run.facts.weights.commit
    checkpoint: str | Missing = find_checkpoint(ended)
    if isinstance(checkpoint, Missing):
        return f"lmms-eval-tasks {lmms_eval_tasks.__version__}" if ended.is_ours else checkpoint
    asked = ended.arguments.get("revision")
    identity = weights_identity(checkpoint, asked) or asked
    if identity is None:
        return Missing("neither the loaded model nor the hub's cache says it")
    return f"a folder whose files are {identity}" if Path(checkpoint).expanduser().is_dir() else str(identity)


@fact
def find_training(ended: EndedRun) -> str | None:
    """Return what a file beside the weights says that they were trained on; None where there is none."""
    checkpoint: str | Missing = find_checkpoint(ended)
    if isinstance(checkpoint, Missing):
        return None
    try:
        trained = read_trained_on(Path(checkpoint).expanduser())
    except OSError:
        return None
    return trained.summary() if trained else None


def frame_facts(ended: EndedRun) -> Facts:
    """How clips were shown, under one name for all adapters, so that models can be compared."""
    if not ended.shows_clips:
        return {"frames": "none: this model looks at no clip"}
    return {
        "frames": find_shown(ended, *FRAME_NUMBERS),
        "fps": find_shown(ended, "fps", "video_fps", "sample_fps"),
        "least pixels": find_shown(ended, "min_pixels"),
        "most pixels": find_shown(ended, "max_pixels"),
        "height": find_shown(ended, "height"),
        "width": find_shown(ended, "width"),
        "pixels of a frame": find_pixels(ended),
        "reader": ended.run.facts.clip_reader or Missing("how the model reads clips is not known"),
    }


@fact
def find_shown(ended: EndedRun, *names: str) -> Fact:
    for name in names:
        for holder in (ended.attribute("engine", "settings"), ended.model):
            if isinstance(value := get_nested_attr(holder, name), (int, float, str)):
                return value
        if name in ended.arguments:
            return ended.arguments[name]
    if any(name in vars(ended.model) for name in names):
        return "not set"
    return Missing("no argument or attribute of the model names it")


@fact
def find_pixels(ended: EndedRun) -> str | Missing:
    limits = qwen_limits(ended.model)
    if limits is None:
        return Missing("the model has no such limits, or so many frames that they depend on the clip")
    return f"{limits.least} to {limits.most}"


def denoising_facts(ended: EndedRun) -> Facts:
    measured = ended.attribute("engine", "facts")
    return {name: look_up(measured, name) for name in DENOISING} if measured else {}


def sharing_facts(ended: EndedRun) -> Facts:
    facts = ended.attribute("facts")
    return facts if isinstance(facts, Mapping) else {}


def cost_facts(ended: EndedRun, task: str) -> Facts:
    """What a task's answers cost, on all ranks together; empty where none was asked for."""
    spent: dict[str, Fact] = {name: round(number, 2) for (of, name), number in ended.run.spent.items() if of == task}
    if shared := ended.run.shared.get(task):
        spent["answers shared"] = shared
    if ended.attribute("keep_answers_in"):  # it alone knows of which task
        spent.pop("answers kept", None)
    records = [one for record in ended.run.evaluation.tasks[task].records for one in record.each]
    if spent and records:
        spent["answers cut off"] = sum(one.ran_out for one in records)
        spent["answers failed"] = sum(one.unscored_reason in FAILURES for one in records)
    return spent


def hazard_facts(ended: EndedRun) -> Iterator[tuple[str, Facts]]:
    """Yield the section that says which hazards apply, then one of each that does."""
    facts = RunFacts(
        adapter=adapter_of(type(ended.model)),
        weights=ended.run.facts.weights.family,
        reader=ended.run.facts.clip_reader,
        version=version_of,
        argument=functools.partial(find_argument, ended),
    )
    found: dict[str, Facts | Missing] = {name: find_hazard(ended, one, facts) for name, one in KNOWN_HAZARDS.items()}
    yield (
        HAZARDS,
        {name: one if isinstance(one, Missing) else APPLIES if one else DOES_NOT_APPLY for name, one in found.items()},
    )
    for name, one in found.items():
        if one and not isinstance(one, Missing):
            yield f"{HAZARD}{name}", one


@fact
def find_hazard(ended: EndedRun, hazard: Hazard, facts: RunFacts) -> Facts | Missing:
    """Return where a hazard was found; nothing where it does not apply."""
    if ended.model is None:
        return Missing("which model ran is not known")
    return hazard.found(facts) if shows_videos(ended.run.evaluation) and hazard.applies(facts) else {}


def find_argument(ended: EndedRun, name: str) -> Any:
    for attribute in ATTRIBUTES.get(name, (name,)):
        value = ended.attribute(attribute)
        if isinstance(value, (bool, int, float, str)):
            return value
    given = {"batch_size": str(ended.config.get("batch_size")), **ended.arguments}.get(name, "")
    return None if given.lower() in NO_VALUE else given


def seed_facts(ended: EndedRun) -> Facts:
    return {name: look_up(ended.config, f"{name}_seed") for name in ("random", "numpy", "torch", "fewshot")}


def run_facts(ended: EndedRun) -> Facts:
    results, config = ended.results, ended.config
    limit, cache = look_up(config, "limit"), look_up(config, "use_cache")
    return {
        "date": look_up(results, "date"),
        "command": shlex.join(sys.argv),
        "tasks": look_up(ended.options, "tasks"),
        "limit": "none" if limit in (None, -1) else limit,
        "shard": find_shard(ended),
        "sample": find_sample(ended),
        "offset": look_up(config, "offset"),
        "batch size": look_up(config, "batch_size"),
        "ranks": count_ranks(),
        "wall time in s": find_time(results),
        "reasoning tags": look_up(ended.options, "reasoning_tags"),
        "response cache": cache or "none",
        "budget of tokens": find_budget(ended),
        "answers kept from before": "none are kept" if ended.run.answers_kept is None else ended.run.answers_kept,
    }


@fact
def find_shard(ended: EndedRun) -> str:
    return str(ended.run.evaluation.shard or "none")


@fact
def find_sample(ended: EndedRun) -> str:
    return str(ended.run.evaluation.sample or "none")


@fact
def count_ranks() -> int:
    return max(current_exchange().size, int(os.environ.get("WORLD_SIZE", "1")))


@fact
def find_time(results: Mapping[str, Any]) -> float:
    return round(float(results["total_evaluation_time_seconds"]), 1)


@fact
def find_budget(ended: EndedRun) -> str:
    if ended.options.get("max_tokens") is None:
        return "none"
    spent = (ended.results.get("usage") or {}).get("budget_exceeded")
    return f"{ended.options['max_tokens']:,}{', spent' if spent else ''}"


def software_facts() -> Facts:
    versions: Facts = {package: package_version(package) for package in PACKAGES}
    return {**versions, **{name: fact(find)() for name, find in SOFTWARE.items()}}


def hardware_facts(ended: EndedRun) -> Facts:
    device = ended.attribute("device")
    named = UNNAMED if device is None else fact(str)(device)
    return {"device": named, **{name: fact(find)() for name, find in HARDWARE.items()}}


def variables() -> Facts:
    # Always in the card, so that unset and unknown differ.
    always = (MISSING, PROMPT, *registry().variables, JUDGE)
    others = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in always)
    return {name: os.environ.get(name, "not set") for name in (*always, *others, CHOICE)}


def adapter_of(kind: type) -> str:
    """Return the module whose code a class of models answers by, without lmms-eval's own prefix."""
    owner = next((base for base in kind.__mro__ if "generate_until" in vars(base)), kind)
    return owner.__module__.removeprefix(HOST_MODELS)


def version_of(package: str) -> str | None:
    """Return the version of a package, or of another that brings its module, as eva-decord does."""
    if version := installed_version(package):
        return version
    others = metadata.packages_distributions().get(package.replace("-", "_"), ())
    return next((metadata.version(other) for other in others), None)


def gather(results: Mapping[str, Any], run: FinishedRun) -> Sections:
    """Return the card of a run, without keys."""
    ended, tasks = EndedRun(results, run), run.evaluation.tasks
    shown = [tasks[name] for name in results.get("configs", {}) if name in tasks]
    facts: dict[str, Facts] = {
        **{f"{TASK}{state.name}": task_facts(state, results) for state in shown},
        "model": model_facts(ended),
        "frames": frame_facts(ended),
        "denoising": denoising_facts(ended),
        "sharing": sharing_facts(ended),
        "throughput": run.throughput,
        **{f"{COST}{task}": cost_facts(ended, task) for task in tasks},
        **dict(hazard_facts(ended)),
        "seeds": seed_facts(ended),
        "run": run_facts(ended),
        "software": software_facts(),
        "hardware": hardware_facts(ended),
        "settings": variables(),
    }
    secrets = secret_forms(os.environ)
    return {
        section: {
            name: hide_secrets(hide_forms(value, secrets), {}) if isinstance(value, str) else value
            for name, value in fields.items()
        }
        for section, fields in card_of(facts).items()
    }
