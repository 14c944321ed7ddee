"""The end of a run: its card with known hazards, its scores with intervals, and the last lines on the terminal."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from importlib import metadata
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from loguru import logger

import lmms_eval_tasks
from lmms_eval_tasks.host.model.identity import (
    HARDWARE,
    PACKAGES,
    SOFTWARE,
    get_nested_attr,
    installed_version,
    package_version,
    weights_identity,
)
from lmms_eval_tasks.host.model.readers import CHOICE
from lmms_eval_tasks.host.ranks import current_exchange, on_command_line
from lmms_eval_tasks.host.tasks.running import FinishedRun, Results, TaskState, shows_videos
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs import run_card
from lmms_eval_tasks.runs.folder import Run, make_run
from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS, Hazard, RunFacts
from lmms_eval_tasks.runs.run_files import RESULTS, read_results, sample_log, write_card
from lmms_eval_tasks.runs.scores import PartScores, ScoresFile, write_scores
from lmms_eval_tasks.utils.answers.evidence_boxes import qwen_limits
from lmms_eval_tasks.utils.answers.hooks import Prompt
from lmms_eval_tasks.utils.answers.reply import describe_empty
from lmms_eval_tasks.utils.benchmark.views import find_view
from lmms_eval_tasks.utils.core.files import PART, write_file
from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.core.text import JUDGE, MISSING, PREFIX, PROMPT, hide_secrets, parse_arguments, printable
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.judge.client import read_settings
from lmms_eval_tasks.utils.judge.replies import Sampling
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, UnscoredReason

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
UNLOGGED = "With --log_samples, `lmms-eval-tasks report` shows the run item by item."
DATE = "%Y%m%d_%H%M%S"
"""How lmms-eval writes the second in which a run started in the names of its files."""


def wrap_save(save: Callable[..., Any]) -> Callable[..., Any]:
    """Have lmms-eval save a run card, and scores with intervals, beside its results."""
    signature = inspect.signature(save)

    @functools.wraps(save)
    def save_with_card(self: Any, *arguments: Any, **named: Any) -> Any:
        given = signature.bind(self, *arguments, **named).arguments
        results = given["results"]
        with ExitStack() as stack:
            try:
                given["datetime_str"] = stack.enter_context(free_date(self, results, given["datetime_str"]))
            except Exception as error:  # lmms-eval saves its results all the same, or says why not
                logger.debug("Whether another run has the same date is not known ({}).", error)
            stack.enter_context(patch.dict(inspect.unwrap(save).__globals__, Path=WholePath))
            saved = save(**given)
        with _warn_without("run card"):
            if path := saved_results(self, results):
                write_card(path, gather(results, results.run))
        with _warn_without("file of scores"):
            path = saved_results(self, results)
            if path and (run := scored_run(path, results.run, results.get("configs", ()))):
                states = results.run.evaluation.tasks.values()
                counted = {(one.name, score): units for one in states for score, units in one.counted.items()}
                scores = write_scores(run, counted)
                records = [one for of_task in run.records.values() for record in of_task for one in record.each]
                empty = describe_empty(one.detail for one in records)
                announce(scores, path, self.output_path, bool(given.get("samples")), empty)
        return saved

    return save_with_card


@contextmanager
def _warn_without(name: str) -> Iterator[None]:
    """Go on where a file cannot be written: the run has its results, and no other file is worth losing what follows."""
    try:
        yield
    except Exception as error:
        logger.warning("No {} was written ({}: {}).", name, type(error).__name__, error)


@contextmanager
def free_date(tracker: Any, results: Mapping[str, Any], date: str) -> Iterator[str]:
    """Give a date that no run has yet: lmms-eval would append to the logs of another run of the same second."""
    if not tracker.output_path or not isinstance(results, Results):
        yield date
        return
    folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
    folder.mkdir(parents=True, exist_ok=True)
    start = datetime.strptime(date, DATE)
    for second in count():
        free = (start + timedelta(seconds=second)).strftime(DATE)
        claim = folder / f".{free}{PART}"
        with suppress(FileExistsError):
            claim.open("x").close()
            try:
                if not (folder / f"{free}{RESULTS}").exists():
                    yield free
                    return
            finally:
                claim.unlink()


class WholePath(type(Path())):  # type: ignore[misc]
    """A path that lmms-eval's tracker writes to: the file is there whole or not at all.

    The tracker does not close the file, so it never hears that a disk is full.
    """

    def open(self, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        is_whole = mode == "w" and self.name.endswith(RESULTS)
        return SimpleNamespace(write=partial(write_file, self)) if is_whole else super().open(mode, *arguments, **named)


def saved_results(tracker: Any, results: Mapping[str, Any]) -> Path | None:
    if not tracker.output_path or not isinstance(results, Results):
        return None
    folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
    saved = folder / f"{tracker.date_id}{RESULTS}"
    if not saved.is_file():
        raise FileNotFoundError(f"there is no {saved}")
    return saved


def scored_run(path: Path, finished: FinishedRun, names: Iterable[str]) -> Run | None:
    """Return a run that has just ended, from the records that its scores were computed from; None without any."""
    tasks = finished.evaluation.tasks
    records = {name: tasks[name].records for name in names if name in tasks and tasks[name].records}
    sets = {name: tasks[name].data_set for name in records}
    return make_run(path, read_results(path), records, sets) if records else None


def announce(scores: ScoresFile, results: Path, output_path: str, logged: bool = True, note: str | None = None) -> None:
    """Print the last lines of a run when lmms-eval's command line ends; a Python program prints what it wants."""

    def print_lines() -> None:
        tasks = {task for part in scores.parts for task in part.tasks}
        if not logged or all(sample_log(results, task).is_file() for task in tasks):
            with suppress(OSError, ValueError):  # nobody reads any more
                sys.stdout.write("".join(f"{line}\n" for line in closing_lines(scores, output_path, logged, note)))
                sys.stdout.flush()

    if on_command_line():
        atexit.register(print_lines)


def closing_lines(scores: ScoresFile, output_path: str, logged: bool = True, note: str | None = None) -> Iterator[str]:
    """Yield a line for each task and group with its leading score, a note, then how to look at the run."""
    yield ""
    for part in scores.shown_parts():
        yield _line(part, output_path)
        if part.tasks != [part.name]:
            yield from (f"  {_line(scores.part(task), output_path)}" for task in part.tasks)
    if note:
        yield f"{note}."
    yield f"lmms-eval-tasks report {shlex.quote(output_path)}" if logged else UNLOGGED


def _line(part: PartScores, output_path: str) -> str:
    """Return a task's leading score, its interval, its number of groups, and why it is not comparable."""
    apart = f"; {part.apart}" if part.apart else ""
    try:
        score = part.score(part.leading)
    except KeyError:
        return printable(f"{part.name}: no score")
    task = registry().find_task(part.tasks[0])
    facts = task.benchmark.card.splits.get(task.split) if task else None
    if facts and facts.answers_withheld and not score.groups and part.outcomes:
        submit = f"lmms-eval-tasks submit {part.benchmark} {shlex.quote(output_path)} --out FILE"
        return printable(f"{part.name}: answers withheld; {submit}{apart}")
    ends = (score.low, score.high) if score.low != score.high else (None, None)  # else the groups show no interval
    after = "%" if score.unit == "%" else f" {score.unit}" if score.unit else ""
    groups = "" if score.groups is None else f", {score.groups:,} group{'s' if score.groups != 1 else ''}"
    view = find_view(part.view)
    samples = f", {part.samples} {view.samples if view else 'samples'}" if part.samples else ""
    value = Number(score.value, *ends, after=after).text
    unread = f"; {part.unread}" if part.unread else ""
    return printable(f"{part.name}: {score.title} {value}{groups}{samples}{unread}{apart}")


class CardTask:
    """A task of a run that has just ended, as the run card's fields find their values in it."""

    def __init__(self, state: TaskState, results: Mapping[str, Any]) -> None:
        self.state, self.results, self.name = state, results, state.name
        self.benchmark = f"{state.benchmark.name}, split {state.pointer['split']}"

    @property
    def config(self) -> Mapping[str, Any]:
        return self.results["configs"][self.name]  # type: ignore[no-any-return]

    @property
    def manifest(self) -> Any:
        return read_manifest(self.state.benchmark.card)

    @property
    def prepared(self) -> Any:
        return self.manifest.splits[self.state.pointer["split"]]

    @property
    def view(self) -> str:
        if not self.state.view.name:
            raise run_card.LeftOut
        return self.state.shown.describe()

    @property
    def prompt(self) -> Prompt:
        if "prompt" not in (self.config.get("lmms_eval_specific_kwargs") or {}):
            raise run_card.LeftOut
        return run_card.known(self.state.settings.prompt, "it shows the model no prompt of ours")  # type: ignore[no-any-return]

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
            raise run_card.LeftOut
        settings = read_settings(optional=self.state.kind.judge == "optional")
        return "none" if settings is None else settings.model_dump_json(include=set(Sampling.__dataclass_fields__))


class CardRun:
    """A run that has just ended in this process, as the run card's fields find their values in it."""

    def __init__(self, results: Mapping[str, Any], run: FinishedRun) -> None:
        self.results, self.run, self.evaluation = results, run, run.evaluation
        self.model, self.weights = run.facts.model, run.facts.weights
        self.attribute = partial(get_nested_attr, self.model)
        self.config: Mapping[str, Any] = results.get("config") or {}
        self.options: Mapping[str, Any] = self.config.get("resolved_cli_args") or {}
        self.arguments = parse_arguments(self.config.get("model_args"))
        self.is_ours = type(self.model).__module__.startswith(f"{lmms_eval_tasks.__name__}.")
        self.shows_clips = not self.is_ours or bool(self.attribute("shows_clips"))
        self.hardware = HARDWARE
        self.software = {**{package: partial(package_version, package) for package in PACKAGES}, **SOFTWARE}
        self.hazards = {name: partial(self._apply, name, hazard) for name, hazard in KNOWN_HAZARDS.items()}
        self._applying: dict[str, dict[str, str]] = {}

    def holders(self, section: str) -> Iterator[tuple[str, Any]]:
        """Yield the sections of a kind, each with what its fields are found in."""
        if section == run_card.TASK:
            states = map(self.evaluation.tasks.get, self.results.get("configs", {}))
            yield from ((f"{run_card.TASK}{state.name}", CardTask(state, self.results)) for state in states if state)
        elif section == run_card.COST:
            yield from (
                (f"{run_card.COST}{task}", spent) for task in self.evaluation.tasks if (spent := self._spent(task))
            )
        elif section == run_card.HAZARD:
            yield from ((f"{run_card.HAZARD}{name}", found) for name, found in self._applying.items())
        else:
            yield section, self

    def _spent(self, task: str) -> dict[str, int | float]:
        """Return what a task's answers cost, on all ranks together; empty where none was asked for."""
        spent: dict[str, int | float] = {
            name: round(number, 2) for (of, name), number in self.run.spent.items() if of == task
        }
        if self.attribute("keep_answers_in"):  # it alone knows of which task
            spent.pop("answers kept", None)
        records = [one for record in self.evaluation.tasks[task].records for one in record.each]
        if spent and records:
            spent["answers cut off"] = sum(one.detail == CUT_OFF for one in records)
            spent["answers failed"] = sum(one.unscored_reason in FAILURES for one in records)
        return spent

    def checkpoint(self) -> str:
        for name in (
            self.attribute("engine", "settings", "pretrained"),
            *map(self.arguments.get, CHECKPOINTS),
            *map(self.attribute, CHECKPOINTS),
        ):
            if isinstance(name, str) and name:
                return name
        raise run_card.Unknown(
            "the model has no checkpoint" if self.is_ours else "no argument or attribute of the model names one"
        )

    def revision(self) -> str:
        """Return the checkpoint's commit: of the loaded model, of the hub's cache, or as asked for."""
        if self.weights.commit:
            return self.weights.commit
        try:
            checkpoint = self.checkpoint()
        except run_card.Unknown:
            if self.is_ours:
                return f"lmms-eval-tasks {lmms_eval_tasks.__version__}"
            raise
        asked = self.arguments.get("revision")
        identity = weights_identity(checkpoint, asked) or asked
        run_card.known(identity, "neither the loaded model nor the hub's cache says it")
        return f"a folder whose files are {identity}" if Path(checkpoint).expanduser().is_dir() else str(identity)

    def trained_on(self) -> str:
        """Return what a file beside the weights says that they were trained on."""
        with suppress(run_card.Unknown, OSError):
            if trained := run_card.read_trained_on(Path(self.checkpoint()).expanduser()):
                return trained.summary()
        raise run_card.LeftOut

    def frames(self) -> Any:
        return self.shown(*run_card.FRAME_NUMBERS) if self.shows_clips else "none: this model looks at no clip"

    def shown(self, *names: str) -> Any:
        """Return how clips were asked to be shown, under one name for all adapters, so that models can be compared."""
        if not self.shows_clips:
            raise run_card.LeftOut
        for name in names:
            for holder in (self.attribute("engine", "settings"), self.model):
                if isinstance(value := get_nested_attr(holder, name), (int, float, str)):
                    return value
            if name in self.arguments:
                return self.arguments[name]
        if any(name in vars(self.model) for name in names):
            return "not set"
        raise run_card.Unknown("no argument or attribute of the model names it")

    def pixels(self) -> str:
        if not self.shows_clips:
            raise run_card.LeftOut
        unlimited = "the model has no such limits, or so many frames that they depend on the clip"
        limits = run_card.known(qwen_limits(self.model), unlimited)
        return f"{limits.least} to {limits.most}"

    def reader(self) -> Any:
        if not self.shows_clips:
            raise run_card.LeftOut
        return run_card.known(self.run.facts.clip_reader, "how the model reads clips is not known")

    def denoising(self) -> Mapping[str, Any]:
        measured = self.attribute("engine", "facts")
        return {name: partial(measured.__getitem__, name) for name in DENOISING} if measured else {}

    def sharing(self) -> Mapping[str, Any]:
        facts = self.attribute("facts")
        return facts if isinstance(facts, Mapping) else {}

    def _apply(self, name: str, hazard: Hazard) -> str:
        """Say whether a hazard applies, and keep what it is found in."""
        if self.model is None:
            raise run_card.Unknown("which model ran is not known")
        facts = RunFacts(
            adapter=adapter_of(type(self.model)),
            weights=self.weights.family,
            reader=self.run.facts.clip_reader,
            version=version_of,
            argument=self._argument,
        )
        if not (shows_videos(self.evaluation) and hazard.applies(facts)):
            return run_card.DOES_NOT_APPLY
        self._applying[name] = hazard.found(facts)
        return run_card.APPLIES

    def _argument(self, name: str) -> Any:
        for attribute in ATTRIBUTES.get(name, (name,)):
            value = self.attribute(attribute)
            if isinstance(value, (bool, int, float, str)):
                return value
        given = {"batch_size": str(self.config.get("batch_size")), **self.arguments}.get(name, "")
        return None if given.lower() in NO_VALUE else given

    def ranks(self) -> int:
        return max(current_exchange().size, int(os.environ.get("WORLD_SIZE", "1")))

    def token_budget(self) -> str:
        if self.options.get("max_tokens") is None:
            return "none"
        spent = (self.results.get("usage") or {}).get("budget_exceeded")
        return f"{self.options['max_tokens']:,}{', spent' if spent else ''}"

    def answers_kept(self) -> int | str:
        return "none are kept" if self.run.answers_kept is None else self.run.answers_kept

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
    """Return the version of a package, or of another that brings its module, as eva-decord does."""
    if version := installed_version(package):
        return version
    others = metadata.packages_distributions().get(package.replace("-", "_"), ())
    return next((metadata.version(other) for other in others), None)


def gather(results: Mapping[str, Any], finished: FinishedRun) -> dict[str, dict[str, run_card.Value]]:
    run = CardRun(results, finished)
    card: dict[str, dict[str, run_card.Value]] = {}
    reasons: dict[str, run_card.Value] = {}
    for field in run_card.FIELDS:
        if field.find is None:
            continue
        for section, holder in run.holders(field.section):
            finders = {field.name: partial(field.find, holder)} if field.name else field.find(holder)
            for name, find in finders.items():
                value, reason = None, "lmms-eval does not say"
                try:
                    value = run_card.as_value(find() if callable(find) else find)
                except run_card.LeftOut:
                    continue
                except run_card.Unknown as error:
                    reason = str(error)
                except Exception as error:  # a card never ends a run
                    reason = f"{type(error).__name__}: {error}"
                if value is None:
                    reasons[f"{section}.{name}"] = reason
                card.setdefault(section, {})[name] = value
    if reasons:
        card[run_card.NOT_KNOWN] = reasons
    for fields in card.values():
        fields |= {name: hide_secrets(text, os.environ) for name, text in fields.items() if isinstance(text, str)}
    return card
