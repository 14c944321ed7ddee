"""A multiple-choice set in a benchmark's release format, as a training takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.problems import InputError


@dataclass(frozen=True)
class ReleasedChoices:
    """A set of questions with lettered options and, where the release has them, keys.

    Attributes:
        split: Which of the release's splits it is read as.
        rows: As in a prepared table, without `clip_present`: `item_id`, `question`, `options`, `answer`, `clip` ….
        clips: Each clip of the rows to its file, which need not be there.
        files: The files that the questions were read from.
        sample: Whether it is simulated data.
    """

    split: str
    rows: Sequence[Mapping[str, Any]]
    clips: Mapping[str, Path]
    files: Sequence[Path]
    sample: bool


def choose_split(title: str, chosen: str | None, there: Sequence[str]) -> str:
    """The split of a set to train on: that which is named, or the only one.

    Args:
        title: The benchmark's, for messages.
        chosen: The split that is named; None where none is.
        there: The splits that the set has.

    Raises:
        InputError: the set has no such split, or several and none is named.
    """
    if chosen is None and len(there) == 1:
        return there[0]
    if chosen is None or chosen not in there:
        got = "none" if chosen is None else repr(chosen)
        raise InputError(
            f"Expected --split to be one of {', '.join(there) or 'none'}, which the set in {title}'s form has, but got "
            f"{got}."
        )
    return chosen
