"""The answer to a question that earns most: what the graph says of it, in the words of its actions."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx

from lmms_eval_tasks.train.rewards.answer_form import ARROW, NO, YES, FormedAnswer, LinkClaim, expected_verdict
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample

OTHER = {YES: NO, NO: YES}


def needed_links(sample: RewardSample) -> list[tuple[int, int]]:
    """Links that cover what a question needs: those of a shortest path of several, or all that lead to the outcome."""
    if not sample.asks_for_a_chain:
        return sorted(link for link in sample.links if link[1] == sample.queried)
    graph = sample.graph.copy()
    own = (sample.intervened, sample.queried)
    graph.remove_edges_from([own])
    if not nx.has_path(graph, *own):
        return [link for link in sample.links if link == own]
    return list(pairwise(nx.shortest_path(graph, *own)))


def best_answer(sample: RewardSample, verdict: str | None = None) -> FormedAnswer:
    """What a question needs, with the key as its end, or with a verdict that is given."""
    said = {place: " ".join(text.split()) for place, text in enumerate(sample.actions)}
    # What the form has marks in cannot be said in it.
    said = {place: text for place, text in said.items() if text and ARROW not in text and "<" not in text}
    pairs = [(link, True) for link in needed_links(sample)]
    places = {place for link, _ in pairs for place in link} | sample.relevant
    if not sample.asks_for_a_chain and sample.intervened is not None and sample.queried is not None:
        pairs.append(((sample.intervened, sample.queried), False))
    links = (LinkClaim(said[one], said[two], holds) for (one, two), holds in pairs if {one, two} <= said.keys())
    end = verdict or expected_verdict(sample) or YES
    return FormedAnswer(
        happened=tuple(dict.fromkeys(said[place] for place in sorted(places) if place in said)),
        links=tuple(dict.fromkeys(links)),
        conclusions=(end,),
        answer=f"{end.capitalize()}.",
    )
