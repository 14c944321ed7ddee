"""Steps from takes to questions: causal links, graphs that pass the filters, questions, and checks by models.

Source: CounterVQA (arXiv 2511.19923). The wording is ours.

- Links are given, or by a model in four roles (2.3 and A.1): an observer is confident of each pair of actions to some
  degree, and the fifth of a clip's pairs of which it is most confident go on; a verifier makes a counterfactual test,
  by abduction first, and a back-door test; a critic objects; a synthesizer decides, by what both say and how sure
  each is.
- The naive baseline (C.3) has a model write questions from the annotations alone.
- Verification (2.3): two text models see the annotations, and a question is kept where both answer it correctly.
- Questions that simpler vision-language models solve are dropped (D); which models, how many, and their view of a
  clip is not said there, and here a question goes where all that are named are right. Rephrasing is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import Literal

from lmms_eval_tasks.construct.countervqa.graphs import (
    GraphMeasures,
    Pair,
    TakeLinks,
    adjacent_noncausal_density,
    causal_depth,
    causal_graph,
    mean_outlier_scores,
)
from lmms_eval_tasks.construct.countervqa.questions import (
    SAME,
    AbsentAction,
    AbsentIdeas,
    RuledGraph,
    make_questions,
    same_words,
)
from lmms_eval_tasks.construct.countervqa.rows import (
    PAPER_COUNTS,
    ChosenPairs,
    Confidence,
    CounterVqaConfig,
    Criticism,
    LinkedTake,
    LinkTest,
    MeasuredTake,
    TakeQuestion,
    TakeRow,
)
from lmms_eval_tasks.construct.countervqa.takes import Take, interaction_of
from lmms_eval_tasks.construct.engine.encoders import SentenceEncoder, encode_texts
from lmms_eval_tasks.construct.engine.steps import Asking, Form, Remove, Removed, step
from lmms_eval_tasks.countervqa.release import CounterfactualQuestion, Level, Verdict, question_faults
from lmms_eval_tasks.utils.core.text import clock
from lmms_eval_tasks.utils.data.release import UnreadableClip

PAIRS_A_REQUEST = 40
OBSERVER, VERIFIER, CRITIC, SYNTHESIZER = "observer", "verifier", "critic", "synthesizer"


class PairConfidence(Form):
    pair: int
    confidence: Confidence


class Confidences(Form):
    confidences: list[PairConfidence]


class LinkDecision(Form):
    reason: str
    causal: bool


@step("given links")
def take_given_links(row: TakeRow, asking: Asking, *, config: CounterVqaConfig) -> LinkedTake:
    links = (config.source.links or {}).get(row.id)
    if links is None:
        raise Removed("no links")
    return LinkedTake(id=row.id, take=row.take, links=links)


@step(OBSERVER, asks=(OBSERVER,))
def choose_pairs(row: TakeRow, asking: Asking, *, config: CounterVqaConfig) -> ChosenPairs:
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
    chosen, cut = (tuple(pair for pair in sure if (pair in surest) == on) for on in (True, False))
    return ChosenPairs(id=row.id, take=row.take, pairs=chosen, cut=cut, seen=len(pairs))


@step("judged pairs", asks=(VERIFIER, CRITIC, SYNTHESIZER))
def judge_pairs(row: ChosenPairs, asking: Asking, *, config: CounterVqaConfig) -> LinkedTake:
    """Have each pair tested by the verifier, the test criticised by the critic, and both weighed by the synthesizer.

    A pair that the observer cut is no link, as in the paper; one for which a reply is missing is unknown.
    """
    of_role = config.examples.model_dump()
    examples = {role: {"examples": given} if given else {} for role, given in of_role.items()}

    def judge(pair: Pair, asking: Asking) -> bool:
        shown = {**row.shown(), "cause": pair[0], "effect": pair[1]}
        test = asking.ask(VERIFIER, "countervqa_verifier", LinkTest, **shown, **examples[VERIFIER]).model_dump()
        reply = asking.ask(CRITIC, "countervqa_critic", Criticism, **shown, test=test, **examples[CRITIC])
        criticism = reply.model_dump()
        shown |= {"test": test, "criticism": criticism}
        return asking.ask(SYNTHESIZER, "countervqa_synthesizer", LinkDecision, **shown).causal

    judged = dict(zip(row.pairs, asking.each(row.pairs, " > ".join, judge), strict=True))
    if all(causal is None for causal in judged.values()):
        raise Removed("none of its pairs was judged")
    links = tuple(pair for pair, causal in judged.items() if causal)
    unlinked = frozenset(row.cut).union(pair for pair, causal in judged.items() if causal is False)
    return LinkedTake(id=row.id, take=row.take, links=TakeLinks(links, unlinked))


@step("measures")
def measure_graphs(rows: Sequence[LinkedTake], remove: Remove, *, config: CounterVqaConfig) -> list[MeasuredTake]:
    """Measure the graph of every take with links; an outlier score is among all annotated takes of a task."""
    source = config.source
    texts = {take.uid: [action.text for action in take.actions] for take in source.takes}
    outliers = mean_outlier_scores(texts, {take.uid: take.task for take in source.takes}, source.encoded)
    measured = []
    for row in rows:
        if not row.links.links and not config.naive:
            remove(row.id, Removed("no links"))
            continue
        graph = causal_graph([action.id for action in row.take.actions], row.links.links)
        density = adjacent_noncausal_density(graph, row.links.unlinked)
        measures = GraphMeasures(density, causal_depth(graph), outliers[row.id])
        measured.append(MeasuredTake(**dict(row), measures=measures))
    return measured


@step(
    "filters",
    paper=f"{PAPER_COUNTS['clips that pass the filters']:,} of {PAPER_COUNTS['annotated clips']:,}",
    passes=PAPER_COUNTS["clips that pass the filters"] / PAPER_COUNTS["annotated clips"],
)
def filter_graphs(row: MeasuredTake, asking: Asking, *, config: CounterVqaConfig) -> MeasuredTake:
    if failed := config.failed(row.measures):
        raise Removed(failed[0])
    return row


@step("candidate questions", paper=f"{PAPER_COUNTS['candidate questions']:,}")
def write_candidates(row: MeasuredTake, asking: Asking, *, config: CounterVqaConfig) -> list[TakeQuestion]:
    graph = RuledGraph([action.id for action in row.take.actions], row.links.links, row.links.unlinked)
    never = row.ideas or config.source.absent.find(row.take, config.candidates)
    made = make_questions(row.take, graph, never, config.candidates, config.own_rules, config.seed)
    if not made:
        raise Removed("no question")
    return [TakeQuestion(id=one.id, take=row.take, links=row.links, question=one) for one in made]


@step("even verdicts")
def even_verdicts(rows: Sequence[TakeQuestion], remove: Remove) -> list[TakeQuestion]:
    """Leave as many questions with yes as with no at each level that has both: from clips with the most too many."""
    kept = {row.id: row for row in rows}
    for level in (1, 2, 3):
        by_verdict: dict[Verdict, list[TakeQuestion]] = {"yes": [], "no": []}
        for row in rows:
            if row.question.level == level:
                by_verdict[row.question.verdict].append(row)
        fewer, more = sorted(by_verdict.values(), key=len)
        too_many = Counter(row.take.uid for row in more)
        too_many.subtract(row.take.uid for row in fewer)
        last: dict[str, list[TakeQuestion]] = {}
        for row in more:
            last.setdefault(row.take.uid, []).append(row)
        for _ in range(len(more) - len(fewer) if fewer else 0):
            uid = max(last, key=lambda uid: (too_many[uid], uid))
            row = last[uid].pop()
            too_many[uid] -= 1
            if not last[uid]:
                del last[uid]
            del kept[row.id]
            remove(row.id, Removed("too many of its verdict"))
    return list(kept.values())


NAIVE = "naive"


class NaiveQuestion(Form):
    level: Level
    question: str
    answer: Verdict
    explanation: str
    action: str | None = None
    absent_action: str | None = None
    outcome: str | None = None
    goal: str | None = None


class NaiveQuestions(Form):
    questions: list[NaiveQuestion]


@step("questions", asks=(NAIVE,))
def write_naive(row: MeasuredTake, asking: Asking, *, config: CounterVqaConfig) -> list[TakeQuestion]:
    number = config.candidates
    reply = asking.ask(NAIVE, "countervqa_naive", NaiveQuestions, **row.shown(), questions_a_level=number)
    questions, unusable = _usable(row.take, reply.questions, number)
    if unusable:
        asking.note(f"unusable: {'; '.join(unusable)}")
    if not questions:
        raise Removed("no question that can be used")
    return [TakeQuestion(id=one.id, take=row.take, links=row.links, question=one) for one in questions]


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


LONGEST = 400
"""Characters of an action or question in a model's words."""
KEPT = PAPER_COUNTS["questions kept"] / PAPER_COUNTS["candidate questions"]
ABSENT, REPHRASE = "absent", "rephrase"
SOLVING = "countervqa_solving"


class ProposedAction(Form):
    text: str
    outcome: str | None


class Proposal(Form):
    goal: str
    reached: bool
    actions: list[ProposedAction]


class RephrasedQuestion(Form):
    question: str


class VerifyingAnswer(Form):
    reason: str
    answer: Literal["yes", "no"]


@step("absent actions", asks=(ABSENT,))
def imagine_absent(row: MeasuredTake, asking: Asking, *, config: CounterVqaConfig) -> MeasuredTake:
    """Ask for the main goal and absent actions of a take, and check that it has none in these or in like words."""
    shown = {**row.shown(), "goal": row.take.goal, "number_of_actions": config.candidates}
    try:
        reply = asking.ask(ABSENT, "countervqa_absent", Proposal, **shown)
    except Removed:
        return row.model_copy(update={"ideas": AbsentIdeas()})
    goal = row.take.goal or " ".join(reply.goal.split())
    faults = [] if reply.reached else ["the goal is not reached"]
    if not same_words(goal) or len(goal) > LONGEST or not goal.isprintable():
        faults = ["the goal is none"]
    with asking.heavy():
        actions, unusable = _absent_in(row.take, reply.actions, config.source.encoder)
    if faults or unusable:
        asking.note(f"unusable: {'; '.join([*faults, *unusable])}")
    return row.model_copy(update={"ideas": AbsentIdeas("" if faults else goal, actions)})


def _absent_in(
    take: Take, proposed: Sequence[ProposedAction], encoder: SentenceEncoder
) -> tuple[tuple[AbsentAction, ...], list[str]]:
    """The proposed actions that a take does not have, and why others cannot be used."""
    known = {same_words(action.text) for action in take.actions}
    ids = {None, *(action.id for action in take.actions)}
    own = [action.text for action in take.actions]
    encoded = encode_texts([*own, *(one.text for one in proposed)], encoder)
    absent: dict[str, AbsentAction] = {}
    unusable = []
    for number, one in enumerate(proposed, start=1):
        text, words = " ".join(one.text.split()), same_words(one.text)
        if not words or len(text) > LONGEST or not one.text.isprintable():
            unusable.append(f"{number} is no action")
        elif words in known or float(encoded.similarities([one.text], own).max()) >= SAME:
            unusable.append(f"{number} is an action of the video")
        elif one.outcome not in ids:
            unusable.append(f"{number} has an outcome that is none")
        elif words in absent:
            unusable.append(f"{number} is there before")
        else:
            absent[words] = AbsentAction(text, one.outcome)
    return tuple(absent.values()), unusable


@step("rephrasing", asks=(REPHRASE,))
def rephrase_question(row: TakeQuestion, asking: Asking) -> TakeQuestion:
    """Put a question into a model's words; one that it does not put into a usable question stays as it is."""
    try:
        reply = asking.ask(REPHRASE, "countervqa_rephrase", RephrasedQuestion, question=row.question.question)
    except Removed:
        return row
    text = " ".join(reply.question.split())
    if not (text.endswith("?") and len(text) <= 2 * LONGEST and text.isprintable()):
        asking.note("no question")
        return row
    return row.model_copy(update={"question": row.question.model_copy(update={"question": text})})


@step(
    "verification",
    passes=KEPT,
)
def verify_question(row: TakeQuestion, asking: Asking, *, config: CounterVqaConfig) -> TakeQuestion:
    """Leave out what not all verifying models answer correctly from the annotations alone; all are asked."""
    faults = []
    for role in config.verifiers:
        shown = {**row.shown(), "question": row.question.question}
        try:
            reply = asking.ask(role, "countervqa_verification", VerifyingAnswer, **shown)
        except Removed:
            faults.append("a verifying model gave no usable answer")
            continue
        if reply.answer != row.question.verdict:
            faults.append("a verifying model answered otherwise")
    if faults:
        raise Removed(faults[0])
    return row


ReadFrames = Callable[[Path, int], tuple[tuple[bytes, ...], list[float]]]


@step("simpler models")
def leave_out_solved(row: TakeQuestion, asking: Asking, *, config: CounterVqaConfig, read: ReadFrames) -> TakeQuestion:
    """Leave out what all models answer rightly from frames; each is asked what all before it answered rightly."""
    roles, clips = list(config.solvers), config.clips
    assert clips is not None
    try:
        with asking.heavy():
            images, seconds = read(clips / row.take.clip, config.frames)
    except (OSError, UnreadableClip):
        asking.leave_out(roles[0], SOLVING, "the clip cannot be read")
        return row
    shown = {"question": row.question.question, "frames": [clock(second) for second in seconds]}
    for role in roles:
        try:
            reply = asking.ask(role, SOLVING, VerifyingAnswer, images, **shown)
        except Removed:
            return row
        if reply.answer != row.question.verdict:
            return row
    raise Removed("simpler models solve it")
