"""Candidate questions and their partners from takes with causal links, and the naive baseline without a graph.

Source: CounterVQA (arXiv 2511.19923), appendix C.3, which compares questions that a model writes from the
annotations alone with those from causal graphs. The wording is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lmms_eval_tasks.construct.countervqa.graphs import (
    GraphMeasures,
    Thresholds,
    adjacent_noncausal_density,
    causal_depth,
    mean_outlier_scores,
)
from lmms_eval_tasks.construct.countervqa.questions import AbsentActions, ReachableGraph, make_questions, with_partners
from lmms_eval_tasks.construct.countervqa.rows import ImaginedTake, LinkedTake, MeasuredTake, TakeQuestion
from lmms_eval_tasks.construct.countervqa.takes import Take, interaction_of
from lmms_eval_tasks.construct.countervqa.verification import LONGEST
from lmms_eval_tasks.construct.engine.encoders import EncodedTexts, SentenceEncoder, encode_texts
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Removed, RowStep, SetStep
from lmms_eval_tasks.countervqa.release import CounterfactualQuestion, Level, Verdict, question_faults
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


NAIVE = "naive"


class NaiveQuestion(Form):
    """A question in a model's words, and the ids of the actions that it is about."""

    level: Level
    question: str
    answer: Verdict
    explanation: str
    action: str | None = None
    absent_action: str | None = None
    outcome: str | None = None
    goal: str | None = None


class NaiveQuestions(Form):
    """The reply of the model that writes questions."""

    questions: list[NaiveQuestion]


class WriteNaive(RowStep[MeasuredTake, TakeQuestion]):
    """Has a model write questions about each take, given its actions and no links."""

    name = "questions"
    takes, gives = MeasuredTake, TakeQuestion
    roles = (NAIVE,)

    def __init__(self, number: int) -> None:
        self._number = number

    def run(self, row: MeasuredTake, asking: Asking) -> Sequence[TakeQuestion]:
        """The questions about one take that a set can hold."""
        number = self._number
        reply = asking.ask(NAIVE, "countervqa_naive", NaiveQuestions, **row.shown(), questions_a_level=number)
        questions, unusable = _usable(row.take, reply.questions, number)
        if unusable:
            asking.note(f"unusable: {'; '.join(unusable)}")
        if not questions:
            raise Removed("no question that can be used")
        return [TakeQuestion(id=one.id, take=row.take, question=one) for one in questions]


def _usable(
    take: Take, replied: Sequence[NaiveQuestion], number: int
) -> tuple[list[CounterfactualQuestion], list[str]]:
    """The questions that a set can hold, and why it cannot hold the others."""
    ids = {None, *(action.id for action in take.actions)}
    interaction, _ = interaction_of(take)
    questions: list[CounterfactualQuestion] = []
    unusable = []
    levels = Counter[Level]()
    for place, one in enumerate(replied, start=1):
        values = one.model_dump()
        texts = {name: " ".join(value.split()) for name, value in values.items() if isinstance(value, str)}
        if not all(map(str.isprintable, texts.values())):
            unusable.append(f"{place} (characters)")
            continue
        question = CounterfactualQuestion(
            id=f"{take.uid}-L{one.level}-{levels[one.level] + 1:02d}",
            clip=take.clip,
            level=one.level,
            interaction=interaction,
            question=texts["question"],
            verdict=one.answer,
            explanation=texts["explanation"],
            action=texts.get("action") or None,
            absent_action=texts.get("absent_action") or None,
            outcome=texts.get("outcome") or None,
            goal=texts.get("goal") or None,
        )
        faults = [field for field, _ in question_faults(question, None)]
        faults += [name for name in ("action", "outcome") if getattr(question, name) not in ids]
        faults += ["goal"] if one.level == 3 and question.outcome is None and not question.goal else []
        faults += ["length"] if len(question.question) > 2 * LONGEST else []
        if faults:
            unusable.append(f"{place} ({', '.join(dict.fromkeys(faults))})")
        elif levels[one.level] == number:
            unusable.append(f"{place} is one too many")
        else:
            levels[one.level] += 1
            questions.append(question)
    return questions, unusable
