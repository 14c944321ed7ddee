"""A sample of groups: which groups of a set are asked, and how many of its others each of them stands for."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Hashable, Mapping, Sequence
from math import sqrt
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import RowForm
from lmms_eval_tasks.utils.core.text import SAMPLE

SMALLEST = 20
"""A stratum has at least this part of all groups, so that a sample of as many holds one of each."""
OTHERS = "others"
"""What a stratum of the values is called that are too rare for one of their own."""
Key = TypeVar("Key", bound=Hashable)


class SampleChoice(NamedTuple):
    groups: int
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.groups}:{self.seed}"


def parse_sample(text: str) -> SampleChoice:
    match = re.fullmatch(r"([0-9]{1,9})(?::([0-9]{1,9}))?", text)
    if match is None or not int(match[1]):
        raise InputError(
            f"Expected {SAMPLE} to be a number of groups, with a seed if one is chosen, such as 400 or 400:1, but got "
            f"{text!r}."
        )
    return SampleChoice(int(match[1]), int(match[2] or 0))


def read_sample() -> SampleChoice | None:
    text = os.environ.get(SAMPLE, "")
    return parse_sample(text) if text else None


class Drawn(RowForm):
    """The stratum that an item's group was drawn from, with how many groups of it were drawn."""

    stratum: str
    asked: Annotated[int, Field(ge=1)]
    groups: Annotated[int, Field(ge=1)]
    """How many groups the stratum has."""

    @property
    def weight(self) -> float:
        """How many groups of the stratum each that was drawn stands for."""
        return self.groups / self.asked


class Sampled(NamedTuple):
    """From how many groups of how many a score is estimated."""

    asked: int
    groups: int
    unit: str = "groups"

    def __str__(self) -> str:
        return f"from {self.asked:,} of {self.groups:,} {self.unit}"


def strata_of(groups: Mapping[Key, Sequence[str]], least: float) -> dict[Key, str]:
    """Return the stratum of each group, by the values of its columns: split by one column after the other.

    Values that fewer groups than `least` have are put together, and with the rarest of the others where they are still
    fewer. A size of a sample plays no part, so that a larger sample holds a smaller one.
    """
    columns = min(map(len, groups.values()), default=0)
    found: dict[Key, str] = {}

    def split(members: Sequence[Key], column: int, path: tuple[str, ...]) -> None:
        if column == columns:
            found.update(dict.fromkeys(members, ", ".join(path) or "all"))
            return
        by_value: dict[str, list[Key]] = {}
        for member in members:
            by_value.setdefault(groups[member][column], []).append(member)
        large = {value: of_value for value, of_value in sorted(by_value.items()) if len(of_value) >= least}
        rare = [member for value, of_value in sorted(by_value.items()) if value not in large for member in of_value]
        if large and 0 < len(rare) < least:
            rare += large.pop(min(large, key=lambda value: len(large[value])))
        if not large:
            split(members, column + 1, path)
            return
        for value, of_value in (*large.items(), *([(OTHERS, rare)] if rare else ())):
            split(of_value, column + 1, (*path, value))

    split(list(groups), 0, ())
    return found


def allot(sizes: Sequence[int], number: int) -> list[int]:
    """Return how many groups of each stratum are drawn: one of each, then each further one of the stratum that is
    furthest behind its share. A larger number takes no group from any stratum."""
    total = sum(sizes)
    given = [1] * len(sizes)
    for place in range(len(sizes) + 1, number + 1):
        open_strata = [stratum for stratum, size in enumerate(sizes) if given[stratum] < size]
        given[max(open_strata, key=lambda stratum: place * sizes[stratum] - given[stratum] * total)] += 1
    return given


def draw(
    pool: str, tasks: Mapping[str, Mapping[str, Sequence[str]]], choice: SampleChoice
) -> dict[str, dict[str, Drawn]] | None:
    """Return the groups of each task that are asked, drawn by strata; None where all are.

    Args:
        pool: What is drawn from, for messages: a task, or a group of tasks.
        tasks: The groups of each task, with the values of the columns by which they are drawn.
        choice: How many groups of all tasks together, and the seed.
    """
    number = sum(map(len, tasks.values()))
    if choice.groups >= number:
        return None
    strata: dict[tuple[str, str], list[str]] = {}
    for task, groups in tasks.items():
        for group, stratum in strata_of(groups, number / SMALLEST).items():
            strata.setdefault((task, stratum), []).append(group)
    if choice.groups < len(strata):
        raise InputError(
            f"Expected {SAMPLE} to be at least {len(strata)} for {pool}, one group of each of its strata, but got "
            f"{choice.groups}."
        )
    drawn: dict[str, dict[str, Drawn]] = {task: {} for task in tasks}
    given = allot([len(groups) for groups in strata.values()], choice.groups)
    for ((task, stratum), members), asked in zip(strata.items(), given, strict=True):
        facts = Drawn(stratum=stratum, asked=asked, groups=len(members))
        drawn[task] |= dict.fromkeys(sorted(members, key=lambda group: _place(choice.seed, group))[:asked], facts)
    return drawn


def _place(seed: int, group: str) -> tuple[bytes, str]:
    return hashlib.sha256(f"{seed}\0{group}".encode()).digest(), group


def half_width(drawn: Mapping[str, Mapping[str, Drawn]]) -> float:
    """Return half of the 95% interval that a mean over tasks of a share of 50% in each stratum has, in percent."""
    variance = 0.0
    for groups in drawn.values():
        strata = {one.stratum: one for one in groups.values()}.values()
        whole = sum(one.groups for one in strata)
        variance += (
            sum((one.groups / whole) ** 2 * (1 - one.asked / one.groups) * 0.25 / one.asked for one in strata)
            / len(drawn) ** 2
        )
    return 196.0 * sqrt(variance)
