"""Causal links: given, or by a model in four roles.

Source: CounterVQA (arXiv 2511.19923), sections 2.3 and A.1: an observer is confident of each pair of actions to some
degree, and the fifth of a clip's pairs of which it is most confident go on; a verifier makes a counterfactual test, by
abduction first, and a back-door test; a critic objects; a synthesizer decides, by what both say and how sure each is.
The wording is ours."""

from __future__ import annotations

from itertools import combinations
from math import ceil
from typing import Annotated

from pydantic import Field

from lmms_eval_tasks.construct.countervqa.graphs import Pair, TakeLinks
from lmms_eval_tasks.construct.countervqa.rows import ChosenPairs, CounterVqaConfig, LinkedTake, TakeRow
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Removed, step

PAIRS_A_REQUEST = 40
OBSERVER, VERIFIER, CRITIC, SYNTHESIZER = "observer", "verifier", "critic", "synthesizer"

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


@step("given links")
def take_given_links(row: TakeRow, asking: Asking, config: CounterVqaConfig) -> LinkedTake:
    """Take the links of a file."""
    links = (config.source.links or {}).get(row.id)
    if links is None:
        raise Removed("no links")
    return LinkedTake(id=row.id, take=row.take, links=links)


@step(OBSERVER, asks=(OBSERVER,), section="A.1")
def choose_pairs(row: TakeRow, asking: Asking, config: CounterVqaConfig) -> ChosenPairs:
    """Have the observer say how sure it is of each pair, and let the share go on of which it is most sure."""
    pairs = [(one.id, other.id) for one, other in combinations(row.take.actions, 2)]
    if not pairs:
        raise Removed("no links")

    def observe(start: int, asking: Asking) -> dict[Pair, float]:
        numbered = dict(enumerate(pairs[start : start + PAIRS_A_REQUEST], start=1))
        shown = [{"pair": number, "first": one, "second": two} for number, (one, two) in numbered.items()]
        reply = asking.ask(OBSERVER, "countervqa_observer", Confidences, **row.shown(), pairs=shown)
        given: dict[int, list[float]] = {}
        for entry in reply.confidences:
            given.setdefault(entry.pair, []).append(entry.confidence)
        missing = [number for number in numbered if len(given.get(number, ())) != 1]
        if missing:
            asking.note(f"no one confidence for the pairs {', '.join(map(str, missing))}")
        return {pair: given[number][0] for number, pair in numbered.items() if number not in missing}

    def about(start: int) -> str:
        return f"pairs {start + 1} to {min(start + PAIRS_A_REQUEST, len(pairs))}"

    observed = asking.each(range(0, len(pairs), PAIRS_A_REQUEST), about, observe)
    sure = {pair: confidence for part in observed for pair, confidence in (part or {}).items()}
    # Of equals the earlier.
    surest = set(sorted(sure, key=lambda pair: -sure[pair])[: ceil(config.pair_share * len(sure))])
    chosen = tuple(pair for pair in sure if pair in surest)
    return ChosenPairs(id=row.id, take=row.take, pairs=chosen, seen=len(pairs), unsure=len(pairs) - len(sure))


@step("judged pairs", asks=(VERIFIER, CRITIC, SYNTHESIZER), section="2.3, A.1")
def judge_pairs(row: ChosenPairs, asking: Asking) -> LinkedTake:
    """Have each pair tested by the verifier, the test criticised by the critic, and both weighed by the synthesizer."""

    def judge(pair: Pair, asking: Asking) -> bool:
        shown = {**row.shown(), "cause": pair[0], "effect": pair[1]}
        test = asking.ask(VERIFIER, "countervqa_verifier", LinkTest, **shown).model_dump()
        criticism = asking.ask(CRITIC, "countervqa_critic", Criticism, **shown, test=test).model_dump()
        shown |= {"test": test, "criticism": criticism}
        return asking.ask(SYNTHESIZER, "countervqa_synthesizer", LinkDecision, **shown).causal

    judged = dict(zip(row.pairs, asking.each(row.pairs, " > ".join, judge), strict=True))
    links = tuple(pair for pair, causal in judged.items() if causal)
    unlinked = frozenset(pair for pair, causal in judged.items() if causal is False)
    return LinkedTake(id=row.id, take=row.take, links=TakeLinks(links, unlinked))
