"""Run cards: reading and comparing them, known hazards, and the record of the training of weights."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError

from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import ANSWERS, HOME, SAMPLE, SHARD

TRAINED_ON = "trained_on.json"


class Stage(BaseModel, extra="forbid", frozen=True):
    method: str
    data: dict[str, str]
    items: int = Field(ge=1)
    clips: int = Field(ge=1)
    rows_sha256: str
    options: dict[str, Any]
    steps: int | None = None
    all_steps: int | None = None

    @property
    def progress(self) -> str:
        return "not finished" if self.steps is None else f"{self.steps} of {self.all_steps} steps"


class TrainedOn(BaseModel, extra="forbid", frozen=True):
    base: str
    stages: tuple[Stage, ...] = Field(min_length=1)
    compared_with: tuple[str, ...]
    tool_version: str

    def summary(self) -> str:
        stages = "; then ".join(
            f"{stage.method} on {stage.items:,} questions about {stage.clips:,} clips "
            f"(rows {stage.rows_sha256[:12]}), {stage.progress}"
            for stage in self.stages
        )
        compared = ", ".join(self.compared_with) or "no test set"
        return f"{self.base}: {stages}; clips compared with {compared}"

    def write(self, folder: Path) -> None:
        write_file(folder / TRAINED_ON, json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")


def read_trained_on(folder: Path) -> TrainedOn | None:
    path = folder / TRAINED_ON
    if not path.is_file():
        return None
    try:
        return TrainedOn.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be used: Expected what `train … export` writes.") from error


CARD = "_run_card.json"
TASK = "task "
"""A task's section is named after it, with this before."""
COST = "cost of "
"""The section of what a task's answers cost is named after it, with this before."""
HAZARDS = "known hazards"
"""The section that says of each known hazard whether it applies to the run."""
APPLIES, DOES_NOT_APPLY = "applies", "does not apply"
HAZARD = "hazard "
"""The section of a hazard that applies is named after it, with this before."""
NOT_KNOWN = "not known"
"""The section that says of each field that is null why: `section.field` to the reason."""

Value = str | int | float | None
Sections = Mapping[str, Mapping[str, Value]]

_Card = dict[str, dict[str, StrictStr | StrictInt | StrictFloat | None]]


class Weight(str, Enum):
    MATTERS = "matters"
    """The scores differ in more than the model."""
    MODEL = "model"
    """Another model, which is what runs are compared for."""
    ENVIRONMENT = "environment"
    """Software, hardware and how the work was split; it should not move a score, and sometimes does."""
    NEVER = "never"
    """Another time or place."""


@dataclass(frozen=True)
class Missing:
    """Stands for a fact that a run has and that cannot be found; `why` is for people."""

    why: str


Fact = str | int | float | Mapping[str, Any] | Sequence[Any] | Missing | None
"""What `as_value` writes as a value, or `Missing`; None where lmms-eval does not say it."""
Facts = Mapping[str, Fact]
"""Facts of a section by name, in their order; what a run does not have is left out."""


class CardField(NamedTuple):
    section: str
    """Its section; of tasks and hazards, the beginning of its name."""
    name: str
    """Its name. An empty name stands for the section's fields that have no line of their own."""
    weight: Weight
    public: str = ""
    """Its name in an export; a field without one stays here."""


MATTERS, MODEL, ENVIRONMENT, NEVER = Weight
FRAME_NUMBERS = ("max_num_frames", "max_frames_num", "num_frame", "num_frames", "nframes", "max_frames", "frames")
"""Names of lmms-eval's adapters for the number of frames."""

FIELDS = (
    CardField(TASK, "version", MATTERS),
    CardField(TASK, "benchmark", MATTERS),
    CardField(TASK, "data", MATTERS),
    CardField(TASK, "data source", NEVER),
    CardField(TASK, "data revision", MATTERS),
    CardField(TASK, "data sha256", MATTERS, "data sha256"),
    CardField(TASK, "release sha256", MATTERS),
    CardField(TASK, "prepared by", NEVER),
    CardField(TASK, "missing clips", MATTERS),
    CardField(TASK, "items", MATTERS),
    CardField(TASK, "view", MATTERS),
    CardField(TASK, "prompt", MATTERS, "prompt"),
    CardField(TASK, "prompt sha256", MATTERS, "prompt sha256"),
    CardField(TASK, "official prompt", MATTERS, "official prompt"),
    CardField(TASK, "", MATTERS),
    CardField(TASK, "judge", MATTERS),
    CardField(TASK, "extractor", MATTERS, "extractor"),
    CardField(TASK, "generation", MATTERS),
    CardField(TASK, "repeats", MATTERS, "repeats"),
    CardField(TASK, "fewshot examples", MATTERS, "fewshot examples"),
    CardField("model", "name", MODEL, "adapter"),
    CardField("model", "class", MODEL),
    CardField("model", "arguments", MODEL),
    CardField("model", "checkpoint", MODEL),
    CardField("model", "revision", MODEL),
    CardField("model", "precision", MODEL, "precision"),
    CardField("model", "parameters", MODEL),
    CardField("model", "system instruction", MATTERS),
    CardField("model", "chat template", MATTERS),
    CardField("model", "trained on", MODEL),
    CardField("model", "", MODEL),
    CardField("frames", "frames", MATTERS, "frames"),
    CardField("frames", "fps", MATTERS, "frames a second"),
    CardField("frames", "least pixels", MATTERS, "least pixels"),
    CardField("frames", "most pixels", MATTERS, "most pixels"),
    CardField("frames", "height", MATTERS, "height"),
    CardField("frames", "width", MATTERS, "width"),
    CardField("frames", "pixels of a frame", MATTERS, "pixels of a frame"),
    CardField("frames", "reader", ENVIRONMENT, "clip reader"),
    CardField("denoising", "", MATTERS),
    CardField("sharing", "", MATTERS),
    CardField("sharing", "mode", ENVIRONMENT),
    CardField("sharing", "why", NEVER),
    CardField("sharing", "attention", ENVIRONMENT),
    CardField("sharing", "questions at once", ENVIRONMENT),
    CardField("throughput", "", NEVER),
    CardField(COST, "", NEVER),
    CardField(HAZARDS, "", MATTERS),
    CardField(HAZARD, "adapter", MODEL),
    CardField(HAZARD, "versions", MATTERS),
    CardField(HAZARD, "condition", MATTERS),
    CardField(HAZARD, "effect", NEVER),
    CardField(HAZARD, "source", NEVER),
    CardField("seeds", "random", MATTERS),
    CardField("seeds", "numpy", MATTERS),
    CardField("seeds", "torch", MATTERS, "seed"),
    CardField("seeds", "fewshot", MATTERS),
    CardField("run", "date", NEVER),
    CardField("run", "command", NEVER),
    CardField("run", "tasks", NEVER),
    CardField("run", "limit", MATTERS),
    CardField("run", "shard", MATTERS),
    CardField("run", "sample", MATTERS),
    CardField("run", "offset", MATTERS),
    CardField("run", "batch size", ENVIRONMENT, "batch size"),
    CardField("run", "ranks", ENVIRONMENT, "ranks"),
    CardField("run", "wall time in s", NEVER),
    CardField("run", "reasoning tags", MATTERS),
    CardField("run", "response cache", NEVER),
    CardField("run", "budget of tokens", NEVER),
    CardField("run", "answers kept from before", NEVER),
    CardField("run", "", NEVER),
    CardField("software", "", ENVIRONMENT),
    CardField("software", "torch", ENVIRONMENT, "torch"),
    CardField("software", "transformers", ENVIRONMENT, "transformers"),
    CardField("software", "lmms-eval", ENVIRONMENT, "lmms-eval"),
    CardField("hardware", "device", ENVIRONMENT),
    CardField("hardware", "", ENVIRONMENT),
    CardField("hardware", "GPUs", ENVIRONMENT, "GPUs"),
    CardField("settings", "", MATTERS),
    CardField("settings", HOME, NEVER),
    CardField("settings", ANSWERS, NEVER),
    CardField("settings", SHARD, NEVER),
    CardField("settings", SAMPLE, NEVER),
    CardField("rescored", "", NEVER),
    CardField("merged", "", NEVER),
    CardField(NOT_KNOWN, "", NEVER),
)
"""Every field; what is in no line matters, since a later version may write it."""
_BY_NAME = {(field.section, field.name): field for field in FIELDS}


@dataclass(frozen=True)
class CardDifference:
    section: str
    field: str
    values: tuple[Value, ...]
    weight: Weight

    @property
    def place(self) -> str:
        return self.section.removeprefix(TASK)

    @property
    def text(self) -> str:
        """Values of each run's card, in the order of the runs; equal values are given once, with their runs."""
        runs: dict[str, list[str]] = {}
        for number, text in enumerate(_differing_texts(self.values), start=1):
            runs.setdefault(text, []).append(str(number))
        if len(runs) == len(self.values):
            return " against ".join(map(_shorten, runs))
        return " against ".join(
            f"{_shorten(text)} ({'run' if len(numbers) == 1 else 'runs'} {', '.join(numbers)})"
            for text, numbers in runs.items()
        )


def card_of(facts: Mapping[str, Facts]) -> dict[str, dict[str, Value]]:
    """Return the card of a run's facts, by sections that have any: null where one is missing, and at the end why."""
    card: dict[str, dict[str, Value]] = {}
    reasons: dict[str, dict[str, str]] = {}
    for section, fields in facts.items():
        for name, fact in fields.items():
            value, reason = _read_fact(fact)
            card.setdefault(section, {})[name] = value
            if value is None:
                reasons.setdefault(section, {})[name] = reason
    if reasons:
        card[NOT_KNOWN] = dict(_in_order(facts, reasons))
    return card


def _read_fact(fact: Fact) -> tuple[Value, str]:
    """Return a fact as a card writes it, and the reason where it is null."""
    if isinstance(fact, Missing):
        return None, fact.why
    try:
        return as_value(fact), "lmms-eval does not say"
    except Exception as error:  # a card never ends a run
        return None, f"{type(error).__name__}: {error}"


def _in_order(facts: Mapping[str, Facts], reasons: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield reasons by `section.field`, those of several tasks field by field."""
    for kind, of_kind in groupby(facts, _kind_of):
        sections = list(of_kind)
        names = list(dict.fromkeys(name for section in sections for name in facts[section]))
        for name in sorted(names, key=_place_in_task) if kind == TASK else names:
            for section in sections:
                if name in (of_section := reasons.get(section, {})):
                    yield f"{section}.{name}", of_section[name]


def _kind_of(section: str) -> str:
    return next((kind for kind in (TASK, COST, HAZARD) if section.startswith(kind)), section)


def _place_in_task(name: str) -> int:
    """Return the place of a task's field among all of them."""
    names = [field.name for field in FIELDS if field.section == TASK]
    return names.index(name if name in names else "")


def as_value(value: Any) -> Value:
    """Return what a card writes of a value; mappings and lists as JSON."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return str(value) if not isfinite(value) else int(value) if value.is_integer() else value
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(value)


def read_run_card(path: Path) -> Sections:
    """Return the sections of a run card; none where there is no card, for earlier versions wrote none."""
    if not path.is_file():
        return {}
    try:
        return TypeAdapter(_Card).validate_json(path.read_bytes(), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # A union names each of its members in the place; the section and the field are enough.
        where = ".".join(map(str, first["loc"][:2]))
        raise InputError(
            f"Expected sections of fields that are texts or numbers, but got {first['msg'].lower()}"
            f"{f' at {where}' if where else ''}."
        ) from None


def applying_hazards(cards: Sequence[Sections]) -> dict[str, list[int]]:
    """Known hazards that apply to any of several runs, each with the places of these runs."""
    places: dict[str, list[int]] = {}
    for place, card in enumerate(cards):
        for name, value in card.get(HAZARDS, {}).items():
            if value == APPLIES:
                places.setdefault(name, []).append(place)
    return places


def describe_hazard(name: str, cards: Sequence[Sections] = ()) -> str:
    """Return a hazard's effect and source, of this version or as one of the cards has them."""
    if hazard := KNOWN_HAZARDS.get(name):
        return f"{hazard.effect} Source: {hazard.source}"
    section = next((card[f"{HAZARD}{name}"] for card in cards if f"{HAZARD}{name}" in card), None)
    if section is None:
        return "This version of lmms-eval-tasks does not know it."
    return f"{_text(section.get('effect'))} Source: {_text(section.get('source'))}"


def weight_of(section: str, field: str) -> Weight:
    section = _kind_of(section)
    line = _BY_NAME.get((section, field)) or _BY_NAME.get((section, ""))
    return line.weight if line else MATTERS


def differences(cards: Sequence[Sections], tasks: Sequence[str] | None = None) -> list[CardDifference]:
    """Fields in which runs differ, but those that never matter; of tasks only those named, by default all."""
    known = [card for card in cards if card]
    if len(known) < 2:
        return []
    names = dict.fromkeys((section, field) for card in known for section, fields in card.items() for field in fields)
    differing = []
    for section, field in names:
        if tasks is not None and section.startswith(TASK) and section.removeprefix(TASK) not in tasks:
            continue
        holders = [card for card in known if section in card]
        values = {card[section].get(field) for card in holders} - {None}
        weight = weight_of(section, field)
        if len(values) > 1 and weight is not Weight.NEVER:
            every = tuple(card.get(section, {}).get(field) for card in cards)
            differing.append(CardDifference(section, field, every, weight))
    return sorted(differing, key=lambda difference: list(Weight).index(difference.weight))


def summary(card: Sections, groups: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """Return a card in a few lines: the model and how it was shown clips, on what it ran, and a line for each task."""
    lines = {section.removeprefix(TASK): _task(fields) for section, fields in card.items() if section.startswith(TASK)}
    for group, tasks in (groups or {}).items():
        if len({lines.get(task) for task in tasks}) == 1 and tasks[0] in lines:
            line = lines[tasks[0]]
            lines = {name: text for name, text in lines.items() if name not in tasks} | {f"{group}, each task": line}
    return [_model(card), _environment(card), *(f"{name}: {text}" for name, text in lines.items())]


def _task(fields: Mapping[str, Value]) -> str:
    prompt = f"{fields.get('prompt')}:{_digest(fields.get('prompt sha256'))}" if fields.get("prompt") else "none"
    official = " (official text)" if fields.get("official prompt") == "yes" else ""
    return (
        f"version {_text(fields.get('version'))}, {_text(fields.get('data'))} {_digest(fields.get('data sha256'))}, "
        f"prompt {prompt}{official}, {_text(fields.get('extractor'))}"
    )


def _model(card: Sections) -> str:
    model = card.get("model", {})
    named = [str(model[name]) for name in ("name", "checkpoint", "revision") if model.get(name)]
    frames = [f"{name} {value}" for name, value in card.get("frames", {}).items() if value not in (None, "not set")]
    seeds = ", ".join(_text(value) for value in card.get("seeds", {}).values())
    parts = [" ".join(named), ", ".join(frames), f"seeds {seeds}" if seeds else ""]
    return "; ".join(part for part in parts if part)


def _environment(card: Sections) -> str:
    software, run, hardware = card.get("software", {}), card.get("run", {}), card.get("hardware", {})
    packages = [name for name in ("lmms-eval-tasks", "lmms-eval", "torch", "transformers") if software.get(name)]
    gpus = hardware.get("GPUs")
    device = str(hardware.get("CPU") if gpus in (None, "none") else gpus)
    limit = [] if run.get("limit") in (None, "none") else [f"limit {run['limit']}"]
    ranks = [] if run.get("ranks") in (None, 1) else [f"{run['ranks']} ranks"]
    time = [] if run.get("wall time in s") is None else [f"{run['wall time in s']} s"]
    return ", ".join([*(f"{name} {software[name]}" for name in packages), device, *ranks, *time, *limit])


def _differing_texts(values: Sequence[Value]) -> list[str]:
    """Return the text of each run for one field; settings written as JSON objects show only the entries that differ."""
    objects = [read_object(value) for value in values]
    known = [one for one in objects if one is not None]
    if len(known) < 2:
        return [_text(value) for value in values]
    names = sorted({name for one in known for name in one})
    differing = [name for name in names if any(one.get(name) != known[0].get(name) for one in known)]
    return [
        _text(value) if one is None else ", ".join(f"{name} {json.dumps(one.get(name))}" for name in differing)
        for value, one in zip(values, objects, strict=True)
    ]


def token_limit(card: Sections, task: str) -> int:
    limit = (read_object(card.get(f"{TASK}{task}", {}).get("generation")) or {}).get("max_new_tokens")
    return limit if isinstance(limit, int) else 0


def read_object(value: Value) -> dict[str, Any] | None:
    try:
        parsed = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _text(value: Value) -> str:
    return "not known" if value is None else str(value) or "none"


def _digest(value: Value) -> str:
    return str(value or "not known")[:8]


def _shorten(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
