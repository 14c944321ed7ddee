"""What a sentence says of the link between the actions: "B requires A", "it makes no difference", "in any case"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmms_eval_tasks.utils.verdicts import vocabulary
from lmms_eval_tasks.utils.verdicts.sentences import Sentence
from lmms_eval_tasks.utils.verdicts.statements import NO, OPPOSITE, YES, Assertion, Force

_REACH = 4
_DENYING = frozenset({"not", "no", "never", "nor", "neither", "nothing", "none", "without", "hardly"})


_DENIED = re.compile(
    r"\b(?:is|are|becomes?) (?:(?!not\b)\w+ ){0,2}(?:impossible|prevented|excluded|ruled out)\b(?! to)"
    r"|\b(?:does|do|can) (?:not|never) (?:\w+ )?(?:happen|occur|take place)\b|\b(?:never|not) (?:happens|occurs)\b"
)


def in_any_case(sentence: Sentence) -> bool:
    """Whether the sentence says that its outcome comes in any case."""
    return vocabulary.PHRASES["anyway"].search(sentence.plain) is not None


def read_links(sentence: Sentence) -> Iterator[Assertion]:
    """What the sentence says of the link between the actions."""
    if not vocabulary.MODAL & sentence.known and in_any_case(sentence):
        yield Assertion(YES, Force.LINK)
    if sentence.of_outcome and _DENIED.search(sentence.plain):
        yield Assertion(NO, Force.LINK)
    for role, verdict in (("independent", YES), ("dependent", NO)):
        for phrase in vocabulary.PHRASES[role].finditer(sentence.text):
            # A phrase with a negation of its own is not turned round by another: "not doing it changes nothing".
            before = re.split(r" [^\w\s]+ ", sentence.text[: phrase.start()])[-1].split()[-_REACH:]
            turned = _DENYING & {*before} and not _DENYING & {*phrase.group().split()}
            yield Assertion(OPPOSITE[verdict] if turned else verdict, Force.LINK)
