"""Steps from takes with causal links to candidate questions, and the naive baseline without a graph.

Source: CounterVQA (arXiv 2511.19923), appendix C.3, which compares questions that a model writes from the
annotations alone with those from causal graphs. The wording is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lmms_eval_tasks.construct.countervqa.graphs import (
    GraphMeasures,
    adjacent_noncausal_density,
    causal_depth,
    mean_outlier_scores,
)
from lmms_eval_tasks.construct.countervqa.questions import ReachableGraph, make_questions
from lmms_eval_tasks.construct.countervqa.rows import (
    PAPER_COUNTS,
    CounterVqaConfig,
    LinkedTake,
    MeasuredTake,
    TakeQuestion,
)
from lmms_eval_tasks.construct.countervqa.takes import Take, interaction_of
from lmms_eval_tasks.construct.countervqa.verification import LONGEST
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Remove, Removed, step
from lmms_eval_tasks.countervqa.release import CounterfactualQuestion, Level, Verdict, question_faults


@step("measures")
def measure_graphs(rows: Sequence[LinkedTake], remove: Remove, config: CounterVqaConfig) -> list[MeasuredTake]:
    """Measure the graph of every take; an outlier score is among all annotated takes of a task, also without links."""
    source = config.source
    texts = {take.uid: [action.text for action in take.actions] for take in source.takes}
    outliers = mean_outlier_scores(texts, {take.uid: take.task for take in source.takes}, source.encoded)
    measured = []
    for row in rows:
        graph = row.graph
        measures = GraphMeasures(adjacent_noncausal_density(graph), causal_depth(graph.links), outliers[row.id])
        measured.append(MeasuredTake(**dict(row), measures=measures))
    return measured


@step(
    "filters",
    section="A.1",
    passes=PAPER_COUNTS["clips that pass the filters"] / PAPER_COUNTS["annotated clips"],
)
def filter_graphs(row: MeasuredTake, asking: Asking, config: CounterVqaConfig) -> MeasuredTake:
    """Leave out a take whose graph fails a filter."""
    if failed := row.measures.failed(config.thresholds):
        raise Removed(failed[0])
    return row


@step("candidate questions", section="A.1")
def write_candidates(row: MeasuredTake, asking: Asking, config: CounterVqaConfig) -> list[TakeQuestion]:
    """Make the questions about a take, without partners."""
    graph = ReachableGraph(row.graph, row.links.unlinked)
    never = row.ideas or config.source.absent.find(row.take, config.candidates)
    made = make_questions(row.take, graph, never, config.candidates, config.own_rules, config.seed)
    if not made:
        raise Removed("no question")
    return [TakeQuestion(id=one.id, take=row.take, question=one) for one in made]


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


@step("questions", asks=(NAIVE,), section="C.3")
def write_naive(row: MeasuredTake, asking: Asking, config: CounterVqaConfig) -> list[TakeQuestion]:
    """Have a model write questions about a take, given its actions and no links."""
    number = config.candidates
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
        values = one.model_dump(exclude={"level", "answer"})
        texts = {name: " ".join(value.split()) for name, value in values.items() if value is not None}
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
