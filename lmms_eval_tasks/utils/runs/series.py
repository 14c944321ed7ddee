"""Runs of one model along a quantity, as the training step, or over seeds: each run's value, read from its folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.results_file import RESULTS

SEED = "seed"
"""The series whose runs repeat one another; the values of any other are a quantity."""
NUMBER = r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
ENDS = r"(?![A-Za-z0-9]|\.\d)"
"""What ends a number: the k of 1k would be lost."""


@dataclass(frozen=True)
class SeriesValue:
    """Where a run stands in a series."""

    name: str
    number: float

    @property
    def title(self) -> str:
        """What a report calls the run, such as ``step 500``."""
        return f"{self.name} {int(self.number) if self.number.is_integer() else self.number}"


def read_values(name: str, folders: Sequence[Path]) -> list[SeriesValue]:
    """The value of each run of a series, in its order, from its folder's name, or else from the whole path."""
    # The name of a results file holds the time at which it was written.
    named = [folder.parent if folder.name.endswith(RESULTS) else folder for folder in folders]
    for texts in ([folder.name for folder in named], [folder.as_posix() for folder in named]):
        found = _numbers_after(name, texts) or _differing_numbers(texts)
        if found:
            break
    else:
        shown = ", ".join(map(str, folders))
        raise InputError(
            f"Expected folders whose names say the {name}, as {name}-500, or are the same but for one number, as "
            f"ckpt-500 and ckpt-1000, but got {shown}. Rename a folder, or give it such a name by a link."
        )
    values = [SeriesValue(name, float(number)) for number in found]
    doubled = [str(folder) for folder, one in zip(folders, values, strict=True) if values.count(one) > 1]
    if doubled:
        raise InputError(f"Expected one run for each {name}, but these have the same: {', '.join(doubled)}.")
    return values


def _numbers_after(name: str, texts: Sequence[str]) -> list[str]:
    """The number that follows a name in each text, the last where there are several; empty where a text has none."""
    found = [re.findall(rf"{re.escape(name)}[-_= ]?({NUMBER}){ENDS}", text, re.IGNORECASE) for text in texts]
    return [numbers[-1] for numbers in found] if all(found) else []


def _differing_numbers(texts: Sequence[str]) -> list[str]:
    """The only number in which texts differ, or that a single text has; empty where there is no such number."""
    numbers = [re.findall(NUMBER, text) for text in texts]
    if len({re.sub(NUMBER, "#", text) for text in texts}) != 1:
        return []
    columns = [column for column in zip(*numbers, strict=True) if len(texts) == 1 or len(set(column)) > 1]
    return list(columns[0]) if len(columns) == 1 else []
