"""Absent actions, rephrasing and verification by models.

Source: CounterVQA (arXiv 2511.19923), section 2.3: two text models see the annotations, and a question is kept where
both answer it correctly. Rephrasing is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from lmms_eval_tasks.countervqa.construction.absent import SAME, AbsentAction, AbsentIdeas, same_words
from lmms_eval_tasks.countervqa.construction.annotations import Take
from lmms_eval_tasks.countervqa.construction.steps import OpenModel, Steps, make_case
from lmms_eval_tasks.countervqa.released import CounterfactualQuestion
from lmms_eval_tasks.utils.graphs.encoders import SentenceEncoder, encode_texts
from lmms_eval_tasks.utils.pipeline.replies import Form

LONGEST = 400
"""Characters of an action or question in a model's words."""
WRONG = "a verifying model answered otherwise"
FAILED = "a verifying model gave no usable answer"


class ProposedAction(Form):
    """An action that might have happened, and the id of one that might seem to depend on it, if there is one."""

    text: str
    outcome: str | None


class Proposal(Form):
    """The reply of the model that is asked for the main goal and for absent actions."""

    goal: str
    reached: bool
    actions: list[ProposedAction]


class RephrasedQuestion(Form):
    """A question in other words."""

    question: str


class VerifyingAnswer(Form):
    """A text model's answer to a question."""

    reason: str
    answer: Literal["yes", "no"]


def propose_absent(
    takes: Sequence[Take], number: int, encoder: SentenceEncoder, open_model: OpenModel, steps: Steps
) -> dict[str, AbsentIdeas]:
    """Main goal and absent actions of each take by a model, checked: none that the take has, in these or in like words.

    A goal that the annotations name is shown to the model and stays. A take has none where the model finds that its
    actions do not reach it.

    Args:
        takes: The takes.
        number: How many actions to ask for, for each take.
        encoder: Tells like words.
        open_model: Gives what asks the model.
        steps: Keeps a row of every step.

    Returns:
        Take to what questions of level 3 are made of; nothing where the model gave nothing to be used.
    """
    cases = [partial(make_case, "countervqa_absent", take, goal=take.goal, number_of_actions=number) for take in takes]
    verdicts = steps.ask("absent", open_model(Proposal), [(take, "absent actions") for take in takes], cases)
    proposed = {}
    for place, (take, verdict) in enumerate(zip(takes, verdicts, strict=True)):
        if verdict.reply is None:
            proposed[take.uid] = AbsentIdeas()
            continue
        goal, faults = _goal_in(take, verdict.reply)
        actions, unusable = _absent_in(take, verdict.reply.actions, encoder)
        proposed[take.uid] = AbsentIdeas(goal, actions)
        if faults or unusable:
            steps.note(place, f"unusable: {'; '.join([*faults, *unusable])}")
    return proposed


def _goal_in(take: Take, proposal: Proposal) -> tuple[str, list[str]]:
    """The main goal of a take, empty where it cannot be asked about, and why."""
    goal = take.goal or " ".join(proposal.goal.split())
    if not same_words(goal) or len(goal) > LONGEST or not goal.isprintable():
        return "", ["the goal is none"]
    return (goal, []) if proposal.reached else ("", ["the goal is not reached"])


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


def rephrase(
    questions: Mapping[str, Sequence[CounterfactualQuestion]],
    takes: Mapping[str, Take],
    open_model: OpenModel,
    steps: Steps,
) -> dict[str, list[CounterfactualQuestion]]:
    """Questions in a model's words; one that it does not put into a usable question stays as it is."""
    asked = [(takes[uid], question) for uid, here in questions.items() for question in here]
    cases = [partial(make_case, "countervqa_rephrase", None, question=question.question) for _, question in asked]
    about = [(take, question.id) for take, question in asked]
    verdicts = steps.ask("rephrase", open_model(RephrasedQuestion), about, cases)
    changed: dict[str, list[CounterfactualQuestion]] = {uid: [] for uid in questions}
    for place, ((take, question), verdict) in enumerate(zip(asked, verdicts, strict=True)):
        text = " ".join(verdict.reply.question.split()) if verdict.reply else ""
        usable = bool(text) and text.endswith("?") and len(text) <= 2 * LONGEST and text.isprintable()
        if verdict.reply and not usable:
            steps.note(place, "no question")
        changed[take.uid].append(question.model_copy(update={"question": text}) if usable else question)
    return changed


def verify(
    questions: Mapping[str, Sequence[CounterfactualQuestion]],
    takes: Mapping[str, Take],
    models: Sequence[tuple[str, OpenModel]],
    steps: Steps,
) -> dict[str, str]:
    """Have every model answer every question from the annotations alone.

    Args:
        questions: Take to its questions.
        takes: Name to take.
        models: Name of each model, and what asks it.
        steps: Keeps a row of every step.

    Returns:
        Id of each question that not all of them answer correctly to the reason.
    """
    asked = [(takes[uid], question) for uid, here in questions.items() for question in here]
    cases = [
        partial(make_case, "countervqa_verification", take, question=question.question) for take, question in asked
    ]
    rejected: dict[str, str] = {}
    for name, open_model in models:
        about = [(take, question.id) for take, question in asked]
        verdicts = steps.ask(f"verifying model {name}", open_model(VerifyingAnswer), about, cases)
        for (_, question), verdict in zip(asked, verdicts, strict=True):
            if verdict.reply is None:
                rejected.setdefault(question.id, FAILED)
            elif verdict.reply.answer != question.verdict:
                rejected.setdefault(question.id, WRONG)
    return rejected
