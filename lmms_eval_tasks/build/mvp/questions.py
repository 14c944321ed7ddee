"""Question and candidates: the source's own, or a model's from two annotations; checked by rules and by a model."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Forecast, PaperCount, Removed, RowStep
from lmms_eval_tasks.build.engine.texts import bare_words, holds_text, is_marked
from lmms_eval_tasks.build.mvp.config import MvpBuildConfig
from lmms_eval_tasks.build.mvp.rows import AskedClip, OpposedClip

WRITER, CHECKER = "question", "exclusion"
"""Roles of the models that write questions, and that check whether two candidates exclude each other."""
LONGEST = 400
"""Characters of a question or candidate."""
GIVEN_AWAY = "the question gives a candidate away"


class PairQuestion(Form):
    """A question about either clip; the candidate of the first description, and that of the second."""

    question: str
    first: str
    second: str


class CheckedCandidates(Form):
    """Faults of a question and its candidates."""

    same_meaning: bool
    both_can_hold: bool
    gives_away: bool


class WritePairQuestions(RowStep[OpposedClip, AskedClip]):
    """Gives each clip a question and two candidates."""

    name = "question and candidates"
    takes = OpposedClip
    gives = AskedClip
    roles = (WRITER,)
    paper = PaperCount("548K examples", "3")
    forecast = Forecast(requests=1.2, characters=1800, reply_tokens=80)

    def __init__(self, config: MvpBuildConfig) -> None:
        self._tries = config.tries

    def run(self, row: OpposedClip, asking: Asking) -> Sequence[AskedClip]:
        """Write the question of one clip and contrast."""
        texts = sorted((row.answer, row.other))
        if row.question:
            question, candidates = row.question, (texts[0], texts[1])
            if objection := objection_to(question, candidates):
                raise Removed(objection)
        else:
            question, candidates = self._write(texts, asking)
        return [
            AskedClip(
                id=row.id,
                clip=row.clip,
                source=row.source,
                category=row.category,
                skill=row.skill,
                question=question,
                candidates=candidates,
                answer=candidates[texts.index(row.answer)],
            )
        ]

    def _write(self, texts: Sequence[str], asking: Asking) -> tuple[str, tuple[str, str]]:
        refused: list[dict[str, str]] = []
        for _ in range(self._tries):
            reply = asking.ask(WRITER, "mvp_question", PairQuestion, first=texts[0], second=texts[1], refused=refused)
            question, candidates = reply.question.strip(), (reply.first.strip(), reply.second.strip())
            objection = objection_to(question, candidates)
            if not objection and not question.endswith("?"):
                objection = "no question"
            if not objection:
                return question, candidates
            refused = [*refused, {**reply.model_dump(), "objection": objection}]
        raise Removed(objection, f"{question} {' | '.join(candidates)}")


class CheckCandidates(RowStep[AskedClip, AskedClip]):
    """Has a model say whether the candidates exclude each other and the question leaves both open."""

    name = "candidates exclude each other"
    takes = AskedClip
    gives = AskedClip
    roles = (CHECKER,)
    forecast = Forecast(requests=1.0, characters=1500, reply_tokens=40, rows=0.9)

    def run(self, row: AskedClip, asking: Asking) -> Sequence[AskedClip]:
        """Check one question; which candidate is right is not shown."""
        first, second = row.candidates
        reply = asking.ask(
            CHECKER, "mvp_exclusion", CheckedCandidates, question=row.question, first=first, second=second
        )
        if reply.same_meaning:
            raise Removed("candidates of one meaning", f"{first} | {second}")
        if reply.both_can_hold:
            raise Removed("candidates do not exclude each other", f"{first} | {second}")
        if reply.gives_away:
            raise Removed(GIVEN_AWAY, row.question)
        return [row]


def objection_to(question: str, candidates: tuple[str, str]) -> str:
    """Return the fault that rules find in a question and its candidates, empty if they find none."""
    texts = (question, *candidates)
    if not all(bare_words(text) and text.isprintable() and len(text) <= LONGEST for text in texts):
        return "a text that is empty, too long or not printable"
    if bare_words(candidates[0]) == bare_words(candidates[1]):
        return "equal candidates"
    if any(map(is_marked, candidates)):
        return "a candidate says which it is"
    first, second = candidates
    return GIVEN_AWAY if _names(question, first, second) != _names(question, second, first) else ""


def _names(question: str, candidate: str, other: str) -> bool:
    own = set(bare_words(candidate)) - set(bare_words(other))
    return holds_text(question, candidate) or (bool(own) and own <= set(bare_words(question)))
