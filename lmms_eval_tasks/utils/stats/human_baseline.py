"""Human baselines from annotators' responses: modal answer, agreement, difficulty, and accuracy by stratum.

Source: CausalVQA paper (thresholds of difficulty; bootstrap stratified by type and difficulty, with annotators'
responses as proxies for one human's); YoCausal paper (*unknown* counts half). docs/statistics.md says where it is
our own reading.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_tasks.utils.stats.bootstrap import Floats, Strata, breakdowns, intervals, macro_mean
from lmms_eval_tasks.utils.stats.human_responses import AskedQuestion, Key, Response

EASY_ABOVE = 86.67
MEDIUM_FROM = 70.0
HARD_FROM = 36.67
DIFFICULTIES = ("easy", "medium", "hard")
DROPPED = "dropped"
MEAN = "mean over strata"


def difficulty(percent_right: float) -> str:
    """The difficulty of a question from the percent of responses that are right, as the paper bounds it."""
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
    """One question, all its versions together."""

    item: str
    versions: Mapping[str, Consensus]
    percent_right: float
    difficulty: str


@dataclass(frozen=True)
class HumanScore:
    """Accuracy of people on some questions, in percent, with its 95% interval for one response per question."""

    name: str
    questions: int
    percent: float
    interval: tuple[float, float]


def summarise(responses: Iterable[Response]) -> list[QuestionSummary]:
    """One summary per question, in alphabetical order."""
    by_item: defaultdict[str, list[Response]] = defaultdict(list)
    for response in responses:
        by_item[response.item].append(response)
    return [_summary(item, by_item[item]) for item in sorted(by_item)]


def _summary(item: str, responses: Sequence[Response]) -> QuestionSummary:
    choices: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for response in responses:
        choices[response.version][response.choice] += 1
    percent = 100.0 * sum(response.credit for response in responses) / len(responses)
    return QuestionSummary(
        item=item,
        versions={version: _consensus(choices[version]) for version in sorted(choices)},
        percent_right=percent,
        difficulty=difficulty(percent),
    )


def _consensus(choices: Counter[str]) -> Consensus:
    most = max(choices.values())
    modal = tuple(sorted(choice for choice, count in choices.items() if count == most))
    return Consensus(modal, 100.0 * most / sum(choices.values()), sum(choices.values()))


def question_strata(
    summaries: Sequence[QuestionSummary], asked: Mapping[Key, AskedQuestion] | None, columns: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Question to its stratum: the values of some columns of the items."""
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
    """Accuracy of people by stratum, by each value of each stratum column, and over all questions."""
    credits: defaultdict[str, list[float]] = defaultdict(list)
    for response in responses:
        if response.item in strata:
            credits[response.item].append(response.credit)
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
    ends = intervals(sampled, statistic, method="percentile")
    return [
        HumanScore(name, sum(questions[names[place]] for place in places), float(percent), (float(low), float(high)))
        for (name, places), percent, (low, high) in zip(members.items(), percents, ends, strict=True)
    ]
