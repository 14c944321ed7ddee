"""Facts for a run card, known hazards among them, gathered when lmms-eval has saved its results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from math import isfinite
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.host.environment import HARDWARE, PACKAGES, SOFTWARE, installed_version, package_version
from lmms_eval_tasks.host.model.model_identity import get_nested_attr, weights_identity
from lmms_eval_tasks.host.model.readers import CHOICE
from lmms_eval_tasks.host.tasks.running import Evaluation, TaskState, shows_videos
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS, Hazard, RunFacts
from lmms_eval_tasks.runs.run_card import (
    APPLIES,
    DOES_NOT_APPLY,
    FIELDS,
    FRAME_NUMBERS,
    HAZARD,
    NOT_KNOWN,
    TASK,
    LeftOut,
    Unknown,
    Value,
    known,
    read_trained_on,
)
from lmms_eval_tasks.utils.answers.evidence_boxes import qwen_limits
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.core.text import JUDGE, MISSING, PREFIX, PROMPT, hide_secrets, parse_arguments
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.data.manifest import Manifest, SplitManifest
from lmms_eval_tasks.utils.judge.client import read_settings
from lmms_eval_tasks.utils.judge.replies import Sampling

HOST_MODELS = "lmms_eval.models."
ATTRIBUTES: Mapping[str, tuple[str, ...]] = {"batch_size": ("batch_size", "batch_size_per_gpu")}
"""Arguments that lmms-eval's adapters keep under other names than their own."""
NO_VALUE = frozenset({"", "none"})
"""Texts by which an argument of lmms-eval's command line is left unset."""
DENOISING = ("protocol", "steps", "draws", "combine", "target", "prompt", "seed", "tiling")
CHECKPOINTS = ("pretrained", "model_version", "model", "model_name", "model_id", "path")


@dataclass(frozen=True)
class CardTask:
    """A task of a run that has just ended."""

    state: TaskState
    results: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def benchmark(self) -> str:
        return f"{self.state.benchmark.name}, split {self.state.pointer['split']}"

    @property
    def config(self) -> Mapping[str, Any]:
        return self.results["configs"][self.name]  # type: ignore[no-any-return]

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.state.benchmark.card)

    @property
    def prepared(self) -> SplitManifest:
        return self.manifest.splits[self.state.pointer["split"]]

    @property
    def view(self) -> str:
        if not self.state.view.name:
            raise LeftOut
        return self.state.shown.describe()

    @property
    def prompt(self) -> Prompt:
        if "prompt" not in (self.config.get("lmms_eval_specific_kwargs") or {}):
            raise LeftOut
        return known(self.state.settings.prompt, "it shows the model no prompt of ours")  # type: ignore[no-any-return]

    @property
    def settings(self) -> Mapping[str, Any]:
        """Facts of the task's settings; none if these are not known, as the field of the prompt says."""
        try:
            return self.state.settings.facts()  # type: ignore[no-any-return]
        except RuntimeError:
            return {}

    @property
    def judge(self) -> str:
        if not self.state.kind.judge:
            raise LeftOut
        settings = read_settings(optional=self.state.kind.judge == "optional")
        return "none" if settings is None else settings.model_dump_json(include=set(Sampling.__dataclass_fields__))

    @property
    def extractor(self) -> str:
        return self.state.kind.extractor


class CardRun:
    """A run that has just ended in this process, with lmms-eval's results."""

    def __init__(self, results: Mapping[str, Any], evaluation: Evaluation) -> None:
        self.results, self.evaluation = results, evaluation
        self.model, self.weights = evaluation.model, evaluation.weights
        self.config: Mapping[str, Any] = results.get("config") or {}
        self.options: Mapping[str, Any] = self.config.get("resolved_cli_args") or {}
        self.arguments = parse_arguments(self.config.get("model_args"))
        self.is_ours = type(self.model).__module__.startswith(f"{lmms_eval_tasks.__name__}.")
        self._applying: dict[str, dict[str, str]] = {}

    def holders(self, section: str) -> Iterator[tuple[str, Any]]:
        """Yield the sections of a kind, each with what its fields are found in."""
        if section == TASK:
            states = map(self.evaluation.tasks.get, self.results.get("configs", {}))
            yield from ((f"{TASK}{state.name}", CardTask(state, self.results)) for state in states if state)
        elif section == HAZARD:
            yield from ((f"{HAZARD}{name}", found) for name, found in self._applying.items())
        else:
            yield section, self

    def attribute(self, *names: str) -> Any:
        return get_nested_attr(self.model, *names)

    def checkpoint(self) -> str:
        for name in (
            self.attribute("engine", "settings", "pretrained"),
            *map(self.arguments.get, CHECKPOINTS),
            *map(self.attribute, CHECKPOINTS),
        ):
            if isinstance(name, str) and name:
                return name
        raise Unknown(
            "the model has no checkpoint" if self.is_ours else "no argument or attribute of the model names one"
        )

    def revision(self) -> str:
        """Return the checkpoint's commit: of the loaded model, of the hub's cache, or as asked for."""
        if self.weights.commit:
            return self.weights.commit
        try:
            checkpoint = self.checkpoint()
        except Unknown:
            if self.is_ours:
                return f"lmms-eval-tasks {lmms_eval_tasks.__version__}"
            raise
        asked = self.arguments.get("revision")
        identity = weights_identity(checkpoint, asked) or asked
        known(identity, "neither the loaded model nor the hub's cache says it")
        return f"a folder whose files are {identity}" if Path(checkpoint).expanduser().is_dir() else str(identity)

    def trained_on(self) -> str:
        """Return what a file beside the weights says that they were trained on."""
        try:
            trained = read_trained_on(Path(self.checkpoint()).expanduser())
        except (Unknown, OSError):
            trained = None
        if trained is None:
            raise LeftOut
        return trained.summary()

    @property
    def shows_clips(self) -> bool:
        return not self.is_ours or bool(self.attribute("shows_clips"))

    def frames(self) -> Any:
        return self.shown(*FRAME_NUMBERS) if self.shows_clips else "none: this model looks at no clip"

    def shown(self, *names: str) -> Any:
        """Return how clips were asked to be shown, under one name for all adapters, so that models can be compared."""
        if not self.shows_clips:
            raise LeftOut
        for name in names:
            for holder in (self.attribute("engine", "settings"), self.model):
                if isinstance(value := get_nested_attr(holder, name), (int, float, str)):
                    return value
            if name in self.arguments:
                return self.arguments[name]
        if any(name in vars(self.model) for name in names):
            return "not set"
        raise Unknown("no argument or attribute of the model names it")

    def pixels(self) -> str:
        if not self.shows_clips:
            raise LeftOut
        unlimited = "the model has no such limits, or so many frames that they depend on the clip"
        limits = known(qwen_limits(self.model), unlimited)
        return f"{limits.least} to {limits.most}"

    def reader(self) -> Any:
        if not self.shows_clips:
            raise LeftOut
        return known(self.evaluation.clip_reader, "how the model reads clips is not known")

    def denoising(self) -> Mapping[str, Any]:
        """Return how denoising losses were measured."""
        measured = self.attribute("engine", "facts")
        return {name: partial(measured.__getitem__, name) for name in DENOISING} if measured else {}

    def sharing(self) -> Mapping[str, Any]:
        facts = self.attribute("facts")
        return facts if isinstance(facts, Mapping) else {}

    def hazards(self) -> Mapping[str, Any]:
        return {name: partial(self._apply, name, hazard) for name, hazard in KNOWN_HAZARDS.items()}

    def _apply(self, name: str, hazard: Hazard) -> str:
        """Say whether a hazard applies, and keep what it is found in."""
        if self.model is None:
            raise Unknown("which model ran is not known")
        facts = RunFacts(
            adapter=adapter_of(type(self.model)),
            weights=self.weights.family,
            reader=self.evaluation.clip_reader,
            version=version_of,
            argument=self._argument,
        )
        if not (shows_videos(self.evaluation) and hazard.applies(facts)):
            return DOES_NOT_APPLY
        self._applying[name] = hazard.found(facts)
        return APPLIES

    def _argument(self, name: str) -> Any:
        for attribute in ATTRIBUTES.get(name, (name,)):
            value = self.attribute(attribute)
            if isinstance(value, (bool, int, float, str)):
                return value
        given = {"batch_size": str(self.config.get("batch_size")), **self.arguments}.get(name, "")
        return None if given.lower() in NO_VALUE else given

    def ranks(self) -> int:
        import torch.distributed as dist

        if dist.is_available() and dist.is_initialized():
            return int(dist.get_world_size())
        return int(os.environ.get("WORLD_SIZE", "1"))

    def token_budget(self) -> str:
        if self.options.get("max_tokens") is None:
            return "none"
        spent = (self.results.get("usage") or {}).get("budget_exceeded")
        return f"{self.options['max_tokens']:,}{', spent' if spent else ''}"

    def answers_kept(self) -> int | str:
        return "none are kept" if self.evaluation.answers_kept is None else self.evaluation.answers_kept

    def software(self) -> Mapping[str, Any]:
        return {**{package: partial(package_version, package) for package in PACKAGES}, **SOFTWARE}

    def hardware(self) -> Mapping[str, Any]:
        return HARDWARE

    def variables(self) -> Mapping[str, str]:
        # Always in the card, so that unset and unknown differ.
        always = (MISSING, PROMPT, *registry().variables, JUDGE)
        others = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in always)
        return {name: os.environ.get(name, "not set") for name in (*always, *others, CHOICE)}


def adapter_of(kind: type) -> str:
    """Return the module whose code a class of models answers by, without lmms-eval's own prefix."""
    owner = next((base for base in kind.__mro__ if "generate_until" in vars(base)), kind)
    return owner.__module__.removeprefix(HOST_MODELS)


def version_of(package: str) -> str | None:
    """Return the version of a package, also where another one brings its module, as eva-decord does; None where none
    does."""
    if version := installed_version(package):
        return version
    others = metadata.packages_distributions().get(package.replace("-", "_"), ())
    return next((metadata.version(other) for other in others), None)


def gather(results: Mapping[str, Any], evaluation: Evaluation) -> dict[str, dict[str, Value]]:
    """Return the card of a run that has just ended in this process, from lmms-eval's results."""
    run = CardRun(results, evaluation)
    card: dict[str, dict[str, Value]] = {}
    reasons: dict[str, Value] = {}
    for field in FIELDS:
        if field.find is None:
            continue
        for section, holder in run.holders(field.section):
            finders = {field.name: partial(field.find, holder)} if field.name else field.find(holder)
            for name, find in finders.items():
                value: Any = None
                try:
                    value = find() if callable(find) else find
                    reason = "lmms-eval does not say"
                except LeftOut:
                    continue
                except Unknown as error:
                    reason = str(error)
                except Exception as error:  # a card never ends a run
                    reason = f"{type(error).__name__}: {error}"
                if value is None:
                    reasons[f"{section}.{name}"] = reason
                card.setdefault(section, {})[name] = _plain(value)
    if reasons:
        card[NOT_KNOWN] = reasons
    return {
        section: {
            name: hide_secrets(value, os.environ) if isinstance(value, str) else value for name, value in fields.items()
        }
        for section, fields in card.items()
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
