"""Which cases of a test `make test` runs: the others are of the same kind, and `make nightly` runs all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_by_day(cases: Iterable[Any], number: int = 1) -> list[Any]:
    """Cases, of which only so many are run by day."""
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*value, marks=[] if place < number else pytest.mark.nightly) for place, value in enumerate(values)
    ]
