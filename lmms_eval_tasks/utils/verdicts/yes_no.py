"""Yes and no as words of an answer: behind a label, at the start of a sentence, as what is said or concluded."""

from __future__ import annotations

import re
from dataclasses import replace

from lmms_eval_tasks.utils.answers.opening import takes_back
from lmms_eval_tasks.utils.verdicts.sentences import CHOICE, Sentence
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, UNCLEAR, YES, Assertion, Force
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
_LEADING = re.compile(rf"{_ALONE}(?= [-/] )")
_SAID = re.compile(
    rf"(?:{any_of('say', 'conclude', 'revise')}(?: {any_of('label_filler')}){{0,3}}|{_MARK}|\bbut) {_WORD}{_ENDS}"
)


def read_yes_no(sentence: Sentence) -> Assertion | None:
    """The yes or no of a sentence by its words alone; None where it has none, unclear where it has both."""
    found = _LABELLED.search(sentence.text) or _OPENING.match(sentence.text)
    if found:
        force = Force.WORD if found.re is _OPENING else Force.LABEL
        return _unless_doubled(Assertion(_verdict(found), force), sentence.text[found.end() :])
    for verdict, role in ((YES, "yes_phrase"), (NO, "no_phrase")):
        if PHRASES[role].fullmatch(sentence.plain):
            return Assertion(verdict, Force.WORD)
    if not sentence.asks and (said := _SAID.search(sentence.text)):
        leading = _LEADING.match(sentence.text)
        doubled = leading and _verdict(leading) != _verdict(said)
        return Assertion(UNCLEAR, Force.STATED) if doubled else Assertion(_verdict(said), Force.WORD)
    return None


def _unless_doubled(word: Assertion, rest: str) -> Assertion:
    """A yes or no, unless the rest of its sentence takes it back ("no, not really") or is the other ("no (yes)")."""
    other = next((one for one in _SAID.finditer(rest) if _verdict(one) != word.verdict), None)
    if other and PHRASES["revise"].search(rest[: other.end()]):
        return replace(word, verdict=_verdict(other))
    return Assertion(UNCLEAR, Force.STATED) if other or takes_back(rest) else word


def _verdict(found: re.Match[str]) -> str:
    verdict = YES if found["yes"] else NO
    return OPPOSITE[verdict] if found["turn"] else verdict
