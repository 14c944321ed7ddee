"""The run card: what a run was made with, enough to repeat it; how cards are read and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import ANSWERS, HOME, SHARD

FILE = Path(__file__).with_name("hazards.json")
APPLIES, DOES_NOT_APPLY = "applies", "does not apply"


def _check_specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"Expected a specifier of versions, but got {text!r}") from error
    return text


Specifier = Annotated[str, AfterValidator(_check_specifier)]


class ArgumentTest(BaseModel):
    """A test of one argument of a model, as the model has it; exactly one of its fields is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    above: float | None = None
    unset: bool | None = None
    none_of: tuple[str | bool, ...] | None = None

    @model_validator(mode="after")
    def _check_count(self) -> ArgumentTest:
        if [self.above, self.unset, self.none_of].count(None) != 2:
            raise ValueError("Expected exactly one test of an argument")
        return self

    def holds(self, name: str, value: Any) -> bool:
        """Whether a value passes; None stands for an argument that is not set."""
        if self.unset is not None:
            return (value is None) is self.unset
        if self.none_of is not None:
            return str(value).lower() not in {str(other).lower() for other in self.none_of}
        try:
            return float(value) > float(self.above or 0)
        except (TypeError, ValueError):
            raise ValueError(f"Expected {name} to be a number, but got {value!r}.") from None

    def __str__(self) -> str:
        """Return the condition in words, to follow the argument's name."""
        if self.unset is not None:
            return "not set" if self.unset else "set"
        if self.none_of is not None:
            return f"not {' or '.join(str(value).lower() for value in self.none_of)}"
        return f"above {self.above:g}"


class Hazard(BaseModel):
    """One entry; a condition that it does not have always holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    adapters: tuple[str, ...] = Field(default=(), description="any of them")
    weights: tuple[str, ...] = Field(default=(), description="any of them")
    readers: tuple[str, ...] = Field(default=(), description="any of them")
    packages: dict[str, Specifier] = Field(default={}, description="all of them")
    arguments: dict[str, ArgumentTest] = Field(default={}, description="all of them")
    effect: str = Field(min_length=1)
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _check_conditions(self) -> Hazard:
        if not (self.adapters or self.weights or self.readers):
            raise ValueError("Expected adapters, weights or readers, for no hazard is one of every model")
        return self

    def where(self) -> str:
        """Its conditions as text: `weights qwen2_5_vl; transformers >=5.3.0; fps not set`."""
        any_of = (("adapter", self.adapters), ("weights", self.weights), ("reader", self.readers))
        parts = [f"{name} {' or '.join(values)}" for name, values in any_of if values]
        parts += [f"{package} {specifier}" for package, specifier in self.packages.items()]
        return "; ".join([*parts, *(f"{name} {test}" for name, test in self.arguments.items())])

    def found(self, facts: RunFacts) -> dict[str, str]:
        """Return the entries of a card about a run to which the hazard applies."""
        versions = [f"{package} {facts.version(package)}" for package in self.packages]
        reader = [f"reader {facts.reader}"] if self.readers else []
        values = {name: facts.argument(name) for name in self.arguments}
        given = [f"{name} {'not set' if value is None else value}" for name, value in values.items()]
        return {
            "adapter": f"{facts.adapter}, weights {facts.weights}" if self.weights else facts.adapter,
            "versions": ", ".join(versions) or "any",
            "condition": ", ".join([*reader, *given]) or "none",
            "effect": self.effect,
            "source": self.source,
        }


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run on which conditions are tested."""

    adapter: str
    weights: str | None
    shows_videos: bool
    version: Callable[[str], str | None]
    argument: Callable[[str], Any]
    reader: str | None = None


def applies(hazard: Hazard, facts: RunFacts) -> bool:
    """Whether a hazard applies to a run."""
    doubt: Exception | None = None
    for holds in _conditions(hazard, facts):
        try:
            if not holds():
                return False
        except Exception as error:  # whatever a fact's finder raises
            doubt = error
    if doubt:
        raise doubt
    return True


def _conditions(hazard: Hazard, facts: RunFacts) -> Iterator[Callable[[], bool]]:
    yield lambda: facts.shows_videos
    if hazard.adapters:
        yield lambda: facts.adapter in hazard.adapters
    if hazard.weights:
        yield lambda: facts.weights in hazard.weights
    if hazard.readers:
        yield lambda: facts.reader in hazard.readers
    for package, specifier in hazard.packages.items():
        yield partial(_is_installed, package, specifier, facts)
    for name, test in hazard.arguments.items():
        yield partial(_passes, test, name, facts)


def _is_installed(package: str, specifier: str, facts: RunFacts) -> bool:
    version = facts.version(package)
    return version is not None and SpecifierSet(specifier).contains(version, prereleases=True)


def _passes(test: ArgumentTest, name: str, facts: RunFacts) -> bool:
    return test.holds(name, facts.argument(name))


def read_hazards(path: Path) -> dict[str, Hazard]:
    """The hazards of a file by name, in its order."""
    try:
        entries = TypeAdapter(list[Hazard]).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path.name}: {first['msg']}{f' at {where}' if where else ''}.") from None
    hazards = {hazard.name: hazard for hazard in entries}
    if len(hazards) < len(entries):
        raise InputError(f"{path.name}: Expected names that differ, but got one twice.")
    return hazards


@cache
def known_hazards() -> Mapping[str, Hazard]:
    """The hazards that this version knows, by name."""
    return read_hazards(FILE)


TRAINED_ON = "trained_on.json"


class Stage(BaseModel):
    """One training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
        """Progress of the training, for a run card."""
        return "not finished" if self.steps is None else f"{self.steps} of {self.all_steps} steps"


class TrainedOn(BaseModel):
    """The trainings that made weights, the first one first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str
    stages: tuple[Stage, ...] = Field(min_length=1)
    compared_with: tuple[str, ...]
    tool_version: str

    def summary(self) -> str:
        """One line for a run card."""
        stages = "; then ".join(
            f"{stage.method} on {stage.items:,} questions about {stage.clips:,} clips "
            f"(rows {stage.rows_sha256[:12]}), {stage.progress}"
            for stage in self.stages
        )
        compared = ", ".join(self.compared_with) or "no test set"
        return f"{self.base}: {stages}; clips compared with {compared}"

    def write(self, folder: Path) -> None:
        """Write it into a folder of weights."""
        write_file(folder / TRAINED_ON, json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")


def read_trained_on(folder: Path) -> TrainedOn | None:
    """Read the record of the training of the weights in a folder; None if there is none."""
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
HAZARDS = "known hazards"
"""The section that says of each known hazard whether it applies to the run."""
HAZARD = "hazard "
"""The section of a hazard that applies is named after it, with this before."""
NOT_KNOWN = "not known"
"""The section that says of each field that is null why: `section.field` to the reason."""

Value = str | int | float | None
Sections = Mapping[str, Mapping[str, Value]]

_Card = dict[str, dict[str, StrictStr | StrictInt | StrictFloat | None]]


class Weight(str, Enum):
    """Meaning of a difference between two runs in a field."""

    MATTERS = "matters"
    """The scores differ in more than the model."""
    MODEL = "model"
    """Another model, which is what runs are compared for."""
    ENVIRONMENT = "environment"
    """Software, hardware and how the work was split; it should not move a score, and sometimes does."""
    NEVER = "never"
    """Another time or place."""


_WEIGHTS = {
    ("model", ""): Weight.MODEL,
    ("model", "system instruction"): Weight.MATTERS,
    ("model", "chat template"): Weight.MATTERS,
    ("software", ""): Weight.ENVIRONMENT,
    ("hardware", ""): Weight.ENVIRONMENT,
    ("run", ""): Weight.NEVER,
    ("run", "limit"): Weight.MATTERS,
    ("run", "offset"): Weight.MATTERS,
    ("run", "shard"): Weight.MATTERS,
    ("run", "reasoning tags"): Weight.MATTERS,
    ("run", "ranks"): Weight.ENVIRONMENT,
    ("run", "batch size"): Weight.ENVIRONMENT,
    ("frames", "reader"): Weight.ENVIRONMENT,
    ("sharing", "mode"): Weight.ENVIRONMENT,
    ("sharing", "why"): Weight.NEVER,
    ("sharing", "attention"): Weight.ENVIRONMENT,
    ("sharing", "questions at once"): Weight.ENVIRONMENT,
    ("throughput", ""): Weight.NEVER,
    ("rescored", ""): Weight.NEVER,
    ("merged", ""): Weight.NEVER,
    (NOT_KNOWN, ""): Weight.NEVER,
    ("settings", HOME): Weight.NEVER,
    ("settings", ANSWERS): Weight.NEVER,
    ("settings", SHARD): Weight.NEVER,
    (HAZARD, "adapter"): Weight.MODEL,
    (HAZARD, "effect"): Weight.NEVER,
    (HAZARD, "source"): Weight.NEVER,
    (TASK, "data source"): Weight.NEVER,
    (TASK, "prepared by"): Weight.NEVER,
}
"""By section and field; an empty field stands for the section's others, and what is in no line matters."""


@dataclass(frozen=True)
class CardDifference:
    """A field in which runs differ."""

    section: str
    field: str
    values: tuple[Value, ...]
    weight: Weight

    @property
    def place(self) -> str:
        """The task, or the section."""
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


def read_run_card(path: Path) -> Sections:
    """The sections of a run card; none where there is no card, for earlier versions wrote none."""
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
    """A hazard's effect and source, of this version or as one of the cards has them; of one of neither only that."""
    texts = [(hazard.effect, hazard.source) for hazard in known_hazards().values() if hazard.name == name]
    sections = [card[f"{HAZARD}{name}"] for card in cards if f"{HAZARD}{name}" in card]
    texts += [(_text(section.get("effect")), _text(section.get("source"))) for section in sections]
    if not texts:
        return "This version of lmms-eval-tasks does not know it."
    effect, source = texts[0]
    return f"{effect} Source: {source}"


def weight_of(section: str, field: str) -> Weight:
    """Return the meaning of a difference between runs in a field."""
    section = next((kind for kind in (TASK, HAZARD) if section.startswith(kind)), section)
    return _WEIGHTS.get((section, field), _WEIGHTS.get((section, ""), Weight.MATTERS))


def differences(cards: Sequence[Sections], tasks: Sequence[str] | None = None) -> list[CardDifference]:
    """Fields in which runs differ, those that never matter left out; of tasks only those named, by default all."""
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
    """A card in a few lines: the model and how it was shown clips, on what it ran, and a line for each task."""
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
    objects = [_read_object(value) for value in values]
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
    """Return the maximum number of tokens of an answer of a run's task; 0 if its card does not say."""
    limit = (_read_object(card.get(f"{TASK}{task}", {}).get("generation")) or {}).get("max_new_tokens")
    return limit if isinstance(limit, int) else 0


def _read_object(value: Value) -> dict[str, Any] | None:
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
