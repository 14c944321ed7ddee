"""What the steps of a build pass on: pairs of actions, takes with their links, and questions."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.build.countervqa.absent import AbsentIdeas
from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.build.countervqa.given_links import Pair, TakeLinks
from lmms_eval_tasks.build.engine.rows import PipelineRow
from lmms_eval_tasks.build.graphs.causal_graph import CausalGraph, causal_graph
from lmms_eval_tasks.build.graphs.measures import GraphMeasures
from lmms_eval_tasks.countervqa.released import CounterfactualQuestion


class TakeRow(PipelineRow):
    """Row of a take, or of a part of it."""

    take: Take

    @property
    def about(self) -> str:
        """The part of the take; empty for the whole."""
        return ""

    def shown(self) -> dict[str, Any]:
        """The take's actions, as a model is shown them."""
        return shown_take(self.take)


class ObservedPart(TakeRow):
    """Some of a take's pairs of actions, which the observer is asked about at once."""

    first: int
    pairs: tuple[Pair, ...]

    @property
    def about(self) -> str:
        """The numbers of its pairs."""
        return f"pairs {self.first} to {self.first + len(self.pairs) - 1}"


class SurePairs(TakeRow):
    """Pairs of a take, and how sure the observer is that each is a link."""

    confidences: tuple[tuple[Pair, float], ...]


class ChosenPair(TakeRow):
    """A pair that goes on from the observer."""

    pair: Pair

    @property
    def about(self) -> str:
        """Cause and effect."""
        return " > ".join(self.pair)


class JudgedPair(ChosenPair):
    """A pair about which the synthesizer decided."""

    causal: bool


class LinkedTake(TakeRow):
    """A take with what is known of its links."""

    links: TakeLinks

    @property
    def graph(self) -> CausalGraph:
        """The take's causal graph."""
        return causal_graph([action.id for action in self.take.actions], self.links.links, self.take.uid)


class MeasuredTake(LinkedTake):
    """A take with the measures of its graph."""

    measures: GraphMeasures


class ImaginedTake(MeasuredTake):
    """A take with its main goal and absent actions, by a model."""

    ideas: AbsentIdeas


class TakeQuestion(TakeRow):
    """A question about a take."""

    question: CounterfactualQuestion

    @property
    def about(self) -> str:
        """The question's id."""
        return self.question.id


def shown_take(take: Take) -> dict[str, Any]:
    """A take as a model is shown it: what is done in it, and each action with its time."""
    actions = [
        {"id": one.id, "seconds": one.start, **({"subject": one.subject} if one.subject else {}), "text": one.text}
        for one in take.actions
    ]
    return {"task": take.task, "actions": actions}
