"""Run cards: reading and comparing them, known hazards, and the record of the training of weights."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError

from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS
from lmms_eval_tasks.utils.answers.hooks import OFFICIAL
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import ANSWERS, HOME, SHARD

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


class Unknown(Exception):
    """A field of a run card cannot be found; the text says why."""


class LeftOut(Exception):
    """A run has no such field."""


def known(value: Any, why: str) -> Any:
    """Return a value that is there; raises `Unknown` with the reason where it is not."""
    if value is None:
        raise Unknown(why)
    return value


class CardField(NamedTuple):
    section: str
    """Its section; of tasks and hazards, the beginning of its name."""
    name: str
    """Its name. An empty name stands for the section's fields that have no line of their own."""
    weight: Weight
    find: Callable[[Any], Any] | None = None
    """Finds the value in a run, or in a task or hazard of it, as host/saving.py has them; it may raise. Without a name
    it returns fields to their values, or to functions that find these."""
    public: str = ""
    """Its name in an export; a field without one stays here."""


MATTERS, MODEL, ENVIRONMENT, NEVER = Weight
UNNAMED = "the model does not say"
FRAME_NUMBERS = ("max_num_frames", "max_frames_num", "num_frame", "num_frames", "nframes", "max_frames", "frames")
"""Names of lmms-eval's adapters for the number of frames."""

FIELDS = (
    CardField(TASK, "version", MATTERS, lambda task: task.results["versions"][task.name]),
    CardField(TASK, "benchmark", MATTERS, lambda task: task.benchmark),
    CardField(TASK, "data", MATTERS, lambda task: task.prepared.data_set.text),
    CardField(TASK, "data source", NEVER, lambda task: task.prepared.source),
    CardField(TASK, "data revision", MATTERS, lambda task: task.prepared.revision or "not from the hub"),
    CardField(TASK, "data sha256", MATTERS, lambda task: task.prepared.table_sha256, "data sha256"),
    CardField(TASK, "release sha256", MATTERS, lambda task: dict(task.prepared.source_sha256)),
    CardField(TASK, "prepared by", NEVER, lambda task: f"lmms-eval-tasks {task.manifest.tool_version}"),
    CardField(TASK, "missing clips", MATTERS, lambda task: len(task.prepared.missing)),
    CardField(TASK, "items", MATTERS, lambda task: task.results["n-samples"][task.name]["effective"]),
    CardField(TASK, "view", MATTERS, lambda task: task.view),
    CardField(TASK, "prompt", MATTERS, lambda task: task.prompt.prompt_id, "prompt"),
    CardField(TASK, "prompt sha256", MATTERS, lambda task: task.prompt.sha256, "prompt sha256"),
    CardField(TASK, "official prompt", MATTERS, lambda task: task.prompt.prompt_id == OFFICIAL, "official prompt"),
    CardField(TASK, "", MATTERS, lambda task: task.settings),
    CardField(TASK, "judge", MATTERS, lambda task: task.judge),
    CardField(TASK, "extractor", MATTERS, lambda task: task.state.kind.extractor, "extractor"),
    CardField(TASK, "generation", MATTERS, lambda task: task.config["generation_kwargs"]),
    CardField(TASK, "repeats", MATTERS, lambda task: task.config["repeats"], "repeats"),
    CardField(TASK, "fewshot examples", MATTERS, lambda task: task.config["num_fewshot"], "fewshot examples"),
    CardField("model", "name", MODEL, lambda run: run.config["model"], "adapter"),
    CardField("model", "class", MODEL, lambda run: run.config["model_backend"]),
    CardField("model", "arguments", MODEL, lambda run: run.config["model_args"]),
    CardField("model", "checkpoint", MODEL, lambda run: run.checkpoint()),
    CardField("model", "revision", MODEL, lambda run: run.revision()),
    CardField("model", "precision", MODEL, lambda run: known(run.weights.precision, UNNAMED), "precision"),
    CardField("model", "parameters", MODEL, lambda run: known(run.weights.parameters, UNNAMED)),
    CardField("model", "system instruction", MATTERS, lambda run: run.results.get("system_instruction") or "none"),
    CardField("model", "chat template", MATTERS, lambda run: run.results.get("chat_template_sha") or "the model's own"),
    CardField("model", "trained on", MODEL, lambda run: run.trained_on()),
    CardField("model", "", MODEL),
    CardField("frames", "frames", MATTERS, lambda run: run.frames(), "frames"),
    CardField("frames", "fps", MATTERS, lambda run: run.shown("fps", "video_fps", "sample_fps"), "frames a second"),
    CardField("frames", "least pixels", MATTERS, lambda run: run.shown("min_pixels"), "least pixels"),
    CardField("frames", "most pixels", MATTERS, lambda run: run.shown("max_pixels"), "most pixels"),
    CardField("frames", "height", MATTERS, lambda run: run.shown("height"), "height"),
    CardField("frames", "width", MATTERS, lambda run: run.shown("width"), "width"),
    CardField("frames", "pixels of a frame", MATTERS, lambda run: run.pixels(), "pixels of a frame"),
    CardField("frames", "reader", ENVIRONMENT, lambda run: run.reader(), "clip reader"),
    CardField("denoising", "", MATTERS, lambda run: run.denoising()),
    CardField("sharing", "", MATTERS, lambda run: run.sharing()),
    CardField("sharing", "mode", ENVIRONMENT),
    CardField("sharing", "why", NEVER),
    CardField("sharing", "attention", ENVIRONMENT),
    CardField("sharing", "questions at once", ENVIRONMENT),
    CardField("throughput", "", NEVER, lambda run: run.run.throughput),
    CardField(COST, "", NEVER, lambda spent: spent),
    CardField(HAZARDS, "", MATTERS, lambda run: run.hazards),
    CardField(HAZARD, "adapter", MODEL, lambda found: found["adapter"]),
    CardField(HAZARD, "versions", MATTERS, lambda found: found["versions"]),
    CardField(HAZARD, "condition", MATTERS, lambda found: found["condition"]),
    CardField(HAZARD, "effect", NEVER, lambda found: found["effect"]),
    CardField(HAZARD, "source", NEVER, lambda found: found["source"]),
    CardField("seeds", "random", MATTERS, lambda run: run.config["random_seed"]),
    CardField("seeds", "numpy", MATTERS, lambda run: run.config["numpy_seed"]),
    CardField("seeds", "torch", MATTERS, lambda run: run.config["torch_seed"], "seed"),
    CardField("seeds", "fewshot", MATTERS, lambda run: run.config["fewshot_seed"]),
    CardField("run", "date", NEVER, lambda run: run.results["date"]),
    CardField("run", "command", NEVER, lambda run: shlex.join(sys.argv)),
    CardField("run", "tasks", NEVER, lambda run: run.options["tasks"]),
    CardField(
        "run", "limit", MATTERS, lambda run: "none" if run.config["limit"] in (None, -1) else run.config["limit"]
    ),
    CardField("run", "shard", MATTERS, lambda run: str(run.evaluation.shard or "none")),
    CardField("run", "offset", MATTERS, lambda run: run.config["offset"]),
    CardField("run", "batch size", ENVIRONMENT, lambda run: run.config["batch_size"], "batch size"),
    CardField("run", "ranks", ENVIRONMENT, lambda run: run.ranks(), "ranks"),
    CardField(
        "run", "wall time in s", NEVER, lambda run: round(float(run.results["total_evaluation_time_seconds"]), 1)
    ),
    CardField("run", "reasoning tags", MATTERS, lambda run: run.options["reasoning_tags"]),
    CardField("run", "response cache", NEVER, lambda run: run.config["use_cache"] or "none"),
    CardField("run", "budget of tokens", NEVER, lambda run: run.token_budget()),
    CardField("run", "answers kept from before", NEVER, lambda run: run.answers_kept()),
    CardField("run", "", NEVER),
    CardField("software", "", ENVIRONMENT, lambda run: run.software),
    CardField("software", "torch", ENVIRONMENT, public="torch"),
    CardField("software", "transformers", ENVIRONMENT, public="transformers"),
    CardField("software", "lmms-eval", ENVIRONMENT, public="lmms-eval"),
    CardField("hardware", "device", ENVIRONMENT, lambda run: str(known(run.attribute("device"), UNNAMED))),
    CardField("hardware", "", ENVIRONMENT, lambda run: run.hardware),
    CardField("hardware", "GPUs", ENVIRONMENT, public="GPUs"),
    CardField("settings", "", MATTERS, lambda run: run.variables()),
    CardField("settings", HOME, NEVER),
    CardField("settings", ANSWERS, NEVER),
    CardField("settings", SHARD, NEVER),
    CardField("rescored", "", NEVER),
    CardField("merged", "", NEVER),
    CardField(NOT_KNOWN, "", NEVER),
)
"""Every field in its order; what is in no line matters, since a later version may write it."""
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
    section = next((kind for kind in (TASK, COST, HAZARD) if section.startswith(kind)), section)
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
