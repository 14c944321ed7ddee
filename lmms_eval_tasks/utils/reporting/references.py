"""Scores beside chance, people and published models: the published figures, and on which side of them a score lies."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.data.card import Card, Human
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate, Records, estimate, refuse_counts
from lmms_eval_tasks.utils.scoring.metrics import Metric


@dataclass(frozen=True)
class Published:
    """A published model's score, in the metric's unit, and where it is printed."""

    model: str
    value: float
    source: str


CONTROLS = ("random pairs", "minimal pairs", "single-frame filter", "blind filter")
"""What papers did to their data to prevent shortcuts, in the order in which they did it."""


@dataclass(frozen=True)
class PublishedView(Published):
    """A published score of a task, or of a view of one."""

    score: str
    people: bool = False
    note: str = ""


@dataclass(frozen=True)
class ReferencedMetric:
    """A score of a task, and the published figures that it can be compared with.

    Attributes:
        metric: The score; no count.
        chance: What guessing scores, in the metric's unit; None where no source says.
        people: Published scores of people that are the same score, in percent, each with its caveat.
        published: Published models on the same split and part, in the metric's unit.
        note: What has to be known about the figures, or why there are none.
    """

    metric: Metric
    chance: float | None = None
    people: tuple[Human, ...] = ()
    published: tuple[Published, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        refuse_counts(self.metric)

    def estimate(self, parts: Sequence[Records]) -> Estimate | None:
        """The score of one run with its interval, from the records of each of its parts; None where it has none."""
        return estimate(self.metric, parts)

    @property
    def heading(self) -> str:
        """The score's title, as the beginning of a sentence."""
        return f"{self.metric.title[0].upper()}{self.metric.title[1:]}"

    @property
    def axis_title(self) -> str:
        """The score's title with its unit."""
        unit = "percentage points" if self.metric.unit == "points" else self.metric.unit
        return f"{self.metric.title}, {unit}" if unit else self.metric.title

    @property
    def has_references(self) -> bool:
        """Whether there is anything to compare a score with."""
        return self.chance is not None or bool(self.people or self.published)

    @property
    def best(self) -> Published | None:
        """The published model with the highest value, the first among equals."""
        return max(self.published, key=lambda model: model.value, default=None)


def published_models(
    folder: Path, *, source: str, without: Sequence[str] = (), **where: object
) -> tuple[Published, ...]:
    """Models from a benchmark's `published.json` that were shown the whole items: none of a view.

    The file is an object whose ``records`` is a list of entries with ``model``, ``value`` and ``source``, and whatever
    else tells them apart. It is read once in a process.

    Args:
        folder: Folder of the benchmark.
        source: How the entry's source begins, which keeps restatements and ablations out.
        without: Names that are no models (people, guessing).
        where: Fields that an entry must have, with their values; a tuple is any of its values.

    Returns:
        The models in the order of the file, each with its value as printed and its source; empty where nothing fits or
        the folder has no such file.
    """

    return tuple(
        Published(str(entry["model"]), float(entry["value"]), str(entry["source"]))
        for entry in _entries(folder)
        if "view" not in entry
        and str(entry["source"]).startswith(source)
        and entry["model"] not in without
        and fits(entry, where)
    )


def published_parts(folder: Path, names: Sequence[str]) -> tuple[Published, ...]:
    """Models' scores on parts of a subset, as ``intuitive_physics: Unchangeableness``, whose names are among some."""

    def plain(name: str) -> str:
        return re.sub(r"[\W_]+", "", name).casefold()

    wanted = {plain(name) for name in names} - {""}
    parts = [(str(entry.get("category", "")).partition(": ")[2], entry) for entry in _entries(folder)]
    return tuple(
        Published(f"{part}, {entry['model']}", float(entry["value"]), str(entry["source"]))
        for part, entry in parts
        if plain(part) in wanted
    )


def fits(entry: Mapping[str, Any], where: Mapping[str, object]) -> bool:
    """Whether an entry of a `published.json` has some fields with their values; a tuple is any of its values."""
    return all(entry.get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in where.items())


def published_entries(folder: Path, sources: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The entries of a benchmark's `published.json` whose source begins with one of these, in their order."""
    return [entry for entry in _entries(folder) if str(entry["source"]).startswith(sources)]


def published_of_view(folder: Path, task: str, view: str) -> tuple[PublishedView, ...]:
    """Return the published scores of a view of a task or group, or of the whole items: the entries of `published.json`
    that name both, in percent. One of a single frame is of the view with that position too."""
    name = task.removesuffix(f"_{view}") if view else task

    def is_of_view(entry: Mapping[str, Any]) -> bool:
        own = str(entry.get("view", ""))
        return view == own or ("frame" in entry and view == f"{own}_{entry['frame']}")

    return tuple(
        PublishedView(
            model=str(entry["model"]),
            value=float(entry["value"]) * (100.0 if entry["unit"] == "fraction" else 1.0),
            source=str(entry["source"]),
            score=str(entry["score"]),
            people=bool(entry.get("people")),
            note=str(entry.get("note", "")),
        )
        for entry in _entries(folder)
        if entry.get("task") == name and "score" in entry and is_of_view(entry)
    )


@cache
def _entries(folder: Path) -> tuple[Mapping[str, Any], ...]:
    file = folder / "published.json"
    return tuple(json.loads(file.read_text(encoding="utf-8"))["records"]) if file.is_file() else ()


def published_controls(folder: Path, task: str, controls: Sequence[str] = CONTROLS) -> list[Published]:
    """The published results of controls on the data of a task or group, each called by its score, in their order.

    They are the entries of `published.json` that have a ``control``, and name the task where they have a ``task``.
    """
    found = [one for one in _entries(folder) if one.get("control") in controls and one.get("task", task) == task]
    return [
        Published(
            " ".join(filter(None, [entry["metric"], f"({entry['stage']})" if "stage" in entry else ""])),
            float(entry["value"]),
            str(entry["source"]),
        )
        for entry in sorted(found, key=lambda entry: controls.index(entry["control"]))
    ]


def usual_references(
    card: Card, folder: Path, metrics: Sequence[Metric], task: str, others: Container[str] = ()
) -> tuple[ReferencedMetric, ...]:
    """The scores of a task or group, among metrics, where its kind names none; the paper's main one first."""
    people = {
        metric.name: tuple(one for one in card.human if one.metric == metric.name and one.metric not in others)
        for metric in metrics
    }
    means = [metric for metric in metrics if metric.kind == "mean"]
    known = [one for one in means if one.name in card.chance or people[one.name] or one.name == card.main_metric]
    models = [one for one in published_of_view(folder, task, "") if not one.people]
    return tuple(
        ReferencedMetric(
            metric,
            None if metric.name in others else card.chance.get(metric.name),
            people[metric.name],
            tuple(one for one in models if one.score == metric.name),
        )
        for metric in sorted(known or means[:1], key=lambda one: one.name != card.main_metric)
    )


def facts_of(reference: ReferencedMetric) -> list[tuple[str, str, float]]:
    """What a score can be compared with: kind (people, published or chance), name and value of each."""
    people = [("people", "people", human.percent) for human in reference.people]
    models = [("published", model.model, model.value) for model in reference.published]
    return [*people, *models, *([] if reference.chance is None else [("chance", "chance", reference.chance)])]


def without_published(reference: ReferencedMetric) -> ReferencedMetric:
    """A score beside chance alone, for what is not the whole official release."""
    return replace(reference, people=(), published=(), note="")


def reference_notes(references: Sequence[ReferencedMetric]) -> list[str]:
    """Return notes on the sources of each score's references and their caveats, without repetition."""
    sources: dict[str, list[str]] = {}
    for reference in references:
        title = reference.metric.title
        for human in reference.people:
            sources.setdefault(f"{human.source}; {human.caveat}", []).append(f"people, {title}")
        for source in dict.fromkeys(model.source for model in reference.published):
            sources.setdefault(source, []).append(f"published, {title}")
        if reference.note:
            sources.setdefault(reference.note, [])
    return [f"{'; '.join(names)}: {text}" if names else text for text, names in sources.items()]
