"""Having a text written until nothing is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from lmms_eval_tasks.build.causalvqa.texts import Fault
from lmms_eval_tasks.build.engine.steps import Removed

T = TypeVar("T", bound=BaseModel)

Refused = Sequence[dict[str, Any]]
"""Texts that were written and not used, each with what was wrong with it."""


def write_until_good(tries: int, write: Callable[[Refused], T], check: Callable[[T], Sequence[Fault]]) -> T:
    """The first text that has no fault."""
    refused: list[dict[str, Any]] = []
    faults: Sequence[Fault] = ()
    for _ in range(tries):
        text = write(tuple(refused))
        faults = check(text)
        if not faults:
            return text
        refused.append({**text.model_dump(mode="json"), "why": [fault.detail for fault in faults]})
    raise Removed(faults[0].reason, " ".join(fault.detail for fault in faults))
