"""From takes with their links to candidate questions, and to their partners."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lmms_eval_tasks.build.countervqa.absent import AbsentActions
from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.build.countervqa.pairs import ReachableGraph
from lmms_eval_tasks.build.countervqa.questions import make_questions, with_partners
from lmms_eval_tasks.build.countervqa.rows import ImaginedTake, LinkedTake, MeasuredTake, TakeQuestion
from lmms_eval_tasks.build.engine.steps import Removed, SetStep
from lmms_eval_tasks.build.graphs.depth import causal_depth
from lmms_eval_tasks.build.graphs.encoders import EncodedTexts, SentenceEncoder, encode_texts
from lmms_eval_tasks.build.graphs.measures import (
    GraphMeasures,
    Thresholds,
    adjacent_noncausal_density,
    mean_outlier_scores,
)
from lmms_eval_tasks.countervqa.released import CounterfactualQuestion
from lmms_eval_tasks.utils.core.work import Progress, no_progress


@dataclass(frozen=True)
class AnnotatedTexts:
    """The texts of all annotated actions, which are encoded when they are needed first."""

    takes: Sequence[Take]
    encoder: SentenceEncoder

    @cached_property
    def encoded(self) -> EncodedTexts:
        """The texts with their vectors."""
        return encode_texts([action.text for take in self.takes for action in take.actions], self.encoder)


class MeasureGraphs(SetStep[LinkedTake, MeasuredTake]):
    """Measures the graph of every take."""

    name = "measures"
    takes, gives = LinkedTake, MeasuredTake

    def __init__(self, texts: AnnotatedTexts, progress: Progress = no_progress) -> None:
        self._texts, self._progress = texts, progress

    def run(self, rows: Sequence[LinkedTake], remove: Callable[[str, Removed], None]) -> Sequence[MeasuredTake]:
        """Every take with the measures of its graph."""
        takes = self._texts.takes
        texts = {take.uid: [action.text for action in take.actions] for take in takes}
        outliers = mean_outlier_scores(texts, {take.uid: take.task for take in takes}, self._texts.encoded)
        measured = []
        for row in rows:
            graph = row.graph
            measures = GraphMeasures(adjacent_noncausal_density(graph), causal_depth(graph.links), outliers[row.id])
            measured.append(MeasuredTake(**dict(row), measures=measures))
            self._progress("measuring graphs", len(measured), len(rows))
        return measured


class FilterGraphs(SetStep[MeasuredTake, MeasuredTake]):
    """Leaves out the takes whose graphs fail a filter."""

    name = "filters"
    takes = gives = MeasuredTake

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds

    def run(self, rows: Sequence[MeasuredTake], remove: Callable[[str, Removed], None]) -> Sequence[MeasuredTake]:
        """The takes that pass all filters."""
        kept = []
        for row in rows:
            if failed := row.measures.failed(self._thresholds):
                remove(row.id, Removed(failed[0]))
            else:
                kept.append(row)
        return kept


class MakeQuestions(SetStep[MeasuredTake, TakeQuestion]):
    """Makes the questions about each take, without partners."""

    name = "candidate questions"
    takes, gives = MeasuredTake, TakeQuestion

    def __init__(
        self, texts: AnnotatedTexts, number: int, own_rules: bool, seed: int, progress: Progress = no_progress
    ) -> None:
        self._texts, self._number, self._own_rules, self._seed = texts, number, own_rules, seed
        self._progress = progress

    def run(self, rows: Sequence[MeasuredTake], remove: Callable[[str, Removed], None]) -> Sequence[TakeQuestion]:
        """The questions, those about a take after each other."""
        absent = AbsentActions(self._texts.takes, self._texts.encoded, self._seed)
        questions: list[TakeQuestion] = []
        for done, row in enumerate(rows, start=1):
            graph = ReachableGraph(row.graph, row.links.unlinked)
            never = row.ideas if isinstance(row, ImaginedTake) else absent.find(row.take, self._number)
            made = make_questions(row.take, graph, never, self._number, self._own_rules, self._seed)
            questions += [TakeQuestion(id=one.id, take=row.take, question=one) for one in made]
            self._progress("making questions", done, len(rows))
        return questions


KeptQuestions = Mapping[str, Sequence[CounterfactualQuestion]]
"""Take to its questions, with their partners; takes without one are not in it."""


def pair_questions(rows: Iterable[TakeQuestion]) -> KeptQuestions:
    """The questions that are left, by take, each with its partner."""
    by_take: dict[str, list[CounterfactualQuestion]] = {}
    for row in rows:
        by_take.setdefault(row.take.uid, []).append(row.question)
    return {uid: with_partners(questions) for uid, questions in by_take.items()}
