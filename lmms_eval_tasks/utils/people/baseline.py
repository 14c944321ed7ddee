"""Human baselines from annotators' responses: scores by stratum, difficulty, studies, and checks of keys and links.

Source: CausalVQA paper (thresholds of difficulty; bootstrap stratified by type and difficulty, with annotators'
responses as proxies for one human's; questions whose most frequent answer is not the key were left out, 14%; the two
versions of a question, MCQ and MCQ′, are meant to be equally hard). YoCausal paper, section on people (two clips
next to each other, *unknown* counts half, Tables 4 and 5). CounterVQA (arXiv 2511.19923), appendix D: precision,
recall, F1 and accuracy of edges; over which pairs the accuracy is taken is not said there, and here it is over every
two actions in their order of time, and those links of either graph that go against it. docs/statistics.md says where
it is our own reading.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, sqrt
from typing import Any

import numpy as np

from lmms_eval_tasks.utils.core.output import NO_INTERVAL, Number
from lmms_eval_tasks.utils.people.responses import RIGHT, UNKNOWN, AskedQuestion, Key, Response
from lmms_eval_tasks.utils.scoring.bootstrap import (
    Estimate,
    Floats,
    Strata,
    breakdowns,
    estimate,
    intervals,
    macro_mean,
)
from lmms_eval_tasks.utils.scoring.compare import holm
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

EASY_ABOVE = 86.67
MEDIUM_FROM = 70.0
HARD_FROM = 36.67
DIFFICULTIES = ("easy", "medium", "hard")
DROPPED = "dropped"
MEAN = "mean over strata"
FEW_QUESTIONS = 30
"""Questions below which the percentiles of the draws are corrected (BCa)."""


def difficulty(percent_right: float) -> str:
    """Return the difficulty of a question from the percent of responses that are right, as the paper bounds it."""
    printed = round(percent_right, 2)
    if printed > EASY_ABOVE:
        return "easy"
    return "medium" if printed >= MEDIUM_FROM else "hard" if printed >= HARD_FROM else DROPPED


@dataclass(frozen=True)
class Consensus:
    """The annotators' answers to one version of a question."""

    modal: tuple[str, ...]
    agreement: float
    responses: int


@dataclass(frozen=True)
class QuestionSummary:
    item: str
    versions: Mapping[str, Consensus]
    percent_right: float
    difficulty: str


@dataclass(frozen=True)
class HumanScore:
    """Accuracy of people on some questions, in percent, with its 95% interval for one response per question; one
    question has none."""

    name: str
    questions: int
    percent: float
    interval: tuple[float, float] | None

    def number(self, unit: str, digits: int) -> Number:
        """The score for a table."""
        after = "" if self.interval else NO_INTERVAL
        low, high = self.interval or (None, None)
        return Number(self.percent, low, high, self.questions, unit, digits, after=after)


def summarise(responses: Iterable[Response]) -> list[QuestionSummary]:
    summaries = []
    for item, own in sorted(_by_item(responses).items()):
        choices: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for response in own:
            choices[response.version][response.choice] += 1
        versions = {}
        for version, counts in sorted(choices.items()):
            most, total = max(counts.values()), counts.total()
            modal = tuple(sorted(choice for choice, count in counts.items() if count == most))
            versions[version] = Consensus(modal, 100.0 * most / total, total)
        percent = 100.0 * sum(response.credit for response in own) / len(own)
        summaries.append(QuestionSummary(item, versions, percent, difficulty(percent)))
    return summaries


def _by_item(responses: Iterable[Response]) -> dict[str, list[Response]]:
    by_item: defaultdict[str, list[Response]] = defaultdict(list)
    for response in responses:
        by_item[response.item].append(response)
    return dict(by_item)


def question_strata(
    summaries: Sequence[QuestionSummary], asked: Mapping[Key, AskedQuestion] | None, columns: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    known: dict[str, Mapping[str, str]] = {item: one.strata for (item, _), one in (asked or {}).items()}
    strata = {}
    for summary in summaries:
        values = {"difficulty": summary.difficulty, **known.get(summary.item, {})}
        strata[summary.item] = tuple(values[column] for column in columns)
    return {item: stratum for item, stratum in strata.items() if DROPPED not in stratum}


def human_scores(
    responses: Sequence[Response],
    strata: Mapping[str, tuple[str, ...]],
    parts: Mapping[str, Collection[str]] | None = None,
) -> list[HumanScore]:
    """Return the accuracy of people by stratum, by each value of each stratum column, and over all questions."""
    credits = {item: [one.credit for one in own] for item, own in _by_item(responses).items() if item in strata}
    if not credits:
        return []
    names = sorted({strata[item] for item in credits})
    weights: list[defaultdict[tuple[float, float], float]] = [defaultdict(float) for _ in names]
    questions = Counter(strata[item] for item in credits)
    for item in sorted(credits):
        for credit, count in Counter(credits[item]).items():
            weights[names.index(strata[item])][100.0 * credit, 1.0] += count / len(credits[item])
    members = {" ".join(name): [place] for place, name in enumerate(names)}
    for column in range(len(names[0])):
        for value in sorted({name[column] for name in names}):
            members.setdefault(value, [place for place, name in enumerate(names) if name[column] == value])
    for part, items in (parts or {}).items():
        inside = {strata[item] for item in credits if item in items}
        if inside and not any(strata[item] in inside for item in credits if item not in items):
            members.setdefault(part, [names.index(name) for name in sorted(inside)])
    members["all"] = list(range(len(names)))
    pooled = breakdowns(list(members.values()))
    if len(names) > 1:
        members[MEAN] = members["all"]

    def statistic(sums: Floats) -> Floats:
        scores = pooled(sums)
        return np.concatenate([scores, macro_mean(sums)[..., None]], axis=-1) if MEAN in members else scores

    sampled = Strata.weighted(weights)
    percents = statistic(sampled.sums())
    ends = {method: intervals(sampled, statistic, method=method) for method in ("percentile", "bca")}
    scores = []
    for at, (name, places) in enumerate(members.items()):
        number = sum(questions[names[place]] for place in places)
        low, high = ends["bca" if number < FEW_QUESTIONS else "percentile"][at]
        interval = (float(low), float(high)) if number > 1 else None
        scores.append(HumanScore(name, number, float(percents[at]), interval))
    return scores


CREDIT = "human_credit"
"""Field of a record that has the mean credit of the responses to an item, 0-1."""


@dataclass(frozen=True)
class HumanStudy:
    """Study of people's answers about the items of a benchmark that are shown in several versions.

    Attributes:
        versions: Each way in which an item is shown to the choice that is then right, upper-case.
        choices: What can be chosen beside *unknown*, upper-case.
        metrics: The scores. What an item contributes to them is the mean credit of its responses (right 1, *unknown*
            0.5, wrong 0), whatever a metric's own value is; its `transform` makes percent of that.
        stratum: Names and values by which a row's scores are broken down.
        columns: Columns of the table that the metrics need, as fields of the record.
        label: Name of the label that is true of an item where more than half of its responses are right.
    """

    versions: Mapping[str, str]
    choices: tuple[str, ...]
    metrics: tuple[Metric, ...]
    stratum: Callable[[Mapping[str, Any]], Mapping[str, str]]
    columns: tuple[str, ...]
    label: str

    def questions(self, rows: Iterable[Mapping[str, Any]]) -> dict[Key, AskedQuestion]:
        """Return the questions that people can be asked about the rows of a prepared table: each item in each
        version."""
        return {
            (row["item_id"], version): AskedQuestion(key, self.choices, self.stratum(row), item_id=row["item_id"])
            for row in rows
            for version, key in self.versions.items()
        }


def score_study(
    study: HumanStudy, rows: Iterable[Mapping[str, Any]], responses: Sequence[Response]
) -> list[tuple[Metric, Estimate | None]]:
    """Return the study's scores, each item with the mean credit of its responses, whichever way it was shown."""
    credits = {item: sum(one.credit for one in own) / len(own) for item, own in _by_item(responses).items()}
    records = [
        Record(
            item_id=row["item_id"],
            group_id=row["item_id"],
            stratum=dict(study.stratum(row)),
            expected=None,
            answered=None,
            outcome=Outcome.CORRECT,
            fields={**{name: row[name] for name in study.columns}, CREDIT: credits[row["item_id"]]},
        )
        for row in rows
        if row["item_id"] in credits
    ]
    metrics = [replace(metric, value=lambda record: float(record.fields[CREDIT])) for metric in study.metrics]
    return [(metric, estimate(metric, [records])) for metric in metrics]


def label_items(responses: Sequence[Response]) -> dict[str, bool]:
    """Return whether more than half of the responses to each item are right; *unknown* is not right."""
    by_item = sorted(_by_item(responses).items())
    return {item: 2 * sum(one.credit == RIGHT for one in own) > len(own) for item, own in by_item}


def unknown_share(responses: Sequence[Response]) -> float:
    return 100.0 * sum(response.choice == UNKNOWN for response in responses) / len(responses)


@dataclass(frozen=True)
class LinkCounts:
    """Pairs of actions by what both graphs say of them; counts of several graphs add up."""

    hits: int = 0
    extra: int = 0
    missed: int = 0
    neither: int | None = 0

    def __add__(self, other: LinkCounts) -> LinkCounts:
        known = self.neither is not None and other.neither is not None
        return LinkCounts(
            self.hits + other.hits,
            self.extra + other.extra,
            self.missed + other.missed,
            (self.neither or 0) + (other.neither or 0) if known else None,
        )

    @property
    def precision(self) -> float | None:
        """Hits over predicted links; None without one."""
        return _ratio(self.hits, self.hits + self.extra)

    @property
    def recall(self) -> float | None:
        """Hits over links of the reference; None without one."""
        return _ratio(self.hits, self.hits + self.missed)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, from the counts; None where neither graph has a link."""
        return _ratio(2 * self.hits, 2 * self.hits + self.extra + self.missed)

    @property
    def accuracy(self) -> float | None:
        """Pairs of which both say the same over all pairs; None without a pair, or where the actions are not known."""
        if self.neither is None:
            return None
        return _ratio(self.hits + self.neither, self.hits + self.extra + self.missed + self.neither)

    @property
    def tau(self) -> float | None:
        """Kendall's tau-b of what both say of each pair; None where one says the same of all, as for accuracy else."""
        if self.neither is None:
            return None
        claimed, found = self.hits + self.extra, self.hits + self.missed
        others = (self.missed + self.neither) * (self.extra + self.neither)
        spread = sqrt(claimed * found * others)
        return (self.hits * self.neither - self.extra * self.missed) / spread if spread else None


def count_links(
    predicted: Iterable[tuple[str, str]], reference: Iterable[tuple[str, str]], actions: Sequence[str] | None
) -> LinkCounts:
    ours, true = set(predicted), set(reference)
    either = ours | true
    neither = None
    if actions is not None:
        place = {action: number for number, action in enumerate(actions)}
        forward = sum(place[cause] < place[effect] for cause, effect in either)
        neither = comb(len(place), 2) - forward
    return LinkCounts(len(ours & true), len(ours - true), len(true - ours), neither)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def disputed_questions(responses: Sequence[Response]) -> list[str]:
    """Return the questions of which one version's most frequent choice is not the key, in alphabetical order."""
    choices: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    keys: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for response in responses:
        version = response.item, response.version
        choices[version][response.choice] += 1
        if response.credit == RIGHT:
            keys[version].add(response.choice)
    return sorted(
        {
            item
            for (item, version), counts in choices.items()
            if not any(counts[key] == max(counts.values()) for key in keys[item, version])
        }
    )


@dataclass(frozen=True)
class VersionTest:
    item: str
    right: tuple[int, int]
    responses: tuple[int, int]
    p_value: float
    adjusted: float


def compare_versions(responses: Sequence[Response]) -> list[VersionTest]:
    from scipy.stats import fisher_exact

    tested: dict[str, tuple[Counter[bool], Counter[bool]]] = {}
    for item, own in sorted(_by_item(responses).items()):
        versions = sorted({response.version for response in own})
        if len(versions) == 2:
            first, second = (Counter(one.credit == RIGHT for one in own if one.version == name) for name in versions)
            tested[item] = first, second
    p_values = [float(fisher_exact([[of[True], of[False]] for of in both]).pvalue) for both in tested.values()]
    return [
        VersionTest(item, (one[True], other[True]), (one.total(), other.total()), p_value, adjusted)
        for (item, (one, other)), p_value, adjusted in zip(tested.items(), p_values, holm(p_values), strict=True)
    ]


def compare_version_sets(responses: Sequence[Response]) -> tuple[dict[str, tuple[int, int]], float] | None:
    """Whether the two versions of all questions, as sets, are equally hard; None where there are no two."""
    from scipy.stats import fisher_exact

    counts: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for response in responses:
        counts[response.version][response.credit == RIGHT] += 1
    if len(counts) != 2:
        return None
    sets = {version: (of[True], of.total()) for version, of in sorted(counts.items())}
    return sets, float(fisher_exact([[right, number - right] for right, number in sets.values()]).pvalue)


def judge_keys(
    responses: Sequence[Response], asked: Mapping[Key, AskedQuestion], positive: str
) -> tuple[LinkCounts, list[str]]:
    """Compare the links that keys claim with the majority of people's answers."""
    votes: defaultdict[Key, Counter[bool]] = defaultdict(Counter)
    for response in responses:
        if response.choice != UNKNOWN:
            votes[response.item, response.version][response.choice == positive] += 1
    counts, tied = LinkCounts(), []
    for key in sorted(votes):
        found, not_found = votes[key][True], votes[key][False]
        if found == not_found:
            tied.append(key[0])
        elif asked[key].answer == positive:
            counts += LinkCounts(hits=1) if found > not_found else LinkCounts(extra=1)
        else:
            counts += LinkCounts(missed=1) if found > not_found else LinkCounts(neither=1)
    return counts, tied
