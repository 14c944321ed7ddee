"""What benchmarks declare: facts of their cards, scores, columns, what people are asked, and what a release holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from pydantic import BaseModel

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.scoring.metrics import Metric

OURS = [one for one in registry().benchmarks.values() if one.folder.parent == Path(lmms_eval_tasks.__file__).parent]
ELSEWHERE = ("layouts", "card_facts")
"""What the tests of reports show whole."""
WIDTH = 160


class Declaration:
    """A value as text: on one line where it fits, else a line for each of its parts; scores and cards stand once."""

    def __init__(self) -> None:
        self._written: list[Metric | Card] = []

    def lines(self, name: str, value: Any, margin: str = "") -> Iterator[str]:
        shown, parts = f"{margin}{name}{self.shown(value)}", self.parts(value)
        if isinstance(value, Metric | Card):
            self._written.append(value)
        if len(shown) <= WIDTH or parts is None or isinstance(value, Metric):
            yield shown
            return
        yield f"{margin}{name}{type(value).__name__}"
        beginnings = tuple(f"{one.name}_" for _, one in parts if isinstance(one, Metric))
        broken_down = [one.name for _, one in parts if isinstance(one, Metric) and one.name.startswith(beginnings)]
        for part, inner in (one for one in parts if getattr(one[1], "name", "") not in broken_down):
            yield from self.lines(part, inner, f"{margin}  ")
        if broken_down:
            yield f"{margin}  broken down: {' '.join(broken_down)}"

    def shown(self, value: Any) -> str:
        if isinstance(value, Metric | Card) and any(value is one for one in self._written):
            return f"{type(value).__name__} {value.name}"
        if (parts := self.parts(value)) is not None:
            return f"{type(value).__name__}({', '.join(f'{name}{self.shown(one)}' for name, one in parts)})"
        return value.name if isinstance(value, Path) else repr(value)

    def parts(self, value: Any) -> list[tuple[str, Any]] | None:
        """What a value is made of, but for functions and what a class has by default; None of a text or a number."""
        if (
            value is None
            or isinstance(value, str | int | float | Enum | Path)
            or any(value is one for one in self._written)
        ):
            return None
        if isinstance(value, partial):
            named = [*(("", one) for one in value.args), *value.keywords.items()]
        elif isinstance(value, BaseModel):
            named = list(value)
        elif is_dataclass(value):
            of_class = [(one.name, getattr(value, one.name), default_of(one)) for one in fields(value)]
            named = [(name, one) for name, one, usual in of_class if name not in ELSEWHERE and not same(one, usual)]
        elif isinstance(value, Mapping):
            named = list(value.items())
        else:
            assert isinstance(value, Collection), f"{value!r} has no form here"
            named = [("", one) for one in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
        return [(f"{name}: " if name != "" else "", one) for name, one in named if not is_code(one)]


def is_code(value: Any) -> bool:
    """Whether a value is a function, a class or something of its own, of which there is no text."""
    known = (str, int, float, Enum, Path, partial, BaseModel, Collection)
    return isinstance(value, type) or not (value is None or isinstance(value, known) or is_dataclass(value))


def default_of(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(one == other))


@pytest.mark.parametrize("benchmark", OURS, ids=lambda one: one.name)
def test_what_a_benchmark_declares_is_what_it_declared(benchmark: Any, expected: Expected) -> None:
    declaration = Declaration()
    lines = list(declaration.lines("", benchmark))
    for name, task in registry().tasks_of(benchmark.name).items():
        beside = task.kind.references(name, 0) if task.kind.references else ()
        lines += declaration.lines(f"beside the scores of {name}: ", [replace(one, published=()) for one in beside])
    columns = benchmark.schema() if benchmark.schema else {}
    expected("\n".join([*lines, *(f"column {name}: {kind}" for name, kind in columns.items())]))
