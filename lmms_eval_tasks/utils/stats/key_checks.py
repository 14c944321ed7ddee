"""What annotators' responses say about a benchmark's keys: questions that people answer otherwise, versions of one
question that are not equally hard, and how far people find what keys claim.

Source: CausalVQA paper (questions whose most frequent answer is not the key were left out, 14%; the two versions of a
question, MCQ and MCQ′, are meant to be equally hard).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.stats.comparison import holm
from lmms_eval_tasks.utils.stats.human_responses import RIGHT, UNKNOWN, AskedQuestion, Key, Response
from lmms_eval_tasks.utils.stats.link_agreement import LinkCounts


def disputed_questions(responses: Sequence[Response]) -> list[str]:
    """Questions of which one version's most frequent choice is not the key, in alphabetical order."""
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
    """Whether two versions of a question are equally hard."""

    item: str
    right: tuple[int, int]
    responses: tuple[int, int]
    p_value: float
    adjusted: float


def compare_versions(responses: Sequence[Response]) -> list[VersionTest]:
    """Test each question that was answered in exactly two versions, in alphabetical order."""
    from scipy.stats import fisher_exact

    counts: defaultdict[str, defaultdict[str, Counter[bool]]] = defaultdict(lambda: defaultdict(Counter))
    for response in responses:
        counts[response.item][response.version][response.credit == RIGHT] += 1
    tested = {item: sorted(versions.items()) for item, versions in sorted(counts.items()) if len(versions) == 2}
    p_values = [
        float(fisher_exact([[of[True], of[False]] for _, of in versions]).pvalue) for versions in tested.values()
    ]
    return [
        VersionTest(
            item,
            (of_first[True], of_second[True]),
            (of_first.total(), of_second.total()),
            p_value,
            adjusted,
        )
        for (item, [(_, of_first), (_, of_second)]), p_value, adjusted in zip(
            tested.items(), p_values, holm(p_values), strict=True
        )
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
    """What keys claim to hold, against what most people find."""
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
