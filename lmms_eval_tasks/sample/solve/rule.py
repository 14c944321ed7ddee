"""How a question of one wording is answered from what a clip shows."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from lmms_eval_tasks.sample.world.vision import Observation


@dataclass(frozen=True)
class SolverRule:
    """A kind of question and how to respond to it. A module of `sample.solve` declares a tuple of them as `RULES`.

    Attributes:
        pattern: found in every question of the kind, and in no other.
        respond: called with what the clip shows, the question and the options; gives the response, or raises
            NotShown where the clip does not show what the question needs.
    """

    pattern: re.Pattern[str]
    respond: Callable[[Observation, str, Sequence[str]], str]


def choice_rule(pattern: str, choose: Callable[[Observation, str, Sequence[str]], int]) -> SolverRule:
    """A rule that responds with the letter of the option at the position (from 0) that `choose` gives."""
    return SolverRule(re.compile(pattern), lambda *asked: ascii_uppercase[choose(*asked)])
