"""The records of a run, as a report's page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.estimates import Estimate, Records, estimate


@dataclass(frozen=True)
class RunRecords:
    """The records of one run, as panels show them.

    Attributes:
        tag: Its number on the page, which also gives its hue.
        name: What reports call it: its model, or what tells it apart from another run of that.
        parts: The records of each of its parts (the tasks of a group, or one task).
        apart: Why no published score stands beside it, as options that left items out; empty of the whole release.
        results: Its results file; None where it comes from none. What a command keeps of a run lies beside it.
    """

    tag: str
    name: str
    parts: Sequence[Records]
    apart: str = ""
    results: Path | None = None

    @property
    def records(self) -> list[Record]:
        """The records of all its parts."""
        return [record for part in self.parts for record in part]

    @property
    def view(self) -> str:
        """Name of the view that was shown; empty for whole items."""
        return next((record.view for part in self.parts for record in part), "")

    def estimate(self, metric: Metric) -> Estimate | None:
        """A score of it with its interval, the unweighted mean over its parts; None where a part has no score.

        Raises:
            ValueError: where the score is a count, which has no interval.
        """
        return estimate(metric, self.parts)
