"""The causal reward: how well the links that reasoning states agree with the clip's graph.

Source: CounterVQA (arXiv 2511.19923), section 3, rewards the agreement of reasoning with the causal graph, and does not
say how it is measured. This measure is ours; docs/training.md says what it does and why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import networkx as nx

from lmms_eval_tasks.train.rewards.claim import UNKNOWN, Claim
from lmms_eval_tasks.train.rewards.claims import read_claims
from lmms_eval_tasks.train.rewards.mentions import ABSENT, ActionFinder
from lmms_eval_tasks.train.rewards.reading import Reasoning, read_reasoning
from lmms_eval_tasks.train.rewards.sample import RewardSample

GAP = 0.7
"""Share of a path that is still missing where only its two ends are said to be linked."""
SKIP = 0.35
"""What a link that leaves out the actions between weighs among the invented ones, if the question is not of it."""
REVERSED = 1.25
"""What a link weighs among the wrong ones that the graph has the other way round."""
VAGUE = 0.15
"""The same of a link to something that is none of the clip's actions."""
MANY = 0.3
"""What the square of the number of wrong links weighs."""
OFF_PATH = 0.1
"""What a right link earns that the question does not need."""
SILENCE = 0.02
"""What an answer earns that claims nothing, and so nothing wrong."""
LOOPED = 0.5
"""The share of the reward that an answer loses which is nothing but the same sentence over and over."""
INDEPENDENCE = 0.7
"""What saying that two actions are not linked earns; the rest is for what the outcome really depends on."""


@dataclass(frozen=True)
class CausalAgreement:
    """How the claims of an answer agree with the graph.

    Attributes:
        right: Strength of the stated links that are in the graph.
        wrong: Weight of the stated links that are not, and of the denied ones that are. It grows with the square of
            their number, so that an answer cannot afford to list links.
        coverage: How much of what the question needs is stated, in [0, 1].
    """

    right: float
    wrong: float
    coverage: float

    @property
    def precision(self) -> float:
        """Right claims over all claims; 0 without any."""
        return self.right / (self.right + self.wrong) if self.right > 0 else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and coverage."""
        return 2 * self.precision * self.coverage / (self.precision + self.coverage) if self.coverage > 0 else 0.0

    @property
    def reward(self) -> float:
        """The F-score, but for a fiftieth that is for claiming nothing wrong; in [0, 1].

        So no claim ranks above a wrong one.
        """
        return min(1.0, (1 - SILENCE) * self.f1 + SILENCE / (1 + self.wrong))


def causal_reward(response: object, sample: RewardSample) -> float | None:
    """The causal reward of an answer, in [0, 1]; raises nothing, and takes time that is linear in its length.

    Where the graph leads from the action that is left out to the outcome, the answer needs the links between them, in
    their direction; where it does not, it needs to say that the one has no part in the other, and what has. Links that
    are not in the graph, denied links that are, links claimed in both directions or both stated and denied, and a
    verdict that the graph contradicts count against it. A verdict alone earns nothing.

    Args:
        response: What the model said; anything but text earns 0.
        sample: The question, with its graph.

    Returns:
        The reward; None where the sample has no actions, or neither links nor a question about two actions.
    """
    if not sample.actions or (not sample.links and sample.queried is None):
        return None
    if not isinstance(response, str) or not response.strip():
        return 0.0
    reasoning = read_reasoning(response)
    finder = ActionFinder(sample, reasoning.labels)
    reward = agreement(read_claims(reasoning, sample, finder), reasoning, sample).reward
    return reward * (1 - LOOPED * reasoning.repeated)


def agreement(claims: Iterable[Claim], reasoning: Reasoning, sample: RewardSample) -> CausalAgreement:
    """Compare claims with the graph of a sample."""
    claims = list(claims)
    stated, denied, vague = _settle(
        [one for one in claims if not (one.holds and one.verdict and (one.cause, one.effect) not in sample.links)]
    )
    contradicted = {pair for pair in stated if pair in denied}
    both_ways = {
        (cause, effect)
        for cause, effect in stated
        if (effect, cause) in stated and not {(cause, effect), (effect, cause)} <= sample.links
    }
    right, wrong, asked = {}, float(VAGUE * vague), _asked(sample)
    skipped: dict[tuple[int, int], float] = {}
    faults = 0
    for pair, strength in stated.items():
        cause, effect = pair
        if pair in contradicted:
            wrong += 1.0
        elif pair in both_ways and pair in sample.links:
            # The other direction counts against both, as it does alone: a right link never lowers the reward.
            continue
        elif pair in sample.links:
            right[pair] = strength
        elif cause >= 0 and effect in sample.reachable[cause]:
            skipped[pair] = strength
            wrong += 0.0 if pair == asked else SKIP
            faults += pair != asked
        else:
            faults += 1
            wrong += REVERSED if (effect, cause) in sample.links else 1.0
    wrong += MANY * faults**2
    denials = 0.0
    for pair, (strength, mutual) in denied.items():
        cause, effect = pair
        if pair in contradicted:
            continue
        leads = cause >= 0 and effect in sample.reachable[cause]
        leads = leads or (mutual and effect >= 0 and cause in sample.reachable[effect])
        if leads:
            wrong += 1.0
        elif pair == asked or (mutual and asked == (effect, cause)):
            denials = max(denials, strength)
    chain = sample.asks_for_a_chain
    if asked is not None and reasoning.concluded == ("yes" if chain else "no"):
        wrong += 1.0
    if asked is None:
        covered = sum(right.values()) / len(sample.links) if sample.links else 0.0
        return CausalAgreement(sum(right.values()), wrong, covered)
    if chain:
        covered = _path_coverage(right, skipped, sample)
        covered += (1 - covered) * OFF_PATH * min(1.0, sum(right.values()))
        credit = sum(right.values()) + skipped.get(asked, 0.0)
        return CausalAgreement(credit, wrong, covered)
    # Without a link between the two, what remains is what the outcome really depends on.
    causes = set(sample.graph.predecessors(asked[1])) if sample.graph.has_node(asked[1]) else set()
    share = INDEPENDENCE if causes else 1.0
    real = max((strength for (_, effect), strength in right.items() if effect == asked[1]), default=0.0)
    other = OFF_PATH * min(1.0, sum(right.values()))
    covered = share * denials + (1 - share) * max(real, other)
    return CausalAgreement(sum(right.values()) + denials, wrong, covered)


def _asked(sample: RewardSample) -> tuple[int, int] | None:
    if sample.queried is None:
        return None
    if sample.intervened is not None:
        return sample.intervened, sample.queried
    return (ABSENT, sample.queried) if sample.absent is not None else None


def _settle(
    claims: list[Claim],
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], tuple[float, bool]], int]:
    """What remains of the claims after those that take others back: stated, denied, and how many of nothing known."""
    stated: dict[tuple[int, int], float] = {}
    denied: dict[tuple[int, int], tuple[float, bool]] = {}
    vague = set()
    for claim in claims:
        pair = claim.cause, claim.effect
        if UNKNOWN in pair:
            if claim.holds and max(pair) >= ABSENT:
                vague.add(pair)
            continue
        if claim.revises:
            (denied if claim.holds else stated).pop(pair, None)
            if claim.holds:
                stated.pop(pair[::-1], None)
        if claim.holds:
            stated[pair] = max(stated.get(pair, 0.0), claim.strength)
        else:
            strength, mutual = denied.get(pair, (0.0, False))
            # A verdict in words gives no reason.
            earned = 0.0 if claim.verdict else claim.strength
            denied[pair] = max(strength, earned), mutual or claim.mutual
    return stated, denied, len(vague)


def _path_coverage(
    right: dict[tuple[int, int], float], skipped: dict[tuple[int, int], float], sample: RewardSample
) -> float:
    """How much of a path between the two actions is stated, where it is stated most; in [0, 1].

    What a path lacks is the number of its links less the strength of those stated; a stated link that skips actions
    makes up for a little of what it skips. The coverage is 1 less the least lack over the links of the shortest path,
    so that a further right link never lowers it.
    """
    start, end = sample.intervened, sample.queried
    shortest = nx.shortest_path_length(sample.graph, start, end)
    missing = nx.DiGraph()
    for pair in sample.links:
        missing.add_edge(*pair, lack=1.0 - right.get(pair, 0.0))
    for (cause, effect), strength in skipped.items():
        distance = nx.shortest_path_length(sample.graph, cause, effect)
        missing.add_edge(cause, effect, lack=(1 - (1 - GAP) * strength) * distance)
    lack = nx.dijkstra_path_length(missing, start, end, weight="lack")
    return float(max(0.0, 1.0 - lack / shortest))
