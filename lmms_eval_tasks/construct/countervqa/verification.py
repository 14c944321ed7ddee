"""Checks of questions by models: absent actions, rephrasing, verification, and a filter of those solved from frames.

Source: CounterVQA (arXiv 2511.19923), section 2.3: two text models see the annotations, and a question is kept where
both answer it correctly. Appendix D: questions that simpler vision-language models solve are dropped; which models,
how many, and their view of a clip is not said there, and here a question goes where all that are named are right.
Rephrasing is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from lmms_eval_tasks.construct.countervqa.questions import SAME, AbsentAction, AbsentIdeas, same_words
from lmms_eval_tasks.construct.countervqa.rows import ImaginedTake, MeasuredTake, TakeQuestion
from lmms_eval_tasks.construct.countervqa.takes import Take
from lmms_eval_tasks.construct.engine.encoders import SentenceEncoder, encode_texts
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Removed, RowStep
from lmms_eval_tasks.countervqa.hooks import clock
from lmms_eval_tasks.utils.data.frames import clip_frames
from lmms_eval_tasks.utils.data.release import UnreadableClip

LONGEST = 400
"""Characters of an action or question in a model's words."""
ABSENT, REPHRASE = "absent", "rephrase"
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


class ImagineAbsent(RowStep[MeasuredTake, ImaginedTake]):
    """Asks for the main goal and absent actions of each take, and checks that it has none in these or in like words."""

    name = "absent actions"
    takes, gives = MeasuredTake, ImaginedTake
    roles = (ABSENT,)

    def __init__(self, number: int, encoder: SentenceEncoder) -> None:
        self._number, self._encoder = number, encoder

    def run(self, row: MeasuredTake, asking: Asking) -> Sequence[ImaginedTake]:
        """Ask about one take."""
        return [ImaginedTake(**dict(row), ideas=self._ideas(row, asking))]

    def _ideas(self, row: MeasuredTake, asking: Asking) -> AbsentIdeas:
        shown = {**row.shown(), "goal": row.take.goal, "number_of_actions": self._number}
        try:
            reply = asking.ask(ABSENT, "countervqa_absent", Proposal, **shown)
        except Removed:
            return AbsentIdeas()
        goal, faults = _goal_in(row.take, reply)
        with asking.heavy():
            actions, unusable = _absent_in(row.take, reply.actions, self._encoder)
        if faults or unusable:
            asking.note(f"unusable: {'; '.join([*faults, *unusable])}")
        return AbsentIdeas(goal, actions)


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


class RephraseQuestions(RowStep[TakeQuestion, TakeQuestion]):
    """Puts questions into a model's words; one that it does not put into a usable question stays as it is."""

    name = "rephrasing"
    takes = gives = TakeQuestion
    roles = (REPHRASE,)

    def run(self, row: TakeQuestion, asking: Asking) -> Sequence[TakeQuestion]:
        """Rephrase one question."""
        try:
            reply = asking.ask(REPHRASE, "countervqa_rephrase", RephrasedQuestion, question=row.question.question)
        except Removed:
            return [row]
        text = " ".join(reply.question.split())
        if not (text.endswith("?") and len(text) <= 2 * LONGEST and text.isprintable()):
            asking.note("no question")
            return [row]
        return [row.model_copy(update={"question": row.question.model_copy(update={"question": text})})]


class VerifyQuestions(RowStep[TakeQuestion, TakeQuestion]):
    """Leaves out what not all verifying models answer correctly from the annotations alone; each is asked each."""

    name = "verification"
    takes = gives = TakeQuestion

    def __init__(self, roles: Sequence[str]) -> None:
        self.roles = tuple(roles)

    def run(self, row: TakeQuestion, asking: Asking) -> Sequence[TakeQuestion]:
        """Have all models answer one question."""
        faults = []
        for role in self.roles:
            shown = {**row.shown(), "question": row.question.question}
            try:
                reply = asking.ask(role, "countervqa_verification", VerifyingAnswer, **shown)
            except Removed:
                faults.append(FAILED)
                continue
            if reply.answer != row.question.verdict:
                faults.append(WRONG)
        if faults:
            raise Removed(faults[0])
        return [row]


SOLVED = "simpler models solve it"
NO_CLIP = "the clip cannot be read"
PROMPT = "countervqa_solving"
CLIPS_AT_ONCE = 8
"""Whose frames are in memory: the questions about a clip follow each other."""

ReadFrames = Callable[[Path, int], tuple[tuple[bytes, ...], list[float]]]


class LeaveOutSolved(RowStep[TakeQuestion, TakeQuestion]):
    """Leaves out what all models answer rightly from frames; each is asked what all before it answered rightly."""

    name = "simpler models"
    takes = gives = TakeQuestion

    def __init__(self, roles: Sequence[str], clips: Path, frames: int) -> None:
        self.roles = tuple(roles)
        self._clips, self._frames = clips, frames
        self._read: ReadFrames = lru_cache(maxsize=CLIPS_AT_ONCE)(clip_frames)

    def run(self, row: TakeQuestion, asking: Asking) -> Sequence[TakeQuestion]:
        """Have the models answer one question."""
        try:
            with asking.heavy():
                images, seconds = self._read(self._clips / row.take.clip, self._frames)
        except (OSError, UnreadableClip):
            asking.leave_out(self.roles[0], PROMPT, NO_CLIP)
            return [row]
        shown = {"question": row.question.question, "frames": [clock(second) for second in seconds]}
        for role in self.roles:
            try:
                reply = asking.ask(role, PROMPT, VerifyingAnswer, images, **shown)
            except Removed:
                return [row]
            if reply.answer != row.question.verdict:
                return [row]
        raise Removed(SOLVED)
