"""Answers questions about the sample's clips from decoded pixels, and from nothing else."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from lmms_eval_tasks.sample import solve as package
from lmms_eval_tasks.sample.declared import declared
from lmms_eval_tasks.sample.solve.measure import NotShown
from lmms_eval_tasks.sample.solve.rule import SolverRule
from lmms_eval_tasks.sample.world.vision import decode, observe

CANNOT_TELL = "I cannot tell from this clip."


def solve(question: str, options: Sequence[str], clip: Path, *, reverse: bool = False) -> str:
    """Answer a question about a clip, in the form that the benchmark of such questions takes.

    Objects are segmented and tracked in the clip's frames; what did not happen is worked out with the sample world's
    mechanics from what was seen. Neither the clip's name nor any other file is used.

    Args:
        question: text of the question.
        options: texts of the options; the first is A.
        clip: video file.
        reverse: watch the clip backwards.

    Returns:
        A letter, or JSON with evidence where a question about a chain of events asks for it; or a sentence that it
        cannot tell: the clip does not show what the question needs, or the sample asks no such question.

    Raises:
        decord.DECORDError: the clip cannot be read.
    """
    for rule in _rules():
        if rule.pattern.search(question):
            frames, fps = decode(clip)
            try:
                return rule.respond(observe(frames[::-1] if reverse else frames, fps), question, options)
            except (NotShown, ValueError):
                return CANNOT_TELL
    return CANNOT_TELL


@cache
def _rules() -> tuple[SolverRule, ...]:
    """The rules of all modules of this package."""
    return tuple(rule for rules in declared(package, "RULES", tuple).values() for rule in rules)
