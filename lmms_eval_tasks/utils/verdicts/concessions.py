"""What an answer only concedes: "no, although it might have", "we cannot know, but it very likely would"."""

from __future__ import annotations

from lmms_eval_tasks.utils.verdicts import words
from lmms_eval_tasks.utils.verdicts.sentences import Sentence
from lmms_eval_tasks.utils.verdicts.statements import UNCLEAR, Assertion

_REACH = 14
_WEAK = frozenset({"might", "may"})
_CONTRAST = frozenset({"but", "however", "though", "yet"})
_ENDS = frozenset({";", ":", "but"})


def is_conceded(sentence: Sentence, at: int) -> bool:
    """Whether a verb stands in a concession that something else is said beside."""
    if sentence.word(at) in _WEAK and "but" in sentence.words[at : at + _REACH]:
        # "She may not have been allowed to, but she probably would have."
        return bool((words.MODAL - _WEAK) & {*sentence.words[at : at + 2 * _REACH]})
    if not words.CONCESSION & sentence.known:
        return False
    start = max(0, at - _REACH)
    before = sentence.words[start:at]
    place = max((step for step, word in enumerate(before) if word in words.CONCESSION), default=-1)
    ends = _ENDS | ({","} if start + place <= 1 else frozenset())
    return place >= 0 and not ends & {*before[place:]}


def gives_up(sentence: Sentence) -> bool:
    """Whether the sentence says that there is no telling, and neither concedes that nor goes on to tell."""
    if sentence.word(0) == "whether" and {"depends", "depend"} & sentence.known:
        return True
    hedges = list(words.PHRASES["unclear"].finditer(sentence.text))
    if not hedges:
        return False
    text = f" {sentence.text} "
    contrast = max(text.rfind(f" {word} ") for word in _CONTRAST)
    conceded = min((at for word in words.CONCESSION if (at := text.find(f" {word} ")) >= 0), default=len(text))
    return any(contrast < hedge.end() and hedge.start() < conceded for hedge in hedges)


def without_concession(statements: list[Assertion], sentence: Sentence) -> list[Assertion]:
    """The statements of a sentence without the doubt that it leaves behind: "I cannot be sure, but it would"."""
    turns = (_CONTRAST | words.CONCESSION) & sentence.known
    decided = [one for one in statements if one.pole != UNCLEAR]
    return decided if turns and decided and statements[-1].pole != UNCLEAR else statements
