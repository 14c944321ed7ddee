"""Scores of tasks, each defined once for lmms-eval's aggregation, reports, comparisons and `rescore`; and those that
benchmarks share.

Missing values, everywhere: an item without a value leaves the score, and so does a group with a member that lacks
one, if its members count only together. A stratum without a value leaves the mean over strata, as the official code
of YoCausal has it. A task without a score leaves its group of tasks without one, since a mean over fewer tasks would
be another score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

from lmms_eval_tasks.utils.scoring.record import Record

PERCENT = (0.0, 100.0)
PAIR = 2

Item = Any
"""What lmms-eval gathers of an item for a score: a number, None, or a mapping with ``value``. JSON values."""
Counts = tuple[float, float]
"""What a group adds to a ratio: numerator and denominator."""
Stratum = tuple[bool, str]
"""The side of a contrast (True where there is none) and the name of a stratum."""


Member = tuple[str, str | None]
"""An item's id and key."""


class ScoreUnit(NamedTuple):
    """Unit that counts once in a score: an item, or a group whose members count only together."""

    group: str
    members: frozenset[Member]
    value: float

    @property
    def key(self) -> tuple[str, frozenset[Member]]:
        """Key that distinguishes the unit from others of its stratum, in every run."""
        return self.group, self.members


Units = Mapping[Stratum, Sequence[ScoreUnit]]
"""What counts in each stratum of a score; none for a stratum whose items are all unscored or incomplete."""


Kind = Literal["mean", "groups", "total"]
Errors = Literal["none", "plain", "clustered"]


@dataclass(frozen=True)
class Metric:
    """One score.

    Attributes:
        name: In lmms-eval's results and in the task's YAML.
        title: In reports.
        value: What a record contributes, in the score's unit before `transform`; None where it is unscored.
        applies: Whether a record counts in the score at all, for breakdowns.
        together: How many members a group needs if they count only together; the group's value is then the least of
            theirs, so that one wrong member makes it wrong. None where items count one by one.
        stratum: Names a record's stratum, if the score is an unweighted mean over strata.
        contrast: Says on which side of a difference of two means a record is; the score is the mean where it is True
            less the mean where it is False.
        kind: How values become a score: ``mean``, the ratio of their sum to their number, averaged over strata;
            ``groups``, how many groups count; ``total``, the sum of the values.
        transform: Maps the mean to the score; a multiplication.
        value_bounds: Least and greatest value of a record; None where there is no limit.
        bounds: Least and greatest score.
        unit: Of the score; empty for counts.
        higher_is_better: None where neither is.
        errors: Which standard errors lmms-eval prints beside the score: ``none``, ``plain``, as if items were
            independent, or ``clustered``, these and those by group.

    Raises:
        ValueError: for a kind or errors that there are not, and for plain errors of a score with groups, strata or a
            contrast.
    """

    name: str
    title: str
    value: Callable[[Record], float | None]
    applies: Callable[[Record], bool] = lambda record: True
    together: int | None = None
    stratum: Callable[[Record], str] | None = None
    contrast: Callable[[Record], bool] | None = None
    kind: Kind = "mean"
    transform: Callable[[float], float] = float
    value_bounds: tuple[float, float] | None = PERCENT
    bounds: tuple[float, float] = PERCENT
    unit: str = "%"
    higher_is_better: bool | None = True
    errors: Errors = "none"

    def __post_init__(self) -> None:
        """Refuse a kind or errors that there are not, and plain errors where items do not count alone."""
        for name, value, known in (("kind", self.kind, get_args(Kind)), ("errors", self.errors, get_args(Errors))):
            if value not in known:
                raise ValueError(f"Expected {name} of {self.name}, one of {', '.join(known)}, but got {value!r}.")
        if self.errors == "plain" and (self.together or self.stratum or self.contrast):
            raise ValueError(f"Expected other errors of {self.name} than plain ones: its items do not count alone.")

    @classmethod
    def total(cls, name: str, title: str, value: Callable[[Record], float]) -> Metric:
        """A score that is the sum of what records contribute, such as a number of items."""
        return cls(name, title, value, kind="total", value_bounds=None, unit="", higher_is_better=None, errors="plain")

    def item(self, record: Record) -> Item:
        """Return the item that lmms-eval gathers for a record, which must apply."""
        value = self.value(record)
        if self.errors == "plain":
            return value
        gathered = {"group_id": record.group_id, "value": value, **self._places(record)}
        return {**gathered, "score": value} if self.errors == "clustered" and value is not None else gathered

    def score(self, items: Iterable[Item]) -> float | int | None:
        """The score of gathered items; None where nothing enters it. Counts are 0 then."""
        known = (item if isinstance(item, Mapping) else {"value": item} for item in items)
        return self.combine(
            self._units((("", None), str(item.get("group_id", "")), item["value"], _place(item)) for item in known)
        )

    def score_records(self, records: Iterable[Record]) -> float | int | None:
        """The score of records."""
        return self.combine(self.units(records))

    def units(self, records: Iterable[Record]) -> dict[Stratum, list[ScoreUnit]]:
        """Return the units of records that count in the score; empty if it applies to none of them.

        Every number of a score comes from this: its value, what its interval stands on, and what two runs share of it.
        """
        value, applies, places = self.value, self.applies, self._places
        only = None if self.stratum or self.contrast else _place({})
        return self._units(
            ((record.item_id, record.expected), record.group_id, value(record), only or _place(places(record)))
            for record in records
            if applies(record)
        )

    def combine(self, units: Units) -> float | int | None:
        """The score of what counts in it; None where nothing does, and 0 for counts."""
        if self.kind == "groups":
            return sum(map(len, units.values()))
        if self.kind == "total":
            return int(sum(unit.value for counted in units.values() for unit in counted))
        means = {place: mean_of_known(unit.value for unit in counted) for place, counted in units.items()}
        one, other = (mean_of_known(mean for (side, _), mean in means.items() if side is of) for of in (True, False))
        if one is None or (self.contrast and other is None):
            return None
        return self.transform(one - other if self.contrast and other is not None else one)

    def _places(self, record: Record) -> dict[str, Any]:
        named = {"stratum": self.stratum, "contrast": self.contrast}
        return {name: place(record) for name, place in named.items() if place}

    def _units(self, items: Iterable[tuple[Member, str, float | None, Stratum]]) -> dict[Stratum, list[ScoreUnit]]:
        """Group items with their groups, values and strata into the units that count; strata in order of first
        appearance."""
        if not self.together:
            alone: dict[Stratum, list[ScoreUnit]] = {}
            for name, group, value, place in items:
                units = alone.setdefault(place, [])
                if value is not None:
                    units.append(ScoreUnit(group, frozenset((name,)), value))
            return alone
        found: dict[Stratum, dict[str, list[tuple[Member, float | None]]]] = {}
        for name, group, value, place in items:
            found.setdefault(place, {}).setdefault(group, []).append((name, value))
        return {
            place: [unit for group, members in groups.items() for unit in self._whole(group, members)]
            for place, groups in found.items()
        }

    def _whole(self, group: str, members: Sequence[tuple[Member, float | None]]) -> Iterator[ScoreUnit]:
        """Yield the unit that the members of a group form, if they are complete and all scored."""
        values = [value for _, value in members if value is not None]
        if len(values) == len(members) == self.together:
            yield ScoreUnit(group, frozenset(name for name, _ in members), min(values))

    def within(self, suffix: str, applies: Callable[[Record], bool]) -> Metric:
        """The same score of some records only, its name with a suffix, which is also its title."""
        return replace(
            self,
            name=f"{self.name}_{suffix}",
            title=suffix.replace("_", " "),
            applies=lambda record: self.applies(record) and applies(record),
        )

    def by(self, column: str, values: Iterable[str]) -> tuple[Metric, ...]:
        """The same score for each of a stratum column's values."""
        return tuple(self.within(value, partial(_has, column, value)) for value in values)


def _place(item: Mapping[str, Any]) -> Stratum:
    return bool(item.get("contrast", True)), str(item.get("stratum", ""))


def _has(column: str, value: str, record: Record) -> bool:
    return record.stratum[column] == value


def sum_groups(units: Units) -> dict[Stratum, list[Counts]]:
    """Return the sum and number of values that each group adds to its stratum's mean; strata in order of their
    names."""
    strata: dict[Stratum, list[Counts]] = {}
    for place in sorted(units):
        groups: dict[str, Counts] = {}
        for unit in units[place]:
            total, number = groups.get(unit.group, (0.0, 0.0))
            groups[unit.group] = (total + unit.value, number + 1.0)
        strata[place] = list(groups.values())
    return strata


def count_groups(units: Units) -> int:
    """Count the groups in a score; one whose items are in several strata counts once."""
    return len({unit.group for counted in units.values() for unit in counted})


def count_items(units: Units) -> int:
    return len({member for counted in units.values() for unit in counted for member in unit.members})


def mean_of_known(scores: Iterable[float | None]) -> float | None:
    """Unweighted mean of those that are not None, as over strata; None without one."""
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None


def mean_of_all(scores: Iterable[float | None]) -> float | None:
    """Unweighted mean, as over the tasks of a group; None where one is None or there is none."""
    values = list(scores)
    return None if None in values else mean_of_known(values)


def aggregate_tasks(
    metric: Metric, scores: Iterable[float | None], sizes: Iterable[int] = (), weight_by_size: bool = False
) -> float | int | None:
    """The score of a group of tasks from theirs, in the form of lmms-eval's group aggregations."""
    values = list(scores)
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return mean_of_known(known) if metric.kind == "mean" else sum(known)


def score_tasks(metric: Metric, parts: Iterable[Units]) -> float | int | None:
    """The score of a group of tasks, or of one, from what counts in each."""
    return aggregate_tasks(metric, [metric.combine(units) for units in parts if units])


def percent(flag: bool | None) -> float | None:
    """100 for True, 0 for False, None for None."""
    return None if flag is None else 100.0 * flag


def right(record: Record) -> float | None:
    """100 for a right answer, 0 for another; None where the item is unscored."""
    return percent(record.correct)


def share_of(answer: str) -> Callable[[Record], float | None]:
    """Return the value of records in the share of read answers that are one answer."""
    return lambda record: None if record.answered is None else percent(record.answered == answer)


UNPARSED_RATE = Metric(
    "unparsed_rate",
    "unparsed",
    lambda record: None if record.unanswered else percent(record.answered is None),
    higher_is_better=False,
    errors="plain",
)
"""Percent of the items with a response in which no answer can be read; they count as wrong."""

UNSCORED_RATE = Metric(
    "unscored_rate", "unscored", lambda record: percent(record.correct is None), higher_is_better=False, errors="plain"
)
"""Percent of items that could not be asked or graded."""

SAMPLE_DATA = Metric("sample_data", "sample data", lambda record: 100.0, higher_is_better=None, errors="plain")
"""100 where the data is sample data. Tasks on released data have no such score."""

COMMON_METRICS = (UNPARSED_RATE, UNSCORED_RATE, SAMPLE_DATA)
"""What every task prints: percent of the items asked that are unparsed, percent of all items that are unscored, and 100
as ``sample_data`` where the data is sample data."""


def _right_officially(record: Record) -> float | None:
    return percent(record.fields["official_correct"])


PAIR_ACCURACY = Metric("pair_accuracy", "pair accuracy", right, together=PAIR)
"""Percent of complete, scored pairs with both members right."""

SINGLE_ACCURACY = Metric("single_accuracy", "single accuracy", right, errors="clustered")
"""Percent of scored items that are right."""

PAIR_ACCURACY_OFFICIAL = Metric("pair_accuracy_official", "official reader", _right_officially, together=PAIR)
OFFICIAL_ACCURACIES = (
    PAIR_ACCURACY_OFFICIAL,
    Metric("single_accuracy_official", "official reader, single", _right_officially),
)
"""Pair and single accuracy in percent as the benchmark's own script reads the responses: of records with the field
``official_correct``, which `choice_grader` gives them with ``read_official``."""

PAIRS_SCORED = Metric("pairs_scored", "pairs", right, together=PAIR, kind="groups", unit="", higher_is_better=None)
"""How many pairs `PAIR_ACCURACY` stands on: those with two members, both scored."""
