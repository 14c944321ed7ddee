"""What a board knows of each run: its scores, and of its card the model's size and how many frames were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmms_eval_tasks.installed.scored import ScoredRun
from lmms_eval_tasks.utils.runs.naming import name_runs
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.run_card import NOT_KNOWN, TASK, Sections
from lmms_eval_tasks.utils.runs.scores_file import ScoresFile

NOT_SET = "not set"
"""What a card says of frames that a model decides on."""
RANGES = ((1e9, "below 1B"), (4e9, "1B to 4B"), (10e9, "4B to 10B"), (40e9, "10B to 40B"))
"""Sizes by which rows are filtered, each with the number of parameters that it stays below."""
LARGEST = "40B and more"


@dataclass(frozen=True)
class BoardRun:
    """A run."""

    tag: str
    title: str
    scores: ScoresFile
    card: Sections

    @property
    def parameters(self) -> int | None:
        """How many parameters the model has; None where the card does not say."""
        value = self.card.get("model", {}).get("parameters")
        return value if isinstance(value, int) else None

    @property
    def size(self) -> str:
        """The same as a text, such as ``8.3B``."""
        number = self.parameters
        if number is None:
            return NOT_KNOWN
        return f"{number / 1e9:.1f}B" if number >= 1e9 else f"{number / 1e6:.0f}M"

    @property
    def size_range(self) -> str:
        number = self.parameters
        return NOT_KNOWN if number is None else next((name for most, name in RANGES if number < most), LARGEST)

    @property
    def frames(self) -> str:
        """How many frames of a clip were asked for, or how many a second."""
        asked = self.card.get("frames", {})
        number, rate = asked.get("frames"), asked.get("fps")
        known = [str(number).partition(":")[0]] if number not in (None, NOT_SET) else []
        known += [f"{rate} fps"] if rate not in (None, NOT_SET) else []
        return ", ".join(known) or ("as the model decides" if NOT_SET in (number, rate) else NOT_KNOWN)

    def digests(self, tasks: Sequence[str]) -> tuple[str, ...]:
        """The digests of the data of some tasks; an empty one where the card does not say."""
        return tuple(str(self.card.get(f"{TASK}{task}", {}).get("data sha256") or "") for task in tasks)


def name_scored(runs: Sequence[ScoredRun], names: Sequence[str] = ()) -> list[BoardRun]:
    """Number and name runs, as `name_runs` does."""
    named = name_runs([Run(one.path, one.scores.model, {}, {}, {}) for one in runs], names)
    return [
        BoardRun(str(number), run.title, one.scores, one.card)
        for number, (one, run) in enumerate(zip(runs, named, strict=True), start=1)
    ]
