"""Causal links by a model in four roles.

Source: CounterVQA (arXiv 2511.19923), sections 2.3 and A.1: an observer is confident of each pair of actions to some
degree, and the fifth of a clip's pairs of which it is most confident go on; a verifier makes a counterfactual test, by
abduction first, and a back-door test; a critic objects; a synthesizer decides, by what both say and how sure each is.
The wording is ours.

Only pairs about which the synthesizer decided are judged. The others, whether the observer let them not on or a step of
theirs failed (no reply, a refusal, malformed JSON), are no links, and no answer rests on their being none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import ceil
from typing import Annotated, Any

from pydantic import Field

from lmms_eval_tasks.countervqa.construction.annotations import Take
from lmms_eval_tasks.countervqa.construction.given_links import Pair, TakeLinks
from lmms_eval_tasks.countervqa.construction.steps import OpenModel, Steps, make_case
from lmms_eval_tasks.utils.pipeline.replies import Form

SHARE = 0.2
"""Of a clip's pairs, those that go on from the observer; the paper's number."""
PAIRS_A_REQUEST = 40
TAKES_AT_ONCE = 32

Confidence = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class PairConfidence(Form):
    """How sure the observer is of one pair, by its number in the request."""

    pair: int
    confidence: Confidence


class Confidences(Form):
    """The observer's reply."""

    confidences: list[PairConfidence]


class LinkTest(Form):
    """The verifier's reply: a counterfactual test after abduction, a back-door test, and how sure it is of both."""

    conditions: str
    effect_without_cause: bool
    common_cause: str
    explained_by_common_cause: bool
    confidence: Confidence


class Criticism(Form):
    """The critic's reply: whether the test stands, and how sure it is of that."""

    objections: str
    sound: bool
    confidence: Confidence


class LinkDecision(Form):
    """The synthesizer's reply."""

    reason: str
    causal: bool


@dataclass(frozen=True)
class FoundLinks:
    """What the roles say of all takes.

    Attributes:
        links: Take to its links, and to the pairs that were judged to be none.
        candidates: Pairs that the observer was asked about.
        tested: Those that went on.
        failed: Those of which a step failed.
    """

    links: Mapping[str, TakeLinks]
    candidates: int
    tested: int
    failed: int

    @property
    def judged(self) -> int:
        """Pairs about which the synthesizer decided."""
        return sum(len(one.known()) for one in self.links.values())


def find_links(takes: Sequence[Take], open_model: OpenModel, steps: Steps, share: float = SHARE) -> FoundLinks:
    """Ask a model in the four roles for the links of every take that has two actions or more.

    Only the replies about `TAKES_AT_ONCE` takes are in memory at a time.

    Args:
        takes: The takes.
        open_model: Gives what asks the model.
        steps: Keeps a row of every step.
        share: Of a take's pairs, those that go on from the observer.
    """
    takes = [take for take in takes if len(take.actions) > 1]
    parts = [
        _find_links(takes[start : start + TAKES_AT_ONCE], open_model, steps, share)
        for start in range(0, len(takes), TAKES_AT_ONCE)
    ]
    return FoundLinks(
        {uid: links for part in parts for uid, links in part.links.items()},
        sum(part.candidates for part in parts),
        sum(part.tested for part in parts),
        sum(part.failed for part in parts),
    )


def _find_links(takes: Sequence[Take], open_model: OpenModel, steps: Steps, share: float) -> FoundLinks:
    confidences = _observe(takes, open_model, steps)
    tested = [(take, pair) for take in takes for pair in _most_confident(confidences[take.uid], share)]

    def ask(
        role: str, form: type[Form], pairs: list[tuple[Take, Pair]], **given: Mapping[tuple[str, Pair], Any]
    ) -> Any:
        """The replies of a role by take and pair, and the pairs that have one."""
        cases = [
            partial(
                make_case,
                f"countervqa_{role}",
                take,
                cause=pair[0],
                effect=pair[1],
                **{name: replies[take.uid, pair] for name, replies in given.items()},
            )
            for take, pair in pairs
        ]
        verdicts = steps.ask(role, open_model(form), [(take, " > ".join(pair)) for take, pair in pairs], cases)
        replies = {
            (take.uid, pair): verdict.reply.model_dump()
            for (take, pair), verdict in zip(pairs, verdicts, strict=True)
            if verdict.reply is not None
        }
        return replies, [(take, pair) for take, pair in pairs if (take.uid, pair) in replies]

    tests, left = ask("verifier", LinkTest, tested)
    criticisms, left = ask("critic", Criticism, left, test=tests)
    decisions, judged = ask("synthesizer", LinkDecision, left, test=tests, criticism=criticisms)
    links = {take.uid: (list[Pair](), set[Pair]()) for take in takes}
    for take, pair in judged:
        causes, others = links[take.uid]
        if decisions[take.uid, pair]["causal"]:
            causes.append(pair)
        else:
            others.add(pair)
    candidates = sum(len(take.actions) * (len(take.actions) - 1) // 2 for take in takes)
    observed = sum(map(len, confidences.values()))
    return FoundLinks(
        {uid: TakeLinks(tuple(causes), frozenset(others)) for uid, (causes, others) in links.items()},
        candidates,
        len(tested),
        candidates - observed + len(tested) - len(judged),
    )


def _observe(takes: Sequence[Take], open_model: OpenModel, steps: Steps) -> dict[str, dict[Pair, float]]:
    """The observer's confidence in each pair of each take, but for those that it gives none."""
    parts = [(take, number, pairs) for take in takes for number, pairs in enumerate(_in_parts(take))]
    cases = [
        partial(
            make_case,
            "countervqa_observer",
            take,
            pairs=[{"pair": place, "first": one, "second": other} for place, (one, other) in enumerate(pairs, start=1)],
        )
        for take, _, pairs in parts
    ]
    about = [(take, _numbers(number, pairs)) for take, number, pairs in parts]
    verdicts = steps.ask("observer", open_model(Confidences), about, cases)
    confidences: dict[str, dict[Pair, float]] = {take.uid: {} for take in takes}
    for place, ((take, _, pairs), verdict) in enumerate(zip(parts, verdicts, strict=True)):
        given: dict[int, list[float]] = {}
        for entry in verdict.reply.confidences if verdict.reply else ():
            given.setdefault(entry.pair, []).append(entry.confidence)
        missing = [number for number in range(1, len(pairs) + 1) if len(given.get(number, ())) != 1]
        if verdict.reply and missing:
            steps.note(place, f"no one confidence for the pairs {', '.join(map(str, missing))}")
        for number, pair in enumerate(pairs, start=1):
            if number not in missing:
                confidences[take.uid][pair] = given[number][0]
    return confidences


def _numbers(part: int, pairs: Sequence[Pair]) -> str:
    """Which of a take's pairs a request is about."""
    first = PAIRS_A_REQUEST * part + 1
    return f"pairs {first} to {first + len(pairs) - 1}"


def _in_parts(take: Take) -> Iterator[list[Pair]]:
    """All pairs of a take in order of time, a request's at a time."""
    pairs = [(one.id, other.id) for one, other in combinations(take.actions, 2)]
    for start in range(0, len(pairs), PAIRS_A_REQUEST):
        yield pairs[start : start + PAIRS_A_REQUEST]


def _most_confident(confidences: Mapping[Pair, float], share: float) -> list[Pair]:
    """The share of pairs with the highest confidence, in order of time; of equals the earlier."""
    ranked = sorted(confidences, key=lambda pair: -confidences[pair])
    chosen = set(ranked[: ceil(share * len(ranked))])
    return [pair for pair in confidences if pair in chosen]
