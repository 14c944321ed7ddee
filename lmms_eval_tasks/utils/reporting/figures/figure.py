"""What every figure has: a caption, its numbers as a table, and one drawing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.tables import FittingTable

if TYPE_CHECKING:
    from lmms_eval_tasks.utils.reporting.figures.sheet import Sheet


@dataclass(frozen=True)
class Figure(ABC):
    """A figure of a report.

    Attributes:
        caption: What it shows, for those who do not see it, and for its table.
        name: What tells it apart from the other figures of its panel, such as a run's name; it stands above the figure.
        tag: The number of the run that it is of, shown before the name.
    """

    caption: str
    name: str = field(default="", kw_only=True)
    tag: str = field(default="", kw_only=True)

    @abstractmethod
    def table(self) -> FittingTable:
        """The numbers that it shows."""

    @abstractmethod
    def draw_on(self, sheet: Sheet) -> None:
        """Draw it below what the sheet has."""

    def draw(self) -> Sheet:
        """Its drawing."""
        from lmms_eval_tasks.utils.reporting.figures.sheet import Sheet

        sheet = Sheet(self.name, self.tag)
        self.draw_on(sheet)
        return sheet
