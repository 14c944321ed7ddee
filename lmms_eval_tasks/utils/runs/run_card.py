"""The run card: what a run was made with, enough to repeat it; how cards are read and compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.variables import ANSWERS, HOME, SHARD
from lmms_eval_tasks.utils.runs.hazards import APPLIES, known_hazards

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
    """What it means where two runs differ in a field."""

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
        """What each run's card says, in the order of the runs; where several say the same, which these are."""
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
    """What it means where runs differ in a field."""
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
    """What runs say of one field; of settings written as JSON objects, only those that are not the same in all."""
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
    """How many tokens an answer of a run's task could have; 0 where its card does not say."""
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
