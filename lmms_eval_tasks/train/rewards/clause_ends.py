"""Cause and effect that stand in one clause, or in two beside each other."""

from __future__ import annotations

from lmms_eval_tasks.train.rewards.clause import LINKING, Clause
from lmms_eval_tasks.train.rewards.mentions import ActionFinder
from lmms_eval_tasks.train.rewards.words import MUST, OPENS_SUBJECT

_IS = frozenset({"is", "was", "are", "were"})
_MOST, _TRIES = 40, 6
"""Words of a clause in which the start of its effect is looked for, and how many such starts are tried."""
Ends = tuple[frozenset[int], frozenset[int]]
"""The actions that are the cause, and those that are the effect."""


def states_a_link(clause: Clause, following: list[Clause]) -> bool:
    """Whether a clause is one end of a link, and the next clause the other."""
    return bool(following) and set(following[0].joints) <= LINKING and bool(clause.places)


def is_cleft(clause: Clause, previous: Clause) -> bool:
    """Whether a clause has both ends of "what caused B was A"."""
    names = clause.names_cause and not previous.mention.says_something and not _IS.isdisjoint(clause.words)
    return names or previous.words == ["what"]


def cleft_ends(words: list[str], finder: ActionFinder) -> Ends:
    """The ends of "… B was A", behind "what caused"; either may be empty."""
    at = next((at for at, word in enumerate(words) if word in _IS), len(words))
    return finder.find(words[at + 1 :]).places, finder.find(words[:at]).places


def needed_ends(words: list[str], finder: ActionFinder) -> Ends | None:
    """The ends of "A has to be done to do B", parted by the last "to"; None where one is missing."""
    must = next((at for at, word in enumerate(words) if word in MUST), -1)
    at = next((at for at in range(len(words) - 1, must + 1, -1) if words[at] == "to"), None)
    return _two(words, at, finder) if at is not None else None


def parted_ends(words: list[str], finder: ActionFinder) -> Ends | None:
    """The ends where nothing parts them but the subject of the effect: "thanks to the pass the forward scores"."""
    starts = [at for at, word in enumerate(words[:_MOST]) if word in OPENS_SUBJECT and at > 0][:_TRIES]
    return next((ends for at in starts if (ends := _two(words, at, finder))), None)


def _two(words: list[str], at: int, finder: ActionFinder) -> Ends | None:
    first, second = finder.find(words[:at]).places, finder.find(words[at:]).places
    return (first, second) if first and second and first.isdisjoint(second) else None
