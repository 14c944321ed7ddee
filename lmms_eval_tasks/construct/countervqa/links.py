"""Causal links by a model in four roles.

Source: CounterVQA (arXiv 2511.19923), sections 2.3 and A.1: an observer is confident of each pair of actions to some
degree, and the fifth of a clip's pairs of which it is most confident go on; a verifier makes a counterfactual test, by
abduction first, and a back-door test; a critic objects; a synthesizer decides, by what both say and how sure each is.
The wording is ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import ceil
from typing import Annotated

from pydantic import Field

from lmms_eval_tasks.construct.countervqa.graphs import Pair, TakeLinks
from lmms_eval_tasks.construct.countervqa.rows import ChosenPair, JudgedPair, LinkedTake, ObservedPart, SurePairs
from lmms_eval_tasks.construct.countervqa.takes import Take
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.running import StepRun
from lmms_eval_tasks.construct.engine.steps import AnyStep, Asking, PipelineRow, Removed, RowStep, SetStep

PAIRS_A_REQUEST = 40
TAKES_AT_ONCE = 32
LINK_ROLES = OBSERVER, VERIFIER, CRITIC, SYNTHESIZER = "observer", "verifier", "critic", "synthesizer"

Confidence = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class PairConfidence(Form):
    """Confidence of the observer in one pair, by its number in the request."""

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


def observed_parts(takes: Iterable[Take]) -> list[ObservedPart]:
    """All pairs of each take in order of time, a request's at a time; a take with less than two actions has none."""
    parts = []
    for take in takes:
        pairs = tuple((one.id, other.id) for one, other in combinations(take.actions, 2))
        parts += [
            ObservedPart(id=f"{take.uid} {start + 1}", take=take, first=start + 1, pairs=pairs[start:end])
            for start, end in ((start, start + PAIRS_A_REQUEST) for start in range(0, len(pairs), PAIRS_A_REQUEST))
        ]
    return parts


class Observe(RowStep[ObservedPart, SurePairs]):
    """Has the observer say how sure it is of each pair; those that it gives no one confidence do not go on."""

    name = OBSERVER
    takes, gives = ObservedPart, SurePairs
    roles = (OBSERVER,)

    def run(self, row: ObservedPart, asking: Asking) -> Sequence[SurePairs]:
        """Ask about one part of a take's pairs."""
        pairs = [{"pair": place, "first": one, "second": two} for place, (one, two) in enumerate(row.pairs, start=1)]
        reply = asking.ask(OBSERVER, "countervqa_observer", Confidences, **row.shown(), pairs=pairs)
        given: dict[int, list[float]] = {}
        for entry in reply.confidences:
            given.setdefault(entry.pair, []).append(entry.confidence)
        numbered = dict(enumerate(row.pairs, start=1))
        missing = [number for number in numbered if len(given.get(number, ())) != 1]
        if missing:
            asking.note(f"no one confidence for the pairs {', '.join(map(str, missing))}")
        sure = tuple((pair, given[number][0]) for number, pair in numbered.items() if number not in missing)
        return [SurePairs(id=row.id, take=row.take, confidences=sure)]


class ChoosePairs(SetStep[SurePairs, ChosenPair]):
    """Lets the share of each take's pairs go on of which the observer is most sure, of equals the earlier."""

    name = "surest pairs"
    takes, gives = SurePairs, ChosenPair

    def __init__(self, share: float) -> None:
        self._share = share

    def run(self, rows: Sequence[SurePairs], remove: Callable[[str, Removed], None]) -> Sequence[ChosenPair]:
        """The pairs that go on, in order of time."""
        chosen: list[ChosenPair] = []
        for _, parts in groupby(rows, key=lambda row: row.take.uid):
            here = list(parts)
            confidences = dict(one for part in here for one in part.confidences)
            ranked = sorted(confidences, key=lambda pair: -confidences[pair])
            surest = set(ranked[: ceil(self._share * len(ranked))])
            take = here[0].take
            chosen += [
                ChosenPair(id=f"{take.uid} {number}", take=take, pair=pair)
                for number, pair in enumerate(confidences)
                if pair in surest
            ]
        return chosen


class JudgePairs(RowStep[ChosenPair, JudgedPair]):
    """Has each pair tested by the verifier, the test criticised by the critic, and both weighed by the synthesizer."""

    name = "judged pairs"
    takes, gives = ChosenPair, JudgedPair
    roles = (VERIFIER, CRITIC, SYNTHESIZER)

    def run(self, row: ChosenPair, asking: Asking) -> Sequence[JudgedPair]:
        """Decide about one pair."""
        shown = {**row.shown(), "cause": row.pair[0], "effect": row.pair[1]}
        test = asking.ask(VERIFIER, "countervqa_verifier", LinkTest, **shown).model_dump()
        criticism = asking.ask(CRITIC, "countervqa_critic", Criticism, **shown, test=test).model_dump()
        shown |= {"test": test, "criticism": criticism}
        decision = asking.ask(SYNTHESIZER, "countervqa_synthesizer", LinkDecision, **shown)
        return [JudgedPair(id=row.id, take=row.take, pair=row.pair, causal=decision.causal)]


RunSteps = Callable[[Sequence[AnyStep], Sequence[PipelineRow]], Sequence[StepRun]]
"""Runs steps on rows."""


@dataclass(frozen=True)
class FoundLinks:
    """Links that the roles find in takes."""

    takes: Sequence[LinkedTake] = ()
    candidates: int = 0
    tested: int = 0
    judged: int = 0
    failed: int = 0

    def counts(self) -> dict[str, int]:
        """Return the number of pairs with each outcome, with labels for people."""
        return {
            "candidate pairs of actions": self.candidates,
            "  that the observer lets on": self.tested,
            "  that are causal links": sum(len(take.links.links) for take in self.takes),
            "  that nobody judged": self.candidates - self.judged,
            "  of which a step failed": self.failed,
        }


def find_links(takes: Sequence[Take], share: float, run: RunSteps) -> FoundLinks:
    """Ask a model in the four roles for the links of every take that has two actions or more."""
    takes = [take for take in takes if len(take.actions) > 1]
    found = FoundLinks()
    for start in range(0, len(takes), TAKES_AT_ONCE):
        here = takes[start : start + TAKES_AT_ONCE]
        parts = observed_parts(here)
        sure, chosen, judged = (one.left for one in run([Observe(), ChoosePairs(share), JudgePairs()], parts))
        candidates = sum(len(part.pairs) for part in parts)
        unsure = candidates - sum(len(row.confidences) for row in sure)
        found = FoundLinks(
            [*found.takes, *_linked_takes(here, judged)],
            found.candidates + candidates,
            found.tested + len(chosen),
            found.judged + len(judged),
            found.failed + unsure + len(chosen) - len(judged),
        )
    return found


def _linked_takes(takes: Sequence[Take], pairs: Iterable[JudgedPair]) -> list[LinkedTake]:
    judged: dict[str, tuple[list[Pair], set[Pair]]] = {take.uid: ([], set()) for take in takes}
    for row in pairs:
        causes, others = judged[row.take.uid]
        if row.causal:
            causes.append(row.pair)
        else:
            others.add(row.pair)
    return [
        LinkedTake(id=take.uid, take=take, links=TakeLinks(tuple(causes), frozenset(others)))
        for take in takes
        for causes, others in (judged[take.uid],)
    ]
