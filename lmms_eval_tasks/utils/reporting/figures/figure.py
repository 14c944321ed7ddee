"""What every figure has: a caption, its numbers as a table, and one drawing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
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
        run_names: Number to name of the runs of which it shows the number alone; they stand below it.
        warning: What has to be known before its numbers are read, such as that they are of sample data; below it, too.
    """

    caption: str
    name: str = field(default="", kw_only=True)
    tag: str = field(default="", kw_only=True)
    run_names: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    warning: str = field(default="", kw_only=True)

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The numbers of the runs that it does not name otherwise."""
        return ()

    def run_named(self, tag: str) -> str:
        """A run's number, with its name where the figure knows it."""
        return f"{tag} {self.run_names[tag]}" if tag in self.run_names else tag

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
        sheet.end(self.run_names, self.warning)
        return sheet
