"""Tables as a paper prints them: which models, people and scores stand where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.records import Record


@dataclass(frozen=True)
class LayoutPlace:
    """What such a table shows of each model, in a row or a column of its own: a score, or a score of some items.

    Attributes:
        heading: Its name in the table.
        task: The task or group of which it is a score.
        metric: The score of runs; None where a run has none of the kind.
        where: Fields of the entries of ``published.json`` that have it, with their values; a tuple is any of these.
        applies: Which records of a run count; by default all.
        field: The field of such an entry that has the number.
    """

    heading: str
    task: str
    metric: Metric | None
    where: Mapping[str, object]
    applies: Callable[[Record], bool] | None = None
    field: str = "value"


def _model(entry: Mapping[str, Any]) -> str:
    return str(entry["model"])


@dataclass(frozen=True)
class Layout:
    """A table of a benchmark's paper.

    Attributes:
        title: Its number and what it shows.
        sources: How the sources of its entries in ``published.json`` begin; none of a table without published figures.
        places: What it shows of each model, in the paper's order.
        across: Whether models are columns, and places rows.
        views: The views whose runs stand in it; an empty name stands for whole items.
        called: An entry's metric to what it is called, for tables that are `across`: there each column has the name of
            its score, which need not be the same of models and people.
        name: What a row or column of published figures is called, by their entry; by default the model.
        of_sets: Whether it compares sets, so that a run of another one stands in it too.
        digits: How many decimals the paper prints.
        note: What has to be known about it.
    """

    title: str
    sources: tuple[str, ...]
    places: Sequence[LayoutPlace]
    across: bool = False
    views: tuple[str, ...] = ("",)
    called: Mapping[str, str] = field(default_factory=dict)
    name: Callable[[Mapping[str, Any]], str] = _model
    of_sets: bool = False
    digits: int = 1
    note: str = ""
