"""Agreement of runs and people on the items that both answered: errors, difficulty, and choice of wrong options.

Source: Geirhos, Meding & Wichmann 2020 (arXiv 2006.16736): Cohen's kappa of right and wrong, and its bounds. How
several people to an item count is ours: docs/statistics.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lmms_eval_tasks.utils.people.responses import RIGHT, UNKNOWN, AskedQuestion, Key, Response, as_written
from lmms_eval_tasks.utils.scoring.bootstrap import (
    DRAWS,
    SEED,
    Counts,
    Floats,
    Strata,
    intervals,
    macro_interval,
)
from lmms_eval_tasks.utils.scoring.compare import OTHER_KEY, Part
from lmms_eval_tasks.utils.scoring.record import Outcome, Record
from lmms_eval_tasks.utils.scoring.shares import LEVEL

ONLY_PEOPLE = "only people answered"
ONLY_RUN = "no person answered"
UNSCORED = "unscored in the run"


@dataclass(frozen=True)
class SharedItem:
    """An item that people and at least one of several runs answered."""

    task: str
    question: AskedQuestion
    people: tuple[tuple[str, float], ...]
    records: tuple[Record | None, ...]

    @property
    def record(self) -> Record:
        """Return one of the records, for what they have in common."""
        return next(record for record in self.records if record is not None)

    @property
    def share_right(self) -> float:
        return sum(right for _, right in self.people) / len(self.people)

    def right(self, run: int) -> float | None:
        """Whether a run is right, 0 or 1: unparsed is not; None where it has no score."""
        record = self.records[run]
        return None if record is None else float(bool(record.correct))

    def wrong_option(self, run: int) -> str | None:
        """The wrong option that a run chose; None where it chose none, or options are not what people chose among."""
        record = self.records[run]
        if record is None or record.outcome is not Outcome.WRONG or record.answered is None:
            return None
        option, choices = record.answered.upper(), tuple(self.question.choices)
        return option if _same_choices(self.question, record) and (not choices or option in choices) else None

    @property
    def wrong_options(self) -> list[str]:
        return [choice for choice, right in self.people if not right and choice != UNKNOWN]


@dataclass(frozen=True)
class SharedItems:
    items: tuple[SharedItem, ...]
    left_out: tuple[Mapping[str, tuple[str, ...]], ...]


def share_items(responses: Iterable[Response], asked: Mapping[Key, AskedQuestion], runs: Sequence[Part]) -> SharedItems:
    """Match people's responses to the records of runs, by the ids of the items."""
    people: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    questions: dict[str, AskedQuestion] = {}
    for response in responses:
        question = asked[response.item, response.version]
        questions[question.item_id] = question
        people[question.item_id].append((response.choice, float(response.credit == RIGHT)))
    found: dict[tuple[str, str], list[Record | None]] = {}
    left_out: list[defaultdict[str, list[str]]] = [defaultdict(list) for _ in runs]
    for place, (run, left) in enumerate(zip(runs, left_out, strict=True)):
        for task, records in run.items():
            for record in records:
                if record.item_id not in people:
                    left[ONLY_RUN].append(record.item_id)
                elif record.correct is None:
                    left[UNSCORED].append(record.item_id)
                elif _other_key(questions[record.item_id], record):
                    left[OTHER_KEY].append(record.item_id)
                else:
                    found.setdefault((task, record.item_id), [None] * len(runs))[place] = record
        known = {record.item_id for records in run.values() for record in records}
        if absent := [item for item in people if item not in known]:
            left[ONLY_PEOPLE] = absent
    return SharedItems(
        tuple(
            SharedItem(task, questions[item], tuple(sorted(people[item])), tuple(records))
            for (task, item), records in found.items()
        ),
        tuple({why: tuple(items) for why, items in left.items()} for left in left_out),
    )


def _same_choices(question: AskedQuestion, record: Record) -> bool:
    """Whether a run chose among what people chose among; a model may be asked otherwise than people are."""
    if question.written or not question.answer or record.expected is None:
        return False
    return not question.choices or record.expected.upper() in tuple(question.choices)


def _other_key(question: AskedQuestion, record: Record) -> bool:
    if question.written and question.answer and record.expected is not None:
        return as_written(question.answer) != as_written(record.expected)
    return _same_choices(question, record) and str(record.expected).upper() != question.answer


def sum_groups(contributions: Iterable[tuple[SharedItem, Counts]]) -> list[list[Counts]]:
    """Sum the counts that each group of items adds, by task."""
    tasks: defaultdict[str, dict[str, Counts]] = defaultdict(dict)
    for item, counts in contributions:
        groups, group = tasks[item.task], item.record.group_id
        groups[group] = tuple(map(sum, zip(groups[group], counts, strict=True))) if group in groups else counts
    return [list(groups.values()) for groups in tasks.values()]


Judged = tuple[float, float, float]
"""Of an item: the chance that both observers are right or both wrong, that the first is right, and the second; 0-1."""


@dataclass(frozen=True)
class Consistency:
    items: int
    groups: int
    right: tuple[float, float]
    agreement: float
    expected: float
    kappa: float | None
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None


def expected_agreement(first: float, second: float) -> float:
    """Share of items on which two independent observers are both right or both wrong, from their accuracies (0-1)."""
    return first * second + (1 - first) * (1 - second)


def kappa_bounds(first: float, second: float) -> tuple[float, float] | None:
    """Least and greatest kappa of two observers, from their accuracies (0-1)."""
    expected = expected_agreement(first, second)
    if expected == 1:
        return None
    least, most = abs(first + second - 1), 1 - abs(first - second)
    return (least - expected) / (1 - expected), (most - expected) / (1 - expected)


Judge = Callable[[SharedItem], Judged | None]
"""What two observers make of an item; None where one of them has no score."""


def run_with_people(item: SharedItem, run: int) -> Judged | None:
    """Compare a run and a person drawn from those who answered an item; None where the run has no score."""
    right, people = item.right(run), item.share_right
    return None if right is None else (expected_agreement(right, people), right, people)


def two_runs(item: SharedItem, first: int, second: int) -> Judged | None:
    one, other = item.right(first), item.right(second)
    return None if one is None or other is None else (float(one == other), one, other)


def two_people(item: SharedItem) -> Judged | None:
    """Compare two different people drawn from those who answered an item; None where there are not two."""
    number, right = len(item.people), sum(right for _, right in item.people)
    if number < 2:
        return None
    wrong = number - right
    alike = (right * (right - 1) + wrong * (wrong - 1)) / (number * (number - 1))
    return alike, item.share_right, item.share_right


def find_consistency(items: Iterable[SharedItem], judge: Judge) -> Consistency | None:
    """Cohen's kappa of right and wrong, each item counting once; None without items."""
    known = [(item, one) for item in items if (one := judge(item)) is not None]
    if not known:
        return None
    strata = Strata.of(sum_groups((item, (agreed, 1.0, first, second)) for item, (agreed, first, second) in known))
    agreement, number, *right = strata.sums().sum(axis=0)
    shares = (float(right[0] / number), float(right[1] / number))
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = float(_kappa(strata.sums()))
    bounds = kappa_bounds(*shares)
    ends = None
    if bounds and not np.isclose(*bounds):
        low, high = map(float, intervals(strata, _kappa, bounds=(0.0, 1.0)))
        ends = low, high
    return Consistency(
        items=len(known),
        groups=sum(strata.sizes),
        right=shares,
        agreement=float(agreement / number),
        expected=expected_agreement(*shares),
        kappa=kappa if bounds else None,
        interval=ends,
        bounds=bounds,
    )


def _kappa(sums: Floats) -> Floats:
    """Kappa from summed agreement, number, and right items of both; over all strata together."""
    agreed, number, first, second = np.moveaxis(sums.sum(axis=-2), -1, 0)
    chance = (first * second + (number - first) * (number - second)) / number
    return np.asarray((agreed - chance) / np.where(np.isclose(chance, number), np.nan, number - chance))


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho of items' human accuracy with the share of runs that are right on them."""

    items: int
    rho: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Opposed:
    """Items that one side wholly gets right and the other wholly wrong."""

    ids: tuple[str, ...]
    items: int
    percent: float
    interval: tuple[float, float]


def correlate_difficulty(items: Sequence[SharedItem], runs: Sequence[int]) -> RankCorrelation | None:
    """Correlate the share of people who are right on an item with the share of runs that are, ties with mean ranks."""
    known = _with_shares(items, runs)
    if not known:
        return None
    people = sorted({item.share_right for item, _ in known})
    models = sorted({share for _, share in known})

    def cell(item: SharedItem, share: float) -> Counts:
        return tuple(float(pair == (item.share_right, share)) for pair in product(people, models))

    def rho(sums: Floats) -> Floats:
        return spearman(sums.sum(axis=-2).reshape(*sums.shape[:-2], len(people), len(models)))

    strata = Strata.of(sum_groups((item, cell(item, share)) for item, share in known))
    value = float(rho(strata.sums()))
    if np.isnan(value):
        return RankCorrelation(len(known), None, None)
    low, high = map(float, intervals(strata, rho, bounds=None))
    return RankCorrelation(len(known), value, (low, high) if low < high else None)


def spearman(counts: Floats) -> Floats:
    """Spearman's rho from how often each pair of values occurs, each axis in rising order of its values."""
    centred = []
    for axis in (-1, -2):
        marginal = counts.sum(axis=axis)
        ranks = marginal.cumsum(axis=-1) - marginal / 2
        centred.append((marginal, ranks - marginal.sum(axis=-1, keepdims=True) / 2))
    (rows, of_rows), (columns, of_columns) = centred
    together = (of_rows[..., :, None] * of_columns[..., None, :] * counts).sum(axis=(-2, -1))
    spread = (rows * of_rows**2).sum(axis=-1) * (columns * of_columns**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(spread > 0, together / np.sqrt(spread), np.nan))


def find_opposed(items: Sequence[SharedItem], runs_right: bool) -> Opposed | None:
    """Items on which all runs are right and no person, or all people and no run; None where there is no item."""
    known = _with_shares(items, range(len(items[0].records)) if items else ())
    if not known:
        return None
    wanted = (1.0, 0.0) if runs_right else (0.0, 1.0)
    found = [(item, (share, item.share_right) == wanted) for item, share in known]
    tasks = sum_groups((item, (100.0 * is_one, 1.0)) for item, is_one in found)
    ids = tuple(item.record.item_id for item, is_one in found if is_one)
    interval = macro_interval([[group for groups in tasks for group in groups]])
    return Opposed(ids, len(known), 100 * len(ids) / len(known), interval)


def _with_shares(items: Sequence[SharedItem], runs: Sequence[int]) -> list[tuple[SharedItem, float]]:
    """The items on which all of some runs have a score, with the share of these that are right, 0-1."""
    known = [(item, [right for run in runs if (right := item.right(run)) is not None]) for item in items]
    return [(item, sum(right) / len(right)) for item, right in known if right and len(right) == len(runs)]


Kind = tuple[str | None, int]
"""The key of an item, and how many choices it has: between such items, letters stand for the same places."""


@dataclass(frozen=True)
class SharedOptions:
    """Shared errors: a run and a person drawn from those who answered an item both choose a wrong option."""

    errors: int
    alone: int
    same: float
    expected: float
    interval: tuple[float, float] | None

    @property
    def beyond(self) -> float:
        return self.same - self.expected


def share_options(items: Sequence[SharedItem], run: int, draws: int = DRAWS) -> SharedOptions | None:
    erring = [(item, option) for item in items if (option := item.wrong_option(run)) and item.wrong_options]
    erring = [(item, option) for item, option in erring if len(item.question.choices) != 2]
    kinds: dict[Kind, list[tuple[SharedItem, str]]] = {}
    for item, option in erring:
        kinds.setdefault((item.question.answer, len(item.question.choices)), []).append((item, option))
    several = {kind: found for kind, found in kinds.items() if len(found) > 1}
    if not several:
        return None
    options = sorted({one for item, option in erring for one in (option, *item.wrong_options)})
    places = {kind: place for place, kind in enumerate(several)}
    width = 2 + 2 * len(options)

    def count(kind: Kind, item: SharedItem, chosen: str) -> Counts:
        shares = [item.wrong_options.count(option) / len(item.people) for option in options]
        counts = [0.0] * (width * len(places))
        own = [1.0, shares[options.index(chosen)], *(float(chosen == option) for option in options), *shares]
        counts[places[kind] * width : (places[kind] + 1) * width] = own
        return tuple(counts)

    counted = ((item, count(kind, item, option)) for kind, found in several.items() for item, option in found)
    strata = Strata.of(sum_groups(counted))
    same, expected = map(float, _same_and_expected(strata.sums(), width))
    drawn = _same_and_expected(strata.draw(np.random.default_rng(SEED), draws), width, drawn=True)
    beyond = drawn[:, 0] - drawn[:, 1]
    tail = (1 - LEVEL / 100) / 2
    low, high = map(float, np.quantile(beyond[~np.isnan(beyond)], [tail, 1 - tail]))
    return SharedOptions(
        errors=sum(map(len, several.values())),
        alone=len(erring) - sum(map(len, several.values())),
        same=same,
        expected=expected,
        interval=(low, high) if low < high else None,
    )


def _same_and_expected(sums: Floats, width: int, drawn: bool = False) -> Floats:
    """Percent of shared errors with the same option, and what is expected; (…, strata, counts) to (…, 2)."""
    kinds = sums.sum(axis=-2)
    kinds = kinds.reshape(*kinds.shape[:-1], -1, width)
    number, same = kinds[..., 0], kinds[..., 1]
    run, people = np.split(kinds[..., 2:], 2, axis=-1)
    together = (run * people).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # An item that is drawn twice would be its own other item: with this the mean over draws is what is expected.
        repeated = (number * together - (2 * number - 1) * same) / (number - 1) ** 2
        other = repeated if drawn else (together - same) / (number - 1)
        totals = [np.where(number > 1, one, 0.0).sum(axis=-1) for one in (same, other, people.sum(axis=-1))]
        return np.asarray(100 * np.stack(totals[:2], axis=-1) / totals[2][..., None])
