"""Checks of questions by models: absent actions, rephrasing, verification, and a filter of those solved from frames.

Source: CounterVQA (arXiv 2511.19923), section 2.3: two text models see the annotations, and a question is kept where
both answer it correctly. Appendix D: questions that simpler vision-language models solve are dropped; which models,
how many, and their view of a clip is not said there, and here a question goes where all that are named are right.
Rephrasing is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from lmms_eval_tasks.construct.countervqa.questions import SAME, AbsentAction, AbsentIdeas, same_words
from lmms_eval_tasks.construct.countervqa.rows import PAPER_COUNTS, CounterVqaConfig, MeasuredTake, TakeQuestion
from lmms_eval_tasks.construct.countervqa.takes import Take
from lmms_eval_tasks.construct.engine.encoders import SentenceEncoder, encode_texts
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Removed, step
from lmms_eval_tasks.utils.core.text import clock
from lmms_eval_tasks.utils.data.release import UnreadableClip

LONGEST = 400
"""Characters of an action or question in a model's words."""
KEPT = PAPER_COUNTS["questions kept"] / PAPER_COUNTS["candidate questions"]
ABSENT, REPHRASE = "absent", "rephrase"
SOLVING = "countervqa_solving"


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
    """A model's answer to a question."""

    reason: str
    answer: Literal["yes", "no"]


@step("absent actions", asks=(ABSENT,))
def imagine_absent(row: MeasuredTake, asking: Asking, config: CounterVqaConfig) -> MeasuredTake:
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
    section="2.3",
    passes=KEPT,
)
def verify_question(row: TakeQuestion, asking: Asking, config: CounterVqaConfig) -> TakeQuestion:
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


@step("simpler models", section="D")
def leave_out_solved(row: TakeQuestion, asking: Asking, config: CounterVqaConfig, read: ReadFrames) -> TakeQuestion:
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
