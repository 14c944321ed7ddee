"""What a set of questions is: the official release, a part of it, a set of one's own, or sample data."""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict


class SetKind(str, Enum):
    """What a set is."""

    OFFICIAL = "official"
    PART = "part"
    OWN = "own"
    SAMPLE = "sample"
    UNKNOWN = "unknown"
    """Neither a digest nor the place that it came from says, or the card has no counts, or an older version made it."""


_RELEASED = frozenset({SetKind.OFFICIAL, SetKind.PART, SetKind.UNKNOWN})


class DataSet(BaseModel):
    """A set, as `prepare` decides it and as the manifest and every line of a sample log keep it.

    Attributes:
        kind: What it is.
        items: How many items it has; None where that is not known.
        of: How many the whole official split has; None where the card does not say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: SetKind
    items: int | None = None
    of: int | None = None

    @property
    def is_official(self) -> bool:
        """Whether its scores may stand beside those of people and of published models."""
        return self.kind is SetKind.OFFICIAL

    @property
    def is_sample(self) -> bool:
        """Whether it is simulated."""
        return self.kind is SetKind.SAMPLE

    @property
    def text(self) -> str:
        """What it is, in a phrase."""
        count = "" if self.items is None else f", {self.items:,} items"
        share = f"{self.items:,} of {self.of:,} items" if self.items is not None and self.of is not None else ""
        return {
            SetKind.OFFICIAL: f"the official release{f', {share}' if self.items != self.of else ''}",
            SetKind.PART: f"a part of the official release, {share}",
            SetKind.OWN: f"a set of one's own{count}",
            SetKind.SAMPLE: "sample data",
            SetKind.UNKNOWN: "data that is not known to be the official release",
        }[self.kind]

    @property
    def apart(self) -> str:
        """Why no published score stands beside its own; empty of the official release."""
        return "" if self.is_official else "SAMPLE DATA, not the benchmark" if self.is_sample else self.text

    def may_share(self, other: DataSet) -> bool:
        """Whether items of the same id may be the same in both: not where one is simulated or of one's own alone."""
        kinds = {self.kind, other.kind}
        return len(kinds) == 1 or kinds <= _RELEASED or kinds == {SetKind.OWN, SetKind.UNKNOWN}


UNKNOWN_SET = DataSet(kind=SetKind.UNKNOWN)
"""The set of a run that does not say of which it is."""
