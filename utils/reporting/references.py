"""Scores beside chance, people and published models: the published figures, and on which side of them a score lies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.benchmark.card import Human
from lmms_eval_tasks.utils.scoring import pairs
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.stats.estimates import Estimate, Records, estimate


@dataclass(frozen=True)
class Published:
    """A published model's score, in the metric's unit, and where it is printed."""

    model: str
    value: float
    source: str


class Control(str, Enum):
    """What a paper did to its data, so that shortcuts do not solve it."""

    RANDOM_PAIRS = "random pairs"
    MINIMAL_PAIRS = "minimal pairs"
    SINGLE_FRAME = "single-frame filter"
    BLIND = "blind filter"


@dataclass(frozen=True)
class PublishedControl:
    """What a paper prints of such a control.

    Attributes:
        control: The control.
        what: What was measured, on what.
        value: In percent, or in percentage points where it is a change.
        source: Where it is printed.
    """

    control: Control
    what: str
    value: float
    source: str


@dataclass(frozen=True)
class ReferencedMetric:
    """A score of a task, and the published figures that it can be compared with.

    Attributes:
        metric: The score.
        chance: What guessing scores; None where no source says.
        people: Published scores of people that are the same score, each with its caveat.
        published: Published models, on the same split and part.
        note: What has to be known about the figures, or why there are none.
    """

    metric: Metric
    chance: float | None = None
    people: tuple[Human, ...] = ()
    published: tuple[Published, ...] = ()
    note: str = ""

    def estimate(self, parts: Sequence[Records]) -> Estimate | None:
        """The score of one run with its interval, from the records of each of its parts; None where it has none."""
        return estimate(self.metric, parts)

    @property
    def has_references(self) -> bool:
        """Whether there is anything to compare a score with."""
        return self.chance is not None or bool(self.people or self.published)

    @property
    def best(self) -> Published | None:
        """The published model with the highest value, the first among equals."""
        return max(self.published, key=lambda model: model.value, default=None)


def pair_references(
    pair: Mapping[str, Any] | None = None, single: Mapping[str, Any] | None = None
) -> tuple[ReferencedMetric, ...]:
    """Pair accuracy and single accuracy, each with what is known about it (further arguments of `ReferencedMetric`)."""
    return (
        ReferencedMetric(pairs.PAIR_ACCURACY, **(pair or {})),
        ReferencedMetric(pairs.SINGLE_ACCURACY, **(single or {})),
    )


def published_models(
    folder: Path, *, source: str, without: Sequence[str] = (), **where: object
) -> tuple[Published, ...]:
    """Models from a benchmark's `published.json`.

    Args:
        folder: Folder of the benchmark.
        source: How the entry's source begins, which keeps restatements and ablations out.
        without: Names that are no models (people, guessing).
        where: Fields that an entry must have, with their values; a tuple is any of its values.
    """

    def fits(entry: Mapping[str, Any]) -> bool:
        return all(entry.get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in where.items())

    return tuple(
        Published(str(entry["model"]), float(entry["value"]), str(entry["source"]))
        for entry in _entries(folder)
        if str(entry["source"]).startswith(source) and entry["model"] not in without and fits(entry)
    )


@cache
def _entries(folder: Path) -> tuple[Mapping[str, Any], ...]:
    return tuple(json.loads((folder / "published.json").read_text(encoding="utf-8"))["records"])


def published_controls(
    folder: Path, controls: Mapping[str, Control], *, source: str, **where: object
) -> tuple[PublishedControl, ...]:
    """What a benchmark's `published.json` has of the stages of making its data.

    Args:
        folder: Folder of the benchmark.
        controls: How a stage's name begins, and the control that it is.
        source: How the entry's source begins.
        where: Fields that an entry must have, with their values.
    """
    return tuple(
        PublishedControl(control, f"{entry['metric']} ({entry['stage']})", float(entry["value"]), str(entry["source"]))
        for beginning, control in controls.items()
        for entry in _entries(folder)
        if str(entry.get("stage", "")).startswith(beginning)
        and str(entry["source"]).startswith(source)
        and all(entry.get(key) == value for key, value in where.items())
    )


def compare_to_reference(score: Estimate, reference: float) -> str:
    """``above`` or ``below`` where the score's interval excludes a reference, else ``open``."""
    return "above" if score.low > reference else "below" if score.high < reference else "open"


def reference_notes(references: Sequence[ReferencedMetric]) -> list[str]:
    """Where each score's references come from and what has to be known about them, without repetition."""
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
