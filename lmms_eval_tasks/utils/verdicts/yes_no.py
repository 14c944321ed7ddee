"""Yes and no as words of an answer: behind a label, at the start of a sentence, as what is said or concluded."""

from __future__ import annotations

import re

from lmms_eval_tasks.utils.verdicts.sentences import CHOICE, Sentence
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, YES, Assertion, Force
from lmms_eval_tasks.utils.verdicts.vocabulary import PHRASES, any_of

_MARK = r"(?<![^ ])[^\w\s]{1,2}(?![^ ])"
_TURN = r"(?P<turn>(?:not|never) )?"
_YES, _NO = r"y+e+s+\b(?: yes)*", r"n+o+\b(?: no)*"
_WORD = rf"{_TURN}(?:(?P<yes>{any_of('yes')}|{_YES})|(?P<no>{any_of('no')}|{_NO}))"
_ALONE = (
    rf"{_TURN}(?:(?P<yes>{any_of('yes', 'yes_alone')}|{_YES})|(?P<no>{any_of('no', 'no_alone')}|{_NO}|(?<= )not\b))"
)
_ENDS = rf"(?= (?![-/]){_MARK}|$)"
_FILLER = rf"(?:{any_of('label_filler', 'label')}|{_MARK})"
_LABELLED = re.compile(rf"(?:{any_of('label')}|{CHOICE})(?: {_FILLER}){{1,12}} {_WORD}(?! {any_of('effect_noun')})")
_OPENING = re.compile(
    rf"(?:(?:{any_of('lead_filler')}|{_MARK}|\d+) ){{0,14}}?{_ALONE}{_ENDS}(?!(?: {_MARK})*? {any_of('revise')})"
)
_SAID = re.compile(
    rf"(?:{any_of('say', 'conclude', 'revise')}(?: {any_of('label_filler')}){{0,3}}|{_MARK}|\bbut) {_WORD}{_ENDS}"
)


def read_yes_no(sentence: Sentence) -> Assertion | None:
    """The yes or no of a sentence by its words alone; None where it has none."""
    if labelled := _LABELLED.search(sentence.text):
        return Assertion(_verdict(labelled), Force.LABEL)
    if opening := _OPENING.match(sentence.text):
        return Assertion(_verdict(opening), Force.WORD)
    for verdict, role in ((YES, "yes_phrase"), (NO, "no_phrase")):
        if PHRASES[role].fullmatch(sentence.plain):
            return Assertion(verdict, Force.WORD)
    if not sentence.asks and (said := _SAID.search(sentence.text)):
        return Assertion(_verdict(said), Force.WORD)
    return None


def _verdict(found: re.Match[str]) -> str:
    verdict = YES if found["yes"] else NO
    return OPPOSITE[verdict] if found["turn"] else verdict
