"""What a step of a pipeline is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from lmms_eval_tasks.build.engine.rows import PipelineRow

if TYPE_CHECKING:
    from lmms_eval_tasks.build.engine.asking import Asking

In = TypeVar("In", bound=PipelineRow)
Out = TypeVar("Out", bound=PipelineRow)


class Removed(Exception):
    """A row does not go on."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class PaperCount:
    """Number of rows that a step leaves according to a paper."""

    kept: str = ""
    source: str = ""


@dataclass(frozen=True)
class Forecast:
    """Expected requests and rows of a step, before anything is asked."""

    requests: float = 0.0
    characters: int = 0
    images: int = 0
    reply_tokens: int = 200
    rows: float = 1.0


class Step(ABC, Generic[In, Out]):
    """A step: rows of one form in, rows of one form out, and a reason for each that does not go on."""

    name: ClassVar[str]
    takes: ClassVar[type[PipelineRow]]
    gives: ClassVar[type[PipelineRow]]
    paper: ClassVar[PaperCount] = PaperCount()
    # Of some steps these depend on the configuration.
    roles: tuple[str, ...] = ()
    forecast: Forecast = Forecast()


class RowStep(Step[In, Out]):
    """A step that looks at one row at a time; many are looked at at once, in threads."""

    @abstractmethod
    def run(self, row: In, asking: Asking) -> Sequence[Out]:
        """Return the rows made of a row: a pure function of it, the configuration and the replies."""


class SetStep(Step[In, Out]):
    """A step that looks at all rows, and asks nobody."""

    @abstractmethod
    def run(self, rows: Sequence[In], remove: Callable[[str, Removed], None]) -> Sequence[Out]:
        """Return the rows made of the given rows."""


AnyStep = RowStep[Any, Any] | SetStep[Any, Any]


def roles_of(steps: Sequence[AnyStep]) -> tuple[str, ...]:
    """The roles that steps ask, each once, in the order in which they are asked first."""
    return tuple(dict.fromkeys(role for step in steps for role in step.roles))
