"""The record: the typed result for one item, from which every score is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

NOT_ASKED = "<not asked: the clip is missing>"
"""The response of an item that was not asked, in saved runs that are scored again."""


class Outcome(str, Enum):
    """What became of one item."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNPARSED = "unparsed"
    """The model was asked and said nothing that can be read as an answer."""
    UNSCORED = "unscored"
    """The model could not be asked (no clip) or the item cannot be graded (no answer key)."""


@dataclass(frozen=True)
class Record:
    """Result for one item.

    Attributes:
        item_id: Stable id of the item within its benchmark and split.
        group_id: Id of the pair, clip or question with which the item is only right together.
        stratum: Names and values by which scores are broken down, for instance ``{"difficulty": "easy"}``.
        expected: The key, or None where the release withholds it.
        answered: What the model answered, or None where nothing could be read.
        outcome: How the item counts.
        fields: What only this benchmark records, as JSON values.
    """

    item_id: str
    group_id: str
    stratum: Mapping[str, str]
    expected: str | None
    answered: str | None
    outcome: Outcome
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def correct(self) -> bool | None:
        """Whether the item counts as right; None where it is unscored."""
        return None if self.outcome is Outcome.UNSCORED else self.outcome is Outcome.CORRECT

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values, for the sample log."""
        return {**asdict(self), "outcome": self.outcome.value}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Record:
        """Read what `to_json` wrote.

        Raises:
            ValueError: where a field is missing or the outcome is unknown.
        """
        try:
            return cls(
                item_id=value["item_id"],
                group_id=value["group_id"],
                stratum=dict(value["stratum"]),
                expected=value["expected"],
                answered=value["answered"],
                outcome=Outcome(value["outcome"]),
                fields=dict(value.get("fields") or {}),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"Expected a record with item_id, group_id, stratum, …, but got {value!r}.") from error
