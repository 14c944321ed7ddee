"""Answers questions of the sample world from decoded pixels, and from nothing else."""

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

from lmms_eval_tasks.sample import solve_bins, solve_pairs, solve_table
from lmms_eval_tasks.sample.seeing import Unseen
from lmms_eval_tasks.sample.vision import View, decode, look_at

CANNOT_TELL = "I cannot tell from this clip."

_RULES = (*solve_bins.RULES, *solve_table.RULES, *solve_pairs.RULES)


def solve(question: str, options: Sequence[str], clip: Path, *, reverse: bool = False) -> str:
    """Answer a question about a clip with the letter of an option.

    Objects are segmented and tracked in the clip's frames; what did not happen is worked out with the sample world's
    mechanics from what was seen. Neither the clip's name nor any other file is used.

    Args:
        question: text of the question.
        options: texts of the options; the first is A.
        clip: video file.
        reverse: watch the clip backwards.

    Returns:
        A letter, or a sentence that it cannot tell: the clip does not show what the question needs, or the question
        is none of the sample world's.

    Raises:
        decord.DECORDError: the clip cannot be read.
    """
    for pattern, rule in _RULES:
        if pattern.search(question):
            try:
                return ascii_uppercase[rule(watch(clip, reverse=reverse), question, options)]
            except (Unseen, ValueError):
                return CANNOT_TELL
    return CANNOT_TELL


def watch(clip: Path, *, reverse: bool = False) -> View:
    """What is to be seen in a clip, forwards or backwards."""
    frames, fps = decode(clip)
    return look_at(frames[::-1] if reverse else frames, fps)
