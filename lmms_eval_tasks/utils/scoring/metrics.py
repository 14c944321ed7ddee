"""Scores of tasks, each computed from records alone, for lmms-eval, reports, comparisons and `rescore`; and those that
benchmarks share.

Missing values, everywhere: an item without a value leaves the score, and so does a group with a member that lacks
one, if its members count only together; where items were answered several times, this holds of each sample. A stratum
without a value leaves the mean over strata, as the official code of YoCausal has it. A task without a score leaves its
group of tasks without one, since a mean over fewer tasks would be another score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import fsum
from statistics import fmean, variance
from typing import Literal, NamedTuple, get_args

from lmms_eval_tasks.utils.data.sampling import Drawn
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, any_record, percent, right, unparsed, unscored

PERCENT = (0.0, 100.0)
PAIR = 2

Counts = tuple[float, float]
"""What a group adds to a ratio: numerator and denominator."""
Stratum = tuple[bool, str]
"""The side of a contrast (True where there is none) and the name of a stratum."""


Member = tuple[str, str | None]
"""An item's id and key."""


class ScoreUnit(NamedTuple):
    """Unit that counts once in a score: an item, or a group whose members count only together."""

    record: Record
    """That of the item, or of the group's first member."""
    value: float
    weight: float = 1.0
    others: tuple[Record, ...] = ()
    """Those of the group's other members."""

    @property
    def group(self) -> str:
        return self.record.group_id

    @property
    def drawn(self) -> Drawn | None:
        return self.record.drawn

    @property
    def members(self) -> frozenset[Member]:
        return frozenset((one.item_id, one.expected) for one in (self.record, *self.others))

    @property
    def key(self) -> tuple[str, frozenset[Member]]:
        """Key that distinguishes the unit from others of its stratum, in every run."""
        return self.group, self.members


class ItemUnits(Collection[ScoreUnit]):
    """Units of single items, each made when it is asked for: a run has several for every item."""

    def __init__(self, records: Sequence[Record], values: Sequence[float], weights: Sequence[float]) -> None:
        self._records, self._values, self._weights = records, values, weights

    def __iter__(self) -> Iterator[ScoreUnit]:
        return map(ScoreUnit, self._records, self._values, self._weights)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, unit: object) -> bool:
        return any(unit == one for one in self)


Units = Mapping[Stratum, Collection[ScoreUnit]]
"""What counts in each stratum of a score; none for a stratum whose items are all unscored or incomplete."""


Kind = Literal["mean", "groups", "total"]
Across = Literal["mean", "any", "all", "whole"]
Errors = Literal["none", "plain", "clustered"]


@dataclass(frozen=True)
class Metric:
    """One score.

    Attributes:
        name: In lmms-eval's results and in the task's YAML.
        title: In reports.
        value: What a record contributes, in the score's unit before `transform`; None where it is unscored.
        applies: Whether a record counts in the score at all, for breakdowns.
        weight: How much a record's value counts in the mean, above 0, such as how many steps an order has; by default
            all count alike.
        together: How many members a group needs if they count only together; the group's value is then the least of
            theirs, so that one wrong member makes it wrong. None where items count one by one.
        stratum: Names a record's stratum, if the score is an unweighted mean over strata.
        over: What its strata are, in the plural; a table that has the score says it.
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
        across: How the values of an item's samples, or of those of a group whose members count only together, become
            one: their ``mean`` (of those that are scored), of ``any`` the greatest and of ``all`` the least, where all
            are scored; ``whole``: `value` is given the record of the first sample, which has the others.

    Raises:
        ValueError: for a kind or errors that there are not, for plain errors of a score with groups, strata or a
            contrast, and for weights where items are not the units of a mean or it has errors.
    """

    name: str
    title: str
    value: Callable[[Record], float | None]
    applies: Callable[[Record], bool] = any_record
    together: int | None = None
    stratum: Callable[[Record], str] | None = None
    over: str = ""
    contrast: Callable[[Record], bool] | None = None
    kind: Kind = "mean"
    transform: Callable[[float], float] = float
    value_bounds: tuple[float, float] | None = PERCENT
    bounds: tuple[float, float] = PERCENT
    unit: str = "%"
    higher_is_better: bool | None = True
    errors: Errors = "none"
    across: Across = "mean"
    weight: Callable[[Record], float] | None = None

    def __post_init__(self) -> None:
        for name, value, known in (("kind", self.kind, get_args(Kind)), ("errors", self.errors, get_args(Errors))):
            if value not in known:
                raise ValueError(f"Expected {name} of {self.name}, one of {', '.join(known)}, but got {value!r}.")
        if self.errors == "plain" and (self.together or self.stratum or self.contrast):
            raise ValueError(f"Expected other errors of {self.name} than plain ones: its items do not count alone.")
        if self.weight and (self.kind != "mean" or self.together or self.errors != "none"):
            raise ValueError(f"Expected weights of a mean of items without errors, but {self.name} is another score.")

    @classmethod
    def total(cls, name: str, title: str, value: Callable[[Record], float]) -> Metric:
        """A score that is the sum of what records contribute, such as a number of items."""
        return cls(name, title, value, kind="total", value_bounds=None, unit="", higher_is_better=None, errors="plain")

    def score_records(self, records: Iterable[Record]) -> float | int | None:
        """The score of records."""
        return self.combine(self.units(records))

    def units(self, records: Iterable[Record]) -> Units:
        """Return the units of records that count in the score; empty if it applies to none of them.

        Every number of a score comes from this: its value, what its interval stands on, and what two runs share of it.
        """
        records = list(records)
        samples, views = self.sample_units(records), {record.across for record in records} - {"mean"}
        if len(samples) == 1 and not views:
            return samples[0]
        # What a view says of its items holds of scores; rates, such as of unparsed answers, are means over samples.
        own = views.pop() if views and self.across == "mean" and self.higher_is_better else self.across
        return self._join(samples, {record.item_id: max(len(record.each), record.needs) for record in records}, own)

    def sample_units(self, records: Iterable[Record]) -> list[Units]:
        """Return the units of each sample, whose members are of the same sample."""
        records = list(records)
        most = 1 if self.across == "whole" else max((len(record.samples) + 1 for record in records), default=1)
        if most == 1:
            return [self._units_of(records)]
        each = [record.each for record in records]
        return [self._units_of(of_item[sample] for of_item in each if sample < len(of_item)) for sample in range(most)]

    def _units_of(self, records: Iterable[Record]) -> Units:
        """Group the records that count with their strata, in order of first appearance, and their groups."""
        strata: dict[Stratum, list[Record]] = {}
        for record in filter(self.applies, records):
            strata.setdefault(self._place(record), []).append(record)
        if not self.together:
            return {place: self._items(of_place) for place, of_place in strata.items()}
        found: dict[Stratum, list[ScoreUnit]] = {}
        for place, of_place in strata.items():
            groups: dict[str, list[Record]] = {}
            for record in of_place:
                groups.setdefault(record.group_id, []).append(record)
            found[place] = [unit for members in groups.values() if (unit := self._whole(members))]
        return found

    def _place(self, record: Record) -> Stratum:
        side = bool(self.contrast(record)) if self.contrast else True
        return side, str(self.stratum(record)) if self.stratum else ""

    def _items(self, records: Sequence[Record]) -> ItemUnits:
        """Return the units of the records that have a value."""
        values = list(map(self.value, records))
        known = [record for record, value in zip(records, values, strict=True) if value is not None]
        return ItemUnits(known, [value for value in values if value is not None], list(map(self._weight, known)))

    def _whole(self, members: Sequence[Record]) -> ScoreUnit | None:
        """Return the unit that the members of a group form, if they are complete and all scored."""
        values = [value for one in members if (value := self.value(one)) is not None]
        if not len(values) == len(members) == self.together:
            return None
        first, *others = members
        return ScoreUnit(first, min(values), self._weight(first), tuple(others))

    def _join(self, each: Sequence[Units], need: Mapping[str, int], across: Across) -> Units:
        """Return the units of several samples as one, each with the value that its samples have together.

        `need` says how many samples each item has.
        """
        if self.across == "whole":
            return each[0]
        found: dict[Stratum, dict[object, list[ScoreUnit]]] = {}
        for place, unit in ((place, unit) for units in each for place, counted in units.items() for unit in counted):
            found.setdefault(place, {}).setdefault(unit.key, []).append(unit)
        join: Callable[[Sequence[float]], float] = {"any": max, "all": min}.get(across, fmean)
        joined: dict[Stratum, list[ScoreUnit]] = {place: [] for units in each for place in units}
        for place, by_key in found.items():
            for ones in by_key.values():
                if across == "mean" or len(ones) == max(need[name] for name, _ in ones[0].members):
                    joined[place].append(ones[0]._replace(value=join([one.value for one in ones])))
        return joined

    def combine(self, units: Units) -> float | int | None:
        """The score of what counts in it; None where nothing does, and 0 for counts."""
        if self.kind == "groups":
            return sum(map(len, units.values()))
        if self.kind == "total":
            return round(sum(unit.value for counted in units.values() for unit in counted))
        means = {place: weighted_mean(counted) for place, counted in units.items() if counted}
        one, other = (mean_of_known(mean for (side, _), mean in means.items() if side is of) for of in (True, False))
        if one is None or (self.contrast and other is None):
            return None
        return self.transform(one - other if self.contrast and other is not None else one)

    def _weight(self, record: Record) -> float:
        """How much a record counts: as its score has it, times how many groups its own stands for."""
        return (self.weight(record) if self.weight else 1.0) * (record.drawn.weight if record.drawn else 1.0)

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
        return tuple(self.within(value.replace(" ", "_"), partial(_has, column, value)) for value in values)


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
            groups[unit.group] = (total + unit.weight * unit.value, number + unit.weight)
        strata[place] = list(groups.values())
    return strata


def count_groups(units: Units) -> int:
    """Count the groups in a score; one whose items are in several strata counts once."""
    return len({unit.group for counted in units.values() for unit in counted})


def group_noun(metrics: Iterable[Metric]) -> str:
    """Return what the groups of a task with such scores are called."""
    return "pairs" if any(metric.together == PAIR for metric in metrics) else "groups"


def count_items(units: Units) -> int:
    return sum(1 + len(unit.others) for counted in units.values() for unit in counted)


def weighted_mean(units: Iterable[ScoreUnit]) -> float:
    """Mean of the values of units, at least one, each counted by its weight."""
    weighed = [(unit.weight, unit.weight * unit.value) for unit in units]
    return fsum(value for _, value in weighed) / fsum(weight for weight, _ in weighed)


def mean_of_known(scores: Iterable[float | None]) -> float | None:
    """Unweighted mean of those that are not None, as over strata; None without one."""
    known = [score for score in scores if score is not None]
    return fsum(known) / len(known) if known else None  # the same in whatever order ranks bring them


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
    return aggregate_tasks(metric, [metric.combine(units) for units in parts if units])


def over_samples(metric: Metric) -> tuple[Metric, ...]:
    """The scores beside one whose items have several samples: right in any, in all, and by the majority's answers."""
    if metric.kind != "mean" or not metric.higher_is_better or metric.contrast:
        return ()
    called: tuple[tuple[str, Across, Callable[[Record], float | None]], ...] = (
        ("any of k", "any", metric.value),
        ("all of k", "all", metric.value),
        ("majority", "whole", lambda record: metric.value(vote(record))),
    )
    return tuple(
        replace(
            metric,
            name=f"{metric.name}_{title.replace(' ', '_')}",
            title=f"{metric.title}, {title}",
            across=across,
            value=value,
        )
        for title, across, value in called
    )


def vote(record: Record) -> Record:
    """The record of the answer that most of an item's samples give, the earlier of equally many.

    Samples that are unscored, or in which no answer can be read, have no vote beside others.
    """
    scored = [one for one in record.each if one.correct is not None] or record.each
    read = [one for one in scored if one.answered is not None] or scored
    votes = Counter(one.answered for one in read)
    return replace(max(read, key=lambda one: votes[one.answered]), samples=())


def settle(record: Record) -> Record:
    """The record that stands for an item's samples: by `vote`, or as its view has them count together."""
    if record.across == "mean":
        return vote(record)
    if len(record.each) < record.needs:
        return replace(record, outcome=Outcome.UNSCORED, samples=())
    decides = min if record.across == "all" else max
    return replace(decides(record.each, key=lambda one: (one.correct is not None, bool(one.correct))), samples=())


def variances(metric: Metric, parts: Iterable[Iterable[Record]]) -> tuple[float, float] | None:
    """The variance of a score's units, within their strata: that between them, and that of samples within each.

    One-way analysis of variance with random effects (Searle, Casella & McCulloch, Variance Components, 1992, section
    3.6), of the units that all samples have; a variance between units that comes out below 0 is 0. In the score's unit,
    squared; None where no stratum has two such units with several samples.
    """
    strata: list[list[list[float]]] = []
    for records in parts:
        samples = metric.sample_units(records)
        values: dict[Stratum, dict[object, list[float]]] = {}
        for place, unit in ((place, unit) for units in samples for place, ones in units.items() for unit in ones):
            values.setdefault(place, {}).setdefault(unit.key, []).append(metric.transform(unit.value))
        whole = ([ones for ones in by_key.values() if len(ones) == len(samples)] for by_key in values.values())
        strata += [units for units in whole if len(units) > 1 and len(samples) > 1]
    if not strata:
        return None
    within = fmean(variance(unit) for units in strata for unit in units)
    means = [[fmean(unit) for unit in units] for units in strata]
    squares = sum(variance(of_stratum) * (len(of_stratum) - 1) for of_stratum in means)
    between = squares / sum(len(of_stratum) - 1 for of_stratum in means) - within / len(strata[0][0])
    return max(0.0, between), within


def _alike(record: Record) -> float | None:
    """Percent of the pairs of an item's samples that give the same answer; one that is not read is like no other."""
    answers = [one.answered for one in record.each if one.heard]
    pairs = list(combinations(answers, 2))
    return 100.0 * fmean(one is not None and one == other for one, other in pairs) if pairs else None


SELF_AGREEMENT = Metric("self_agreement", "agreement with itself", _alike, across="whole", higher_is_better=None)
"""Percent of the pairs of an item's samples in which the model gives the same answer, right or wrong."""


def share_of(answer: str) -> Callable[[Record], float | None]:
    """Return the value of records in the share of read answers that are one answer."""
    return lambda record: None if record.answered is None else percent(record.answered == answer)


UNPARSED_RATE = Metric("unparsed_rate", "unparsed", unparsed, higher_is_better=False, errors="plain")
"""Percent of the items with a response in which no answer can be read; they count as wrong."""

UNSCORED_RATE = Metric("unscored_rate", "unscored", unscored, higher_is_better=False, errors="plain")
"""Percent of items that could not be asked or graded."""

SAMPLE_DATA = Metric("sample_data", "sample data", lambda record: 100.0, higher_is_better=None)
"""100 where the data is sample data. Tasks on released data have no such score."""


class CommonMetrics(NamedTuple):
    unparsed: Metric
    unscored: Metric
    sample_data: Metric


COMMON_METRICS = CommonMetrics(UNPARSED_RATE, UNSCORED_RATE, SAMPLE_DATA)
"""What every task prints: as ``unparsed`` percent of the items asked, as ``unscored`` percent of all items, and 100 as
``sample_data`` where the data is sample data."""


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
"""Number of pairs that `PAIR_ACCURACY` is computed from: those with two members, both scored."""
