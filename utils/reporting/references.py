"""How scores stand to chance, to people and to published models: the facts, and on which side of them a score lies."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.utils.benchmark.card import Human, benchmarks
from lmms_eval_tasks.utils.reporting.columns import Estimate, Records, estimate, item_contributions, pair_contributions
from lmms_eval_tasks.utils.stats.bootstrap import PERCENT


@dataclass(frozen=True)
class Published:
    """A published model's score, in the measure's unit, and where it is printed."""

    model: str
    value: float
    source: str


@dataclass(frozen=True)
class Measure:
    """A score of a task that can be set beside facts about the same score.

    Attributes:
        name: As in lmms-eval's results.
        heading: As in a report.
        estimate: The score of one run, from the records of each of its parts; None where it has none.
        bounds: Least and greatest value that it can have.
        unit: Of its values.
        chance: What guessing scores; None where no source says.
        people: Published scores of people that are the same score, each with its caveat.
        published: Published models, on the same split and part.
        note: What has to be known about the facts, or why there are none.
    """

    name: str
    heading: str
    estimate: Callable[[Sequence[Records]], Estimate | None]
    bounds: tuple[float, float] = PERCENT
    unit: str = "%"
    chance: float | None = None
    people: tuple[Human, ...] = ()
    published: tuple[Published, ...] = ()
    note: str = ""

    @property
    def has_facts(self) -> bool:
        """Whether there is anything to set a score beside."""
        return self.chance is not None or bool(self.people or self.published)

    @property
    def best(self) -> Published | None:
        """The published model with the highest value, the first among equals."""
        return max(self.published, key=lambda model: model.value, default=None)


def benchmark_of(task: str) -> str:
    """The benchmark whose name a task's own begins with; empty for a task of none of ours."""
    named = [name for name in benchmarks() if task == name or task.startswith(f"{name}_")]
    return max(named, key=len, default="")


def measures_of(task: str, items: int) -> tuple[Measure, ...]:
    """The measures of a task or group, as its benchmark states them in `scores.measures`; the first leads.

    Args:
        task: Name of the task or group.
        items: How many items a run of it has, by which a benchmark can tell parts of a release apart.
    """
    benchmark = benchmark_of(task)
    if not benchmark:
        return pair_measures()
    found: tuple[Measure, ...] = importlib.import_module(f"lmms_eval_tasks.{benchmark}.scores").measures(task, items)
    return found


def pair_measures(
    pair: Mapping[str, Any] | None = None, single: Mapping[str, Any] | None = None
) -> tuple[Measure, ...]:
    """Pair accuracy and single accuracy, each with what is known about it (further arguments of `Measure`)."""
    return (
        Measure("pair_accuracy", "pair accuracy", partial(estimate, contributions=pair_contributions), **(pair or {})),
        Measure(
            "single_accuracy", "single accuracy", partial(estimate, contributions=item_contributions), **(single or {})
        ),
    )


def published_models(
    benchmark: str, *, source: str, without: Sequence[str] = (), **where: object
) -> tuple[Published, ...]:
    """Models from a benchmark's `published.json`.

    Args:
        benchmark: Folder name of the benchmark.
        source: How the record's source begins, which keeps restatements and ablations out.
        without: Names that are no models (people, guessing).
        where: Fields that a record must have, with their values; a tuple is any of its values.
    """

    def fits(record: Mapping[str, Any]) -> bool:
        return all(record.get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in where.items())

    return tuple(
        Published(str(record["model"]), float(record["value"]), str(record["source"]))
        for record in _records(benchmark)
        if str(record["source"]).startswith(source) and record["model"] not in without and fits(record)
    )


@cache
def _records(benchmark: str) -> tuple[Mapping[str, Any], ...]:
    path = Path(lmms_eval_tasks.__file__).parent / benchmark / "published.json"
    return tuple(json.loads(path.read_text(encoding="utf-8"))["records"])


def side(found: Estimate, fact: float) -> str:
    """``above`` or ``below`` where the score's interval excludes a fact, else ``open``."""
    return "above" if found.low > fact else "below" if found.high < fact else "open"


def standing_notes(measures: Sequence[Measure]) -> list[str]:
    """Where each measure's facts come from and what has to be known about them, without repetition."""
    said: dict[str, list[str]] = {}
    for measure in measures:
        for human in measure.people:
            said.setdefault(f"{human.source}; {human.caveat}", []).append(f"people, {measure.heading}")
        for source in dict.fromkeys(model.source for model in measure.published):
            said.setdefault(source, []).append(f"published, {measure.heading}")
        if measure.note:
            said.setdefault(measure.note, [])
    return [f"{'; '.join(names)}: {text}" if names else text for text, names in said.items()]
